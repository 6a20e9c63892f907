"""Faults on purpose: requests that are refused, delayed or left without an answer, for tests.

A fault stands between dispatch and handler, and nowhere else. While there is none for an API, its rows of the table
(`Routes`) hold the handler itself, so that no request pays for it. While there is one, they hold a layer that
looks for a fault that fits the request.

Nothing here is random: a fault fires for the next requests that fit, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.session_wrapper import SessionWrapper
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

LONGEST_DELAY_MS: Final = 3_600_000
FOR_EVER: Final = 0  # times
ANY: Final = "*"

# Those that only the coordinator of the groups that they name answers.
GROUP_APIS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DELETE_GROUPS,
    }
)
APIS_WITH_GROUPS: Final = GROUP_APIS | {ApiKey.FIND_COORDINATOR}


class Action(StrEnum):
    """The fate of a request: instead of its handling, or after it."""

    FAIL = "fail"  # it is not handled, and answered with an error
    DELAY = "delay"  # it is handled later
    LOSE_REPLY = "lose_reply"  # it is handled, and its connection is closed instead of the answer


@dataclass(slots=True)
class Fault:
    """One fault. `times`: of how many requests; FOR_EVER: until it is removed. `client` and `group` are patterns."""

    action: Action
    api: ApiKey
    times: int = 1
    client: str = ANY
    group: str = ANY
    error: ErrorCode = ErrorCode.NONE  # FAIL
    delay_ms: int = 0  # DELAY
    number: int = 0  # of this server, from 1
    fired: int = 0

    @property
    def is_over(self) -> bool:
        """True when it fires no more."""
        return self.times != FOR_EVER and self.fired >= self.times

    def fits(self, request: Any, ticket: Ticket) -> bool:
        """Return True if this request is one that the fault is for."""
        if self.client != ANY and not fnmatchcase(ticket.client_id, self.client):
            return False
        return self.group == ANY or any(fnmatchcase(group, self.group) for group in groups_of(request))

    @property
    def what(self) -> str:
        """Say in words the fate of a request that meets it."""
        return {
            Action.FAIL: f"answered {self.error.name}",
            Action.DELAY: f"delayed by {self.delay_ms} ms",
            Action.LOSE_REPLY: "handled and not answered",
        }[self.action]

    def text(self) -> str:
        """Say the fault in words."""
        who = "".join(
            f" of {kind} {pattern}"
            for kind, pattern in (("client", self.client), ("group", self.group))
            if pattern != ANY
        )
        times = "each" if self.times == FOR_EVER else "the next" if self.times == 1 else f"the next {self.times}"
        return f"{times} {self.api.name}{who}: {self.what}"


def groups_of(request: Any) -> Iterable[str]:
    """Return the groups that a request names."""
    if group_id := getattr(request, "group_id", ""):
        return (group_id,)
    if (groups := getattr(request, "groups", None)) is not None:
        return [getattr(each, "group_id", each) for each in groups]
    if (keys := getattr(request, "coordinator_keys", None)) is not None:
        return keys or (request.key,)
    return getattr(request, "groups_names", ())


class Faults:
    """The faults of one node, and the handlers that apply them.

    `on_fired` is called before a fault acts on a request, `on_layer` after the layer of the faults was put before those
    that were there.
    """

    def __init__(
        self, runtime: Runtime, on_fired: Callable[[Ticket, Fault], None], on_layer: Callable[[], None]
    ) -> None:
        self._runtime = runtime
        self._on_fired = on_fired
        self._on_layer = on_layer
        self._faults: list[Fault] = []
        self._made = 0

    def move_to(self, runtime: Runtime) -> None:
        """Go on with the next run of the node: faults that are not over are still to come."""
        self._runtime = runtime
        self._apply()

    def add(self, fault: Fault) -> Fault:
        """Add a fault. It fires for requests that arrive from now on.

        Raises:
            ValueError: the sentence says what is wrong with it.
        """
        _check(fault)
        is_over = [each.is_over for each in self._faults]
        most = self._runtime.config.test_verbs_max_faults
        if is_over.count(False) >= most:
            raise ValueError(f"{most} faults are still to come already; remove some first")
        if len(is_over) >= most:
            del self._faults[is_over.index(True)]
        self._made += 1
        fault.number = self._made
        self._faults.append(fault)
        self._apply()
        return fault

    def remove(self, fault: Fault) -> None:
        """Remove a fault. Nothing happens if it is not there."""
        if fault in self._faults:
            self._faults.remove(fault)
            self._apply()

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()
        self._apply()

    def all(self) -> list[Fault]:
        """Return the faults that were not removed; of those that are over, the latest."""
        return list(self._faults)

    def _apply(self) -> None:
        """Have each row of the table look for a fault exactly if there is one for its API."""
        active = {fault.api for fault in self._faults if not fault.is_over}
        self._runtime.routes.remove_layer(self._intercept)
        if active:
            self._runtime.routes.add_layer(self._intercept, active)
            self._on_layer()
            self._runtime.forget_templates()

    def _intercept(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        for fault in self._faults:
            if fault.api == ticket.api_key and not fault.is_over and fault.fits(request, ticket):
                fault.fired += 1
                if fault.fired == fault.times:
                    self._runtime.call_later(0, self._apply)
                self._on_fired(ticket, fault)
                _ACTIONS[fault.action](self._runtime, fault, handle, request, ticket, now_ms)
                return
        handle(node, request, ticket, now_ms)


def _check(fault: Fault) -> None:
    """Raise ValueError for a fault that no request can meet."""
    from coordinator.server.api.table import HANDLERS  # late: it imports all handlers

    if fault.api not in HANDLERS:
        raise ValueError(f"{fault.api.name} is not served here, so no request of it can meet a fault")
    if fault.action is Action.FAIL and fault.api not in ERROR_RESPONSES:
        known = ", ".join(sorted(ApiKey(key).name for key in ERROR_RESPONSES))
        raise ValueError(f"{fault.api.name} cannot be failed; these can: {known}")
    if fault.action is Action.FAIL and fault.error is ErrorCode.NONE:
        raise ValueError("NONE is no error; fail_next answers with an error of Kafka's, for example NOT_COORDINATOR")
    if fault.times < 0:
        raise ValueError(f"times={fault.times}: it is 0, for all requests, or more")
    if not 0 <= fault.delay_ms <= LONGEST_DELAY_MS:
        raise ValueError(f"ms={fault.delay_ms}: a request is delayed by 0 to {LONGEST_DELAY_MS} ms")
    if fault.group != ANY and fault.api not in APIS_WITH_GROUPS:
        known = ", ".join(sorted(each.name for each in APIS_WITH_GROUPS))
        raise ValueError(f"a request of {fault.api.name} names no group; leave out `group`. These name one: {known}")


def _fail(runtime: Runtime, fault: Fault, handle: Handle, request: Any, ticket: Ticket, now_ms: int) -> None:
    runtime.reply(ticket, ERROR_RESPONSES[fault.api](request, fault.error))


def _delay(runtime: Runtime, fault: Fault, handle: Handle, request: Any, ticket: Ticket, now_ms: int) -> None:
    def handle_now() -> None:
        if not ticket.session.is_closed:
            handle(runtime, request, ticket, runtime.now_ms())

    runtime.call_later(fault.delay_ms, handle_now)


def _lose_reply(runtime: Runtime, fault: Fault, handle: Handle, request: Any, ticket: Ticket, now_ms: int) -> None:
    ticket.session = SilentSession(ticket.session, f"fault {fault.number}: {fault.text()}")
    handle(runtime, request, ticket, now_ms)


_ACTIONS: Final[dict[Action, Callable[[Runtime, Fault, Handle, Any, Ticket, int], None]]] = {
    Action.FAIL: _fail,
    Action.DELAY: _delay,
    Action.LOSE_REPLY: _lose_reply,
}


class SilentSession(SessionWrapper):
    """The connection of a ticket whose answer is lost: it closes instead of answering."""

    __slots__ = ("_reason",)

    def __init__(self, session: Any, reason: str) -> None:
        super().__init__(session)
        self._reason = reason

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Close the connection."""
        self.close(self._reason)
