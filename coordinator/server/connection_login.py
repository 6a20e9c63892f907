"""The login of one connection: what its client may send meanwhile, how long it may take, and when it ends (KIP-368).

`Logins` checks tokens for all connections; this is the side of one connection. While a client logs in, the connection
has a table of requests with little in it, so that a connection that is served pays nothing for all this.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from coordinator.security.authenticator import Authenticator, State
from coordinator.server.answers import BARE_TOKEN, Slot
from coordinator.server.api.api_versions import illegal_sasl_state
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    import asyncio

    from coordinator.security.authenticator import Mechanisms
    from coordinator.server.connection import Connection
    from coordinator.server.dispatch import Routes
    from coordinator.server.runtime import Runtime

API_VERSIONS: Final = int(ApiKey.API_VERSIONS).to_bytes(2, "big")
# How long before its login ends a client may begin the next one: 15 % (Java, kafka-python, sarama), or 1 s (franz-go).
BEFORE_THE_END: Final = 0.15
BEFORE_THE_END_MS: Final = 1200
_CORRELATION: Final = struct.Struct(">i")


class ConnectionLogin:
    """Belongs to a connection to a listener with SASL, from its beginning to its end."""

    __slots__ = ("_again_ms", "_connection", "_runtime", "_timer", "_wait", "authenticator")

    def __init__(self, runtime: Runtime, connection: Connection, mechanisms: Mechanisms) -> None:
        self._runtime = runtime
        self._connection = connection
        self.authenticator = Authenticator(mechanisms)
        self._again_ms = 0  # when its client may begin to log in again; 0: it need not
        self._timer: asyncio.TimerHandle | None = None  # ends a login that takes too long, or one that is complete
        self._wait: asyncio.TimerHandle | None = None  # continues or ends a login that is held back

    @property
    def routes(self) -> Routes:
        """The requests that are in order now, until the client has logged in."""
        return self._runtime.logins.routes(self.authenticator)

    def begin(self) -> None:
        """Give the client its time."""
        self._timer = self._runtime.call_later(self._runtime.config.connection_login_timeout_ms, self._is_late)

    def complete(self, lifetime_ms: int) -> None:
        """End a login that is good for so many ms; -1: as long as the connection."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._again_ms = 0
        if lifetime_ms >= 0:
            self._timer = self._runtime.call_later(lifetime_ms, self._has_ended)
            before_ms = max(int(lifetime_ms * BEFORE_THE_END), BEFORE_THE_END_MS)
            self._again_ms = max(self._runtime.now_ms() + lifetime_ms - before_ms, 1)

    def await_timer(self, timer: asyncio.TimerHandle) -> None:
        """Have `timer` continue or end the login. It is cancelled if the client hangs up."""
        self._wait = timer

    def cancel(self) -> None:
        """Forget all timers: the connection is closed."""
        for timer in (self._timer, self._wait):
            if timer is not None:
                timer.cancel()
        self._timer = self._wait = None

    def may_hold(self, now_ms: int) -> bool:
        """Return whether an answer may be held: a client that logs in again first waits for all answers."""
        return not self._again_ms or now_ms + self._runtime.config.group_heartbeat_park_ms <= self._again_ms

    def take_unlisted(self, frame: bytes) -> bool:
        """Take a frame that is not in the table of a login. Returns False if it is like on any other connection."""
        connection, authenticator, logins = self._connection, self.authenticator, self._runtime.logins
        state = authenticator.state
        if state is State.COMPLETE:
            if not connection.has_routes(logins.ended_routes):
                return False
            connection.close("its login has ended, and it must log in again first (KIP-368)", kind="login")
            return True
        is_versions = frame[:2] == API_VERSIONS and len(frame) >= 8
        if is_versions and authenticator.takes_versions:
            return False
        if authenticator.takes_bare_tokens:
            slot = Slot(connection, int(ApiKey.SASL_AUTHENTICATE), BARE_TOKEN)
            connection.park(slot)
            logins.take_token(slot, frame)
        elif (is_versions and state is State.TOKENS) or state is State.OTHER_MECHANISM:
            slot = Slot(
                connection, int(ApiKey.API_VERSIONS), 0, _CORRELATION.unpack_from(frame, 4)[0] if is_versions else 0
            )
            connection.park(slot)
            response = illegal_sasl_state() if state is State.TOKENS else None
            logins.fail(slot, response, authenticator.why_unexpected(frame))
        else:
            connection.close(authenticator.why_unexpected(frame), kind="login")
        return True

    def take_bad_frame(self, reason: str) -> bool:
        """Take a bad length as a failed login. Returns False if it is like on any other connection."""
        if self.authenticator.state is State.COMPLETE:
            return False
        slot = Slot(self._connection, 0)
        self._connection.park(slot)
        self._runtime.logins.fail(slot, None, reason)
        return True

    def _has_ended(self) -> None:
        """Take nothing but another login from now on."""
        self._timer = None
        if self.authenticator.state is State.COMPLETE:
            self._connection.take_routes(self._runtime.logins.ended_routes)

    def _is_late(self) -> None:
        self._timer = None
        limit_ms = self._runtime.config.connection_login_timeout_ms
        self._connection.close(f"it did not log in within connection.login.timeout.ms={limit_ms}", kind="late login")
