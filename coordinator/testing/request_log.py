"""The last requests of a test server with their outcomes, for the report of a test that failed.

Repeated heartbeats of a Stable group, which are recognised by their bytes, do not pass here and are not listed.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.faults import groups_of
from coordinator.server.session_wrapper import SessionWrapper
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.faults import Fault

KEPT: Final = 200
SEARCHED: Final = 16  # elements of each array in which an error is looked for


@dataclass(slots=True)
class LoggedRequest:
    """One request: when it arrived, whose it was, and how it ended."""

    at: float  # wall clock, s
    client: str
    api: ApiKey
    groups: tuple[str, ...]
    outcome: str = "not answered yet"
    took_ms: float = -1.0
    fault: str = ""  # that it met

    def text(self) -> str:
        """Say it in one line."""
        clock = time.strftime("%H:%M:%S", time.localtime(self.at)) + f".{int(self.at % 1 * 1000):03}"
        took = "" if self.took_ms < 0 else f" after {self.took_ms:.1f} ms"
        fault = f" ({self.fault})" if self.fault else ""
        whose = f" {', '.join(self.groups)}" if self.groups else ""
        return f"{clock}  {self.client or '-':20}  {self.api.name}{whose}: {self.outcome}{took}{fault}"


class RequestLog:
    """The last requests of one server. `observe` is the observer of its table of routes."""

    def __init__(self) -> None:
        self._requests: deque[LoggedRequest] = deque(maxlen=KEPT)

    def observe(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Note a request, and its answer when it comes."""
        entry = LoggedRequest(time.time(), ticket.client_id, ApiKey(ticket.api_key), tuple(groups_of(request)))
        self._requests.append(entry)
        ticket.session = _Observed(ticket.session, entry)
        handle(node, request, ticket, now_ms)

    def fault_fired(self, ticket: Ticket, fault: Fault) -> None:
        """Note the fault that a request has met."""
        if isinstance(ticket.session, _Observed):
            ticket.session.entry.fault = f"fault {fault.number}: {fault.what}"

    def lines(self, last: int = KEPT) -> list[str]:
        """Return the last requests, oldest first, a line each."""
        return [each.text() for each in list(self._requests)[-last:]]


class _Observed(SessionWrapper):
    """The connection of a ticket, which notes the answer."""

    __slots__ = ("_started", "entry")

    def __init__(self, session: Any, entry: LoggedRequest) -> None:
        super().__init__(session)
        self.entry = entry
        self._started = time.monotonic()

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Note the outcome and answer."""
        self._end(error_of(response).name)
        super().answer(ticket, response)

    def close(self, reason: str, **options: Any) -> None:
        """Note the reason and close."""
        self._end("connection closed" if self.entry.fault else f"connection closed: {reason}")
        super().close(reason, **options)

    def _end(self, outcome: str) -> None:
        self.entry.outcome = outcome
        self.entry.took_ms = (time.monotonic() - self._started) * 1000


def error_of(response: Any) -> ErrorCode:
    """Return the first error in a response, at whichever level it is; NONE if there is none."""
    code = getattr(response, "error_code", 0)
    if code:
        return ErrorCode(code)
    for name in getattr(type(response), "__slots__", ()):
        value = getattr(response, name, None)
        if isinstance(value, list):
            for each in value[:SEARCHED]:
                if not isinstance(each, int | str | bytes) and (found := error_of(each)) is not ErrorCode.NONE:
                    return found
    return ErrorCode.NONE
