"""The order of requests by which a client logs in on one connection (Kafka's `SaslServerAuthenticator`).

ApiVersions may come first, and once. SaslHandshake chooses a mechanism, then tokens go to and fro until the mechanism
is content: in SaslAuthenticate requests, or bare behind a SaslHandshake of version 0. A client may log in again on its
connection (KIP-368), with the same mechanism and as the same principal. Any other request on the way ends it.

Pure: what a connection answers, and when it closes, is the caller's business.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

from coordinator.security.principal import Principal
from coordinator.security.sasl_server import SaslAuthenticationError, SaslError
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.security.sasl_server import SaslServer

FIRST_WITH_HEADERS: Final = 1  # of SaslHandshake: its tokens come in SaslAuthenticate requests
SHORTEST_BETWEEN_LOGINS_MS: Final = 1000  # KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS


class Mechanisms(Protocol):
    """The mechanisms of one listener."""

    @property
    def enabled(self) -> Sequence[str]:
        """Their names, in the order in which clients are told."""

    @property
    def principal_type(self) -> str:
        """The type of the principals that log in here."""

    def server(self, mechanism: str) -> SaslServer:
        """Return the server side of a new exchange."""

    def max_lifetime_ms(self, mechanism: str) -> int:
        """Return after how long a client must log in again (connections.max.reauth.ms); 0: never."""


class State(Enum):
    """The next thing that a client has to send."""

    HANDSHAKE_OR_VERSIONS = auto()
    HANDSHAKE = auto()
    TOKENS = auto()
    COMPLETE = auto()
    OTHER_MECHANISM = auto()
    """Nothing: another login of this connection began with another mechanism, and ends at the next frame."""


class Authenticator:
    """The logins of one connection."""

    __slots__ = ("_ends", "_last_again_ms", "_mechanisms", "has_headers", "principal", "server", "state")

    def __init__(self, mechanisms: Mechanisms) -> None:
        self._mechanisms = mechanisms
        self.state = State.HANDSHAKE_OR_VERSIONS
        self.server: SaslServer | None = None  # of the exchange under way, else of the last one
        self.has_headers = False  # tokens come in SaslAuthenticate requests
        self.principal: Principal | None = None  # of the last complete login
        self._ends = False  # the last login is good for a limited time
        self._last_again_ms = -SHORTEST_BETWEEN_LOGINS_MS

    @property
    def mechanisms(self) -> Sequence[str]:
        return self._mechanisms.enabled

    @property
    def takes_versions(self) -> bool:
        """True while an ApiVersions is in order."""
        return self.state is State.HANDSHAKE_OR_VERSIONS

    @property
    def takes_bare_tokens(self) -> bool:
        """True while each frame is a token, without the header of a request."""
        return self.state is State.TOKENS and not self.has_headers

    def versions_answered(self) -> None:
        """Note that the client knows the versions; it may not ask twice."""
        self.state = State.HANDSHAKE

    def may_log_in_again(self, now_ms: int) -> bool:
        """Return whether a SaslHandshake begins another login now (KafkaChannel.maybeBeginServerReauthentication).

        The last one must have an end, and one may begin in a second.
        """
        if not self._ends or now_ms - self._last_again_ms < SHORTEST_BETWEEN_LOGINS_MS:
            return False
        self._last_again_ms = now_ms
        return True

    def handshake(self, mechanism: str, version: int) -> bool:
        """Take a SaslHandshake; return False if the mechanism is not enabled."""
        if mechanism not in self._mechanisms.enabled:
            return False
        self.has_headers = version >= FIRST_WITH_HEADERS
        if self.is_again and self.server is not None and self.server.mechanism != mechanism:
            self.state = State.OTHER_MECHANISM
        else:
            self.server = self._mechanisms.server(mechanism)
            self.state = State.TOKENS
        return True

    def why_unexpected(self, frame: bytes) -> str:
        """Return why a frame that is out of order ends the connection."""
        if self.state is State.OTHER_MECHANISM:
            return "it began to log in again with another SASL mechanism than before"
        try:
            name = ApiKey(int.from_bytes(frame[:2], "big", signed=True)).name
        except ValueError:
            name = "an unknown type"
        return f"it must log in first (SASL), and sent a request of {name} instead"

    def exchange(self) -> SaslServer:
        """Return the exchange that takes the next token."""
        assert self.server is not None
        return self.server

    def why_refused(self, error: SaslError) -> str:
        """Return what the client hears about an error of its exchange."""
        if isinstance(error, SaslAuthenticationError):
            return str(error)
        mechanism = "" if self.server is None else self.server.mechanism
        kind = "re-authentication" if self.is_again else "authentication"
        return f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {mechanism}"

    @property
    def is_again(self) -> bool:
        """True if the client has logged in on this connection before."""
        return self.principal is not None

    def complete(self, wall_ms: int) -> int:
        """End a login that has succeeded at `wall_ms`. Returns for how many ms it lasts; -1: as long as the connection.

        Raises SaslAuthenticationError if the client is another one than before.
        """
        server = self.server
        assert server is not None
        principal = Principal(self._mechanisms.principal_type, server.user)
        if self.principal not in (None, principal):
            raise SaslAuthenticationError(
                f"Cannot change principals during re-authentication from {self.principal.type}.{self.principal.name}: "
                f"{principal.type}.{principal.name}"
            )
        self.principal = principal
        self.state = State.COMPLETE
        longest = self._mechanisms.max_lifetime_ms(server.mechanism)
        ends = [longest] if longest > 0 else []
        if server.expires_ms >= 0:
            ends.append(server.expires_ms - wall_ms)
        self._ends = bool(ends)
        return max(0, min(ends)) if ends else -1
