"""The server side of one SASL mechanism, for one authentication of one connection.

`SaslServer` has the rules of a mechanism alone: a token of the client in, a token for the client out. The frames that
carry the tokens, the order of requests and the delay of failures belong to `coordinator.security.authenticator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class SaslError(Exception):
    """The exchange failed, for a reason that is not told to the client (javax.security.sasl.SaslException).

    The message is for the log. It never has a password, a token or a key.
    """


class SaslAuthenticationError(SaslError):
    """An exchange that failed, with a message that the client gets (SaslAuthenticationException)."""


class Blocking(NamedTuple):
    """The rest of an exchange, which takes too long for the event loop: `run` is to be called in a thread.

    It returns the token for the client, or raises SaslError.
    """

    run: Callable[[], bytes]


class SaslServer(Protocol):
    """One exchange. Not used any more when `evaluate` has raised, or when `is_complete` is true."""

    mechanism: str
    """The name of the mechanism, as PLAIN."""

    is_complete: bool
    """True once the client has proved who it is."""

    claimed: str
    """The name that the client gives, known before it is proved; empty before, and where a guess is hopeless."""

    user: str
    """The name of the authenticated user, without a type; empty before."""

    expires_ms: int
    """The end of the credential's life, in ms since the epoch; -1: it has none."""

    def evaluate(self, token: bytes) -> bytes | Blocking:
        """Take the next token of the client and return the one for the client, or the rest of the work.

        Raises SaslError if the client is not let in.
        """
