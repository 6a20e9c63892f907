"""The stages of a transaction, and what a test does when one is reached.

A `TransactionStages` belongs to one server. As long as it has triggers, it observes the transaction coordinator and the
answers to Produce and TxnOffsetCommit. A trigger acts on the loop thread, in the middle of the event: what the stage
says is in the log, and neither the answer nor what follows has begun.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.transactions.states import TransactionState
from coordinator.server.session_wrapper import SessionWrapper
from coordinator.testing.errors import CoordinatorTestingError
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

WATCHED: Final = frozenset({ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT})


class TransactionStage(StrEnum):
    """A point in the life of a transaction, by the newest thing that is in a log."""

    PRODUCER_ID = "ProducerId"  # the producer has its id and epoch
    PARTITIONS = "Partitions"  # partitions are part of the transaction
    RECORDS = "Records"  # records are in a partition
    OFFSETS = "Offsets"  # offsets of a group are pending
    PREPARE_COMMIT = "PrepareCommit"  # decided
    PREPARE_ABORT = "PrepareAbort"
    MARKERS = "Markers"  # the markers are in all partitions
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


_OF_STATE: Final = {
    TransactionState.EMPTY: TransactionStage.PRODUCER_ID,
    TransactionState.ONGOING: TransactionStage.PARTITIONS,
    TransactionState.PREPARE_COMMIT: TransactionStage.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT: TransactionStage.PREPARE_ABORT,
    TransactionState.COMPLETE_COMMIT: TransactionStage.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT: TransactionStage.COMPLETE_ABORT,
}


def stage_of(name: str) -> TransactionStage:
    """Return a stage by its name. Raises CoordinatorTestingError if there is none."""
    try:
        return TransactionStage(name)
    except ValueError:
        known = ", ".join(TransactionStage)
        raise CoordinatorTestingError(f"a transaction has no stage {name!r}; there are: {known}") from None


@dataclass(slots=True, eq=False)
class StageTrigger:
    """Acts once, when a transaction is at a stage for the `times`th time. `pattern`: of the transactional id."""

    stage: TransactionStage
    pattern: str
    times: int
    act: Callable[[str], None]  # with the transactional id
    met: int = 0

    @property
    def is_over(self) -> bool:
        """True when it acts no more."""
        return self.met >= self.times


class TransactionStages:
    """The triggers of one server, over all its runs."""

    def __init__(self) -> None:
        self._runtime: Runtime | None = None
        self._triggers: list[StageTrigger] = []

    @property
    def waiting(self) -> list[StageTrigger]:
        """The triggers that have not acted."""
        return list(self._triggers)

    def move_to(self, runtime: Runtime) -> None:
        """Go on with the next run of the server."""
        self._runtime = runtime
        self._apply()

    def add(self, trigger: StageTrigger) -> None:
        """Add a trigger, for stages that are reached from now on."""
        self._triggers.append(trigger)
        self._apply()

    def clear(self) -> None:
        """Remove all triggers."""
        self._triggers.clear()
        self._apply()

    def is_durable(self, transactional_id: str, state: TransactionState) -> None:
        """Take the state of a transactional id that is in the log."""
        if state in _OF_STATE:
            self.reached(transactional_id, _OF_STATE[state])

    def has_markers(self, transactional_id: str) -> None:
        """Take that the markers of a transaction are in the logs."""
        self.reached(transactional_id, TransactionStage.MARKERS)

    def reached(self, transactional_id: str, stage: TransactionStage) -> None:
        """Have the triggers act that wait for this stage."""
        for trigger in list(self._triggers):
            if trigger.stage is stage and fnmatchcase(transactional_id, trigger.pattern):
                trigger.met += 1
                if trigger.is_over:
                    self._triggers.remove(trigger)
                    trigger.act(transactional_id)

    def _apply(self) -> None:
        """Observe the server exactly if there is a trigger."""
        runtime = self._runtime
        if runtime is None or runtime.transactions is None:
            return
        runtime.routes.remove_layer(self._see)
        runtime.transactions.observer = self if self._triggers else None
        if self._triggers:
            runtime.routes.add_layer(self._see, WATCHED)

    def _see(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        if request.transactional_id:
            ticket.session = _StageSession(ticket.session, self, request)
        handle(node, request, ticket, now_ms)

    def answered(self, request: Any, response: Any, api: int) -> None:
        """Take an answer that is about to be sent."""
        if api == ApiKey.PRODUCE:
            parts = [each for topic in response.responses for each in topic.partition_responses]
            stage = TransactionStage.RECORDS
        else:
            parts = [each for topic in response.topics for each in topic.partitions]
            stage = TransactionStage.OFFSETS
        if parts and not any(each.error_code for each in parts):
            self.reached(request.transactional_id, stage)


class _StageSession(SessionWrapper):
    """The connection of a ticket, which tells the stages of its answer."""

    __slots__ = ("_request", "_stages")

    def __init__(self, session: Any, stages: TransactionStages, request: Any) -> None:
        super().__init__(session)
        self._stages = stages
        self._request = request

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Tell the stages, and send the answer."""
        if response is not None:
            self._stages.answered(self._request, response, ticket.api_key)
        super().answer(ticket, response)
