"""The watch over strangers in a `World`: logins that were not right, exceptions in threads, and lines in the log.

A right secret is known apart from the server: the exact tokens of PLAIN, the signed part of an access token, and for
SCRAM the proof that is computed here, again, from the password and the challenge. What breaks a rule goes to `wrong`.
"""

from __future__ import annotations

import logging
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final

from coordinator.core.effects import Ticket
from coordinator.security.mechanisms import ListenerMechanisms
from coordinator.security.oauthbearer import OAUTHBEARER
from coordinator.security.sasl_server import SaslServer
from coordinator.server.logins import Logins
from tests.conformance import sasl_script as sasl
from tests.conformance.sasl_script import Exchange, ScramFinal
from tests.fuzz.strangers import GOOD_TOKEN

PLAIN_TOKENS: Final = {
    f"{authzid}\0{user}\0{password}".encode(): user for user, password in sasl.USERS.items() for authzid in ("", user)
}


def is_right(mechanism: str, tokens: Sequence[bytes], exchange: Exchange, user: str) -> bool:
    """Return whether these tokens of a client prove that it is this user."""
    last = tokens[-1]
    if mechanism == "PLAIN":
        return PLAIN_TOKENS.get(last) == user
    if mechanism == OAUTHBEARER:
        return f" {GOOD_TOKEN.rpartition('.')[0]}.".encode() in last and user == "alice"
    binding = last[2:].partition(b",")[0].decode("ascii", "replace")
    expected = ScramFinal(mechanism, binding=binding).token(exchange)
    return user == "alice" and _parsed(last) == _parsed(expected)


def _parsed(final: bytes) -> tuple[list[bytes], bytes]:
    """Return the parts of a last message that Kafka has signed, which are not its extensions, and the proof."""
    *parts, proof = final.split(b",")
    return parts[:2], b64decode(proof[2:])


class Watched:
    """The mechanisms of one connection. They note who has logged in, if that was right."""

    def __init__(self, mechanisms: ListenerMechanisms, exchange: Exchange, wrong: list[str]) -> None:
        self.user = ""  # who has logged in
        self.tokens: list[bytes] = []  # of the exchange under way
        self._mechanisms = mechanisms
        self._exchange = exchange
        self._server: SaslServer | None = None
        self._wrong = wrong

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanisms, name)

    def server(self, mechanism: str) -> SaslServer:
        self.tokens = []
        self._server = self._mechanisms.server(mechanism)
        return self._server

    def max_lifetime_ms(self, mechanism: str) -> int:
        """A login has succeeded: this is asked for then."""
        assert self._server is not None
        user = self._server.user
        if not is_right(mechanism, self.tokens, self._exchange, user) or self.user not in ("", user):
            self._wrong.append(f"{user} was let in, before {self.user!r}, by {mechanism} with {self.tokens}")
        self.user = user
        return self._mechanisms.max_lifetime_ms(mechanism)


class _Job(Future[bytes]):
    """The work of a login. An asyncio future whose exception is never asked for logs a traceback."""

    is_seen = False

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.is_seen = True
        return super().exception(timeout)


class Thread:
    """Stands for the loop with its threads. Work is done when `work` is called."""

    def __init__(self, wrong: list[str]) -> None:
        self.jobs: deque[tuple[_Job, Callable[[], bytes]]] = deque()
        self._wrong = wrong

    def run_in_executor(self, _pool: object, work: Callable[[], bytes]) -> _Job:
        job = _Job()
        self.jobs.append((job, work))
        return job

    def work(self) -> None:
        job, work = self.jobs.popleft()
        if not job.set_running_or_notify_cancel():
            return
        try:
            token = work()
        except Exception as error:
            job.set_exception(error)
            if not job.is_seen:
                self._wrong.append(f"the exception of a future was never retrieved: {error!r}")
        else:
            job.set_result(token)


class WatchedLogins(Logins):
    """Logins that note the tokens of each exchange."""

    def take_token(self, ticket: Ticket, token: bytes) -> None:
        ticket.session.listener.mechanisms.tokens.append(token)
        super().take_token(ticket, token)


class Lines(logging.Handler):
    """Notes why connections are closed. An error in the log is a defect."""

    def __init__(self, wrong: list[str]) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}  # by peer
        self._wrong = wrong

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if record.levelno >= logging.ERROR or "could not be" in line:
            self._wrong.append(line)
        elif record.msg.startswith("connection"):
            peer, _, reason = record.args  # type: ignore[misc]
            if peer in self.reasons:
                self._wrong.append(f"a second line for a connection: {line}")
            self.reasons[str(peer)] = str(reason)
        record.args = None  # pytest keeps the records, and exceptions among these keep connections
