"""The logins of all connections (SASL): what each may send, the work in a thread, and what slows guessing down.

A failure is answered, and its connection closed, after connection.failed.authentication.delay.ms (KIP-306).
When several logins of a user from one address have failed in a row, the next one is held back before it is checked, for
a time that doubles with each: a client that does not wait for the answer gains nothing. Passwords are hashed in one
thread, and a bounded number of logins waits for it, fewer of one address. Guessing takes no time of the event loop.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.security.authenticator import State
from coordinator.security.oauthbearer import OAUTHBEARER, OAuthBearerServer
from coordinator.security.sasl_server import Blocking, SaslError
from coordinator.server.answers import BARE_TOKEN
from coordinator.server.api import sasl
from coordinator.server.dispatch import Routes
from coordinator.server.line_limit import rare
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateResponse

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.security.authenticator import Authenticator
    from coordinator.server.api.handler import Api

LOG: Final = logging.getLogger("coordinator.login")

MOST_WAITING: Final = 256  # logins that wait for a thread; one of them takes 2 to 12 ms
MOST_WAITING_OF_ADDRESS: Final = 64
# Tokens of this length take less than 10 ms to read.
MOST_TOKEN_BYTES: Final = {OAUTHBEARER: 40_000, "PLAIN": 524_288, "SCRAM-SHA-256": 8_192, "SCRAM-SHA-512": 8_192}
FREE_FAILURES: Final = 3  # of a user from one address in a row, before the next login is held back
MOST_FAILURES: Final = 10_000  # users at addresses whose failures are remembered
NAME_CHARS: Final = 100  # of the name of a user that are remembered
FORGOTTEN_MS: Final = 60_000  # failures that have no successor for so long
GONE: Final = b""  # the outcome for a client that has hung up
MOST_DOUBLED: Final = 16


class _Tables(NamedTuple):
    """Tables of what a connection may send: first, where tokens are due, where each frame is one, after its login."""

    first: Routes
    tokens: Routes
    bare: Routes
    ended: Routes

    @classmethod
    def of(cls, handlers: Mapping[int, Api], most: int) -> _Tables:
        rows = sasl.login_rows(handlers)
        first = {int(key): rows[key] for key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)}
        ended = {int(ApiKey.SASL_HANDSHAKE): handlers[ApiKey.SASL_HANDSHAKE]}
        return cls(Routes(first, most), Routes(rows, most), Routes({}, most), Routes(ended, most))


class _Thread:
    """A thread that checks the logins of one mechanism, one after the other."""

    __slots__ = ("pool", "waiting")

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="login")
        self.waiting: Counter[str] = Counter()  # by address


class Logins:
    """The part of a runtime that lets clients in.

    `call_later(delay_ms, callback)` calls back in an event of its own, `end_of_event` ends one that a thread caused.
    """

    def __init__(
        self,
        config: Config,
        handlers: Mapping[int, Api],
        loop: asyncio.AbstractEventLoop,
        *,
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
        call_later: Callable[[int, Callable[[], None]], asyncio.TimerHandle],
        end_of_event: Callable[[], None],
    ) -> None:
        self._config = config
        self._loop = loop
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._call_later = call_later
        self._end_of_event = end_of_event
        self._threads: dict[str, _Thread] = {}  # by mechanism: an issuer that is slow keeps no password waiting
        # By address and user: how many in a row, and the time of the last one.
        self._failures: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()
        self.succeeded = 0
        self.failed = 0
        self._handlers = handlers

    @cached_property
    def _tables(self) -> _Tables:
        return _Tables.of(self._handlers, self._config.request_max_elements)

    @property
    def ended_routes(self) -> Routes:
        """The table of a connection whose login has ended."""
        return self._tables.ended

    def routes(self, authenticator: Authenticator) -> Routes:
        """Return the table of what a connection that logs in may send next."""
        if authenticator.state is State.TOKENS and authenticator.has_headers:
            return self._tables.tokens
        is_first = authenticator.state in (State.HANDSHAKE_OR_VERSIONS, State.HANDSHAKE)
        return self._tables.first if is_first else self._tables.bare

    def take_token(self, ticket: Ticket, token: bytes) -> None:
        """Give a token of a client to its exchange, and answer."""
        session = ticket.session
        authenticator: Authenticator = session.authenticator
        server = authenticator.exchange()
        was_known = bool(server.claimed)
        try:
            if len(token) > MOST_TOKEN_BYTES[server.mechanism]:
                raise SaslError(f"its token is longer than {MOST_TOKEN_BYTES[server.mechanism]} bytes")
            outcome = server.evaluate(token)
        except SaslError as error:
            self._refused(ticket, authenticator, error)
            return
        held_ms = 0 if was_known else self._held_ms(session.address, server.claimed[:NAME_CHARS])
        if held_ms:
            session.await_login(self._call_later(held_ms, lambda: self._take(ticket, authenticator, outcome)))
        else:
            self._take(ticket, authenticator, outcome)

    def _take(self, ticket: Ticket, authenticator: Authenticator, outcome: bytes | Blocking) -> None:
        """Answer with the outcome of a token, or have a thread do what is left of the work."""
        if not isinstance(outcome, Blocking):
            self._proceed(ticket, authenticator, outcome)
            return
        session = ticket.session
        thread = self._threads.setdefault(authenticator.exchange().mechanism, _Thread())
        here = thread.waiting[session.address]
        if here >= MOST_WAITING_OF_ADDRESS or thread.waiting.total() >= MOST_WAITING:
            session.close("too many logins wait already; it may try again", kind="busy")
            return
        thread.waiting[session.address] = here + 1
        run = outcome.run
        done = self._loop.run_in_executor(thread.pool, lambda: GONE if session.is_closed else run())
        done.add_done_callback(lambda future: self._worked(ticket, authenticator, thread, future))

    def _worked(
        self, ticket: Ticket, authenticator: Authenticator, thread: _Thread, done: asyncio.Future[bytes]
    ) -> None:
        session = ticket.session
        thread.waiting[session.address] -= 1
        if not thread.waiting[session.address]:
            del thread.waiting[session.address]
        if done.cancelled():
            return
        error = done.exception()
        if isinstance(error, SaslError):
            self._refused(ticket, authenticator, error)
        elif error is not None:
            LOG.error("a login broke; please report this", exc_info=error)
            self.fail(ticket, None, "its login could not be checked")
        elif not session.is_closed:
            self._proceed(ticket, authenticator, done.result())
        self._end_of_event()

    def _proceed(self, ticket: Ticket, authenticator: Authenticator, token: bytes) -> None:
        server = authenticator.exchange()
        lifetime_ms = 0
        if server.is_complete:
            try:
                lifetime_ms = authenticator.complete(self._wall_ms())
            except SaslError as error:
                self._refused(ticket, authenticator, error)
                return
            assert authenticator.principal is not None
            self.succeeded += 1
            self._failures.pop((ticket.session.address, server.claimed[:NAME_CHARS]), None)
            ticket.session.logged_in(authenticator.principal, lifetime_ms)
        elif isinstance(server, OAuthBearerServer) and server.refusal is not None:  # the client need not say so
            LOG.warning(
                "token refused peer=%s reason=%s",
                ticket.session.peer,
                server.refusal,
                extra=rare("token", ticket.session.address),
            )
        if ticket.version == BARE_TOKEN:
            ticket.session.answer(ticket, token)
        else:
            ticket.session.answer(
                ticket,
                SaslAuthenticateResponse(error_message="", auth_bytes=token, session_lifetime_ms=max(lifetime_ms, 0)),
            )

    def _refused(self, ticket: Ticket, authenticator: Authenticator, error: SaslError) -> None:
        server = authenticator.exchange()
        if server.claimed:
            self._count_failure(ticket.session.address, server.claimed[:NAME_CHARS])
        response = None
        if ticket.version != BARE_TOKEN:
            response = SaslAuthenticateResponse(
                error_code=int(ErrorCode.SASL_AUTHENTICATION_FAILED), error_message=authenticator.why_refused(error)
            )
        self.fail(ticket, response, f"login refused mechanism={server.mechanism}: {error}")

    def fail(self, ticket: Ticket, response: Any, reason: str) -> None:
        """Answer, unless `response` is None, and close the connection; both after the delay of a failure."""
        session = ticket.session
        self.failed += 1

        def end() -> None:
            if response is not None:
                session.answer(ticket, response)
            session.close(reason, kind="login")

        if not session.is_closed:
            session.await_login(self._call_later(self._config.connection_failed_authentication_delay_ms, end))

    def _count_failure(self, address: str, user: str) -> None:
        in_a_row, last_ms = self._failures.pop((address, user), (0, 0))
        now_ms = self._now_ms()
        self._failures[address, user] = in_a_row + 1 if now_ms - last_ms <= FORGOTTEN_MS else 1, now_ms
        if len(self._failures) > MOST_FAILURES:
            self._failures.popitem(last=False)

    def _held_ms(self, address: str, user: str) -> int:
        """Return for how long a login is held back before it is checked: 0 unless several have failed in a row."""
        in_a_row, last_ms = self._failures.get((address, user), (0, 0))
        if in_a_row < FREE_FAILURES or self._now_ms() - last_ms > FORGOTTEN_MS:
            return 0
        shortest = self._config.connection_failed_authentication_delay_ms
        longest = self._config.connection_failed_authentication_delay_max_ms
        return min(shortest << min(in_a_row - FREE_FAILURES + 1, MOST_DOUBLED), longest)

    def close(self) -> None:
        """End the threads; logins under way are not answered."""
        for thread in self._threads.values():
            thread.pool.shutdown(wait=False, cancel_futures=True)
