"""The server side of SASL PLAIN, and the users that a JAAS text names.

The check of a password is the caller's: `StaticUsers.check`, or one against SCRAM credentials.
Source: RFC 4616, and Kafka's `PlainSaslServer` and `PlainServerCallbackHandler`. Broken UTF-8 in a token becomes
U+FFFD, as in Java.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from coordinator.security.jaas import parse_jaas
from coordinator.security.sasl_server import Blocking, SaslAuthenticationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INVALID: Final = "Authentication failed: Invalid username or password"
MOST_BROKEN_BYTES: Final = 40_000  # of a token that is not UTF-8: its repair takes 1 ms for as many
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SHAPE: Final = f'{_MODULE} required user_NAME="PASSWORD";'
_USER_PREFIX: Final = "user_"


class PlainServer:
    """One exchange: the client sends its name and its password, and `check` decides in a thread."""

    __slots__ = ("_check", "claimed", "is_complete", "user")

    mechanism = "PLAIN"
    expires_ms = -1

    def __init__(self, check: Callable[[str, str], bool]) -> None:
        self.is_complete = False
        self.claimed = ""
        self.user = ""
        self._check = check

    def evaluate(self, token: bytes) -> Blocking:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            if len(token) > MOST_BROKEN_BYTES:
                raise SaslAuthenticationError(INVALID) from None
            text = token.decode(errors="replace")
        parts = text.split("\0", 3)
        if len(parts) != 3:
            raise SaslAuthenticationError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authzid, user, password = parts
        if not user:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        self.claimed = user

        def run() -> bytes:
            if not self._check(user, password):
                raise SaslAuthenticationError(INVALID)
            if authzid not in ("", user):
                raise SaslAuthenticationError(
                    "Authentication failed: Client requested an authorization id that is different from username"
                )
            self.user = user
            self.is_complete = True
            return b""

        return Blocking(run)


class StaticUsers:
    """Users with passwords that the configuration gives."""

    __slots__ = ("_passwords",)

    def __init__(self, users: Mapping[str, str]) -> None:
        self._passwords = {user: password.encode() for user, password in users.items()}

    def check(self, user: str, password: str) -> bool:
        """Return True if it is the user's password. The time depends on the given password alone."""
        expected = self._passwords.get(user)
        is_same = hmac.compare_digest(expected or b"", password.encode())
        return is_same and expected is not None


def jaas_users(text: str) -> dict[str, str]:
    """Return the password of each user that a JAAS text for PLAIN names: its options that begin with user_.

    Raises ValueError. The message has nothing of the text except the name of a wrong module.
    """
    entry = parse_jaas(text)
    if entry is None:
        raise ValueError(f"the text is not one JAAS entry with quoted values; write {_SHAPE}")
    if entry.module != _MODULE:
        raise ValueError(f"the login module {entry.module!r:.100} is not served for PLAIN; write {_SHAPE}")
    return {
        key.removeprefix(_USER_PREFIX): value for key, value in entry.options.items() if key.startswith(_USER_PREFIX)
    }
