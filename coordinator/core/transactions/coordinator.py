"""The transaction coordinator: events in, effects out.

Its inputs are a request (`handle`), the time (`advance_clock`), a durable or failed append (`appended`,
`append_failed`), written markers (`markers_written`) and a producer id (`producer_id_allocated`). Each call runs to its
end and returns `TransactionEffects`. The coordinator performs no I/O and reads no clock.

A transaction is decided by a durable record (PrepareCommit, PrepareAbort). Then markers are written into each of its
partitions, and the last record (CompleteCommit, CompleteAbort) follows. EndTxn is answered when the markers are
durable, so that a reader sees the outcome after it; or at the first marker that has to be tried again, because the
outcome is certain all the same. Kafka always answers after the decision. Source: Kafka's `TransactionCoordinator`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.effects import Append
from coordinator.core.group.checks import fits
from coordinator.core.log_errors import client_error
from coordinator.core.purgatory.purgatory import DelayedOperation, Purgatory, run_due
from coordinator.core.purgatory.timing_wheel import TimingWheel
from coordinator.core.shard import PartitionState, partition_for
from coordinator.core.transactions.commands import AddToTransaction, EndTxn, TimeOutTransaction, VerifyPartitions
from coordinator.core.transactions.counters import EndCause, TransactionCounters
from coordinator.core.transactions.effects import TransactionEffects, TransactionEvent, WriteMarkers
from coordinator.core.transactions.end_txn import END, verdict_with_epochs, verdict_without_epochs
from coordinator.core.transactions.entry import (
    PendingAnswer,
    TransactionAppend,
    TransactionEntry,
    TransactionPartition,
)
from coordinator.core.transactions.metadata import EPOCH_BUMPS, NO_EPOCH, NO_PRODUCER_ID, TransactionMetadata
from coordinator.core.transactions.new_producer import is_plausible, needs_new_id, next_producer
from coordinator.core.transactions.queries import described, listed
from coordinator.core.transactions.records import by_topic, transaction_record
from coordinator.core.transactions.states import IDLE, PREPARED, TransactionState
from coordinator.core.transactions.timers import TransactionTimer
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from protocol.messages.end_txn import EndTxnResponse
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.consumer_group.regex import CompiledRegex
    from coordinator.core.effects import Ticket
    from coordinator.core.transactions.metadata import TopicPartition

TIMERS_PER_EVENT: Final = 250
APPENDS_AT_ONCE: Final = 250  # durable ones that one event applies
EXPIRED_AT_ONCE: Final = 500  # transactional ids that one step looks at
EXPIRY_PAUSE_MS: Final = 20
RETRY_MS: Final = 200  # before a marker, or the record after the markers, is tried again
RECORD_OVERHEAD: Final = 16  # bytes beside key and value
NONE: Final = ErrorCode.NONE

# The marker is not needed any more: Kafka's `TransactionMarkerRequestCompletionHandler`. The first two say that a newer
# producer or coordinator has written to the partition, which ended what was open there.
_GIVEN_UP: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def _init_refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=int(error), producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)


def _end_refused(error: ErrorCode) -> EndTxnResponse:
    return EndTxnResponse(error_code=int(error))


class TransactionCoordinator:
    """Coordinator of the transactional ids of one node, with all their log partitions and timers."""

    def __init__(
        self,
        config: Config,
        *,
        partitions: int,
        is_deleted: Callable[[str, int, int], bool],
        wall_offset_ms: int,
        now_ms: int = 0,
        owns: Callable[[int], bool] = lambda partition: True,
    ) -> None:
        self.wall_offset_ms = wall_offset_ms  # wall clock minus monotonic clock; the runtime updates it
        self.is_down = False
        self.is_suspended = False  # the lease of the partitions has ended: no request is answered
        self.counters = TransactionCounters()
        self.open: dict[TransactionEntry, None] = {}  # with an open or decided transaction; the oldest first
        self._config = config
        # topic, partition and a time: whether it was deleted, given that it existed then
        self._is_deleted = is_deleted
        self.partitions = [
            TransactionPartition(number, PartitionState.LOADING if owns(number) else PartitionState.NOT_OWNED)
            for number in range(partitions)
        ]
        self._wheel: TimingWheel[DelayedOperation[TransactionEvent]] = TimingWheel(now_ms)
        self._timers: Purgatory[TransactionEvent] = Purgatory("transaction", self._wheel)
        self._spare_ids: deque[int] = deque()
        self._waiting_for_id: deque[tuple[Any, Ticket]] = deque()
        self._expiring: list[str] = []
        self._handlers: Mapping[type, Callable[[Any, Ticket, TransactionEvent], None]] = MappingProxyType(
            {
                InitProducerIdRequest: self._init_producer_id,
                AddToTransaction: self._add,
                VerifyPartitions: self._verify,
                EndTxn: self._end_txn,
                TimeOutTransaction: self._time_out,
                DescribeTransactionsRequest: self._describe,
            }
        )
        self._watch(now_ms + config.transaction_remove_expired_transaction_cleanup_interval_ms, self._expire)

    # -- the inputs ----------------------------------------------------------------------------------------------

    def handle(self, request: Any, ticket: Ticket, now_ms: int) -> TransactionEffects:
        """Handle a request or a command. Its ticket is replied to, or waits for an append or for markers."""
        event = self._begin(now_ms)
        self._handlers[type(request)](request, ticket, event)
        return event.effects()

    def advance_clock(self, now_ms: int) -> TransactionEffects:
        """Run the timers that are due, TIMERS_PER_EVENT at most."""
        event = self._begin(now_ms)
        run_due(self._wheel, now_ms, event, TIMERS_PER_EVENT)
        return event.effects()

    def next_deadline_ms(self) -> int | None:
        """Return the latest time for the next call of `advance_clock`; None if no timer is armed."""
        return self._wheel.next_deadline_ms()

    def appended(
        self, number: int, high_watermark: int, now_ms: int, at_most: int = APPENDS_AT_ONCE
    ) -> TransactionEffects:
        """Apply appends to a log partition below `high_watermark`, which are durable. `is_behind`: some are left."""
        event = self._begin(now_ms)
        in_flight = self.partitions[number].in_flight
        while at_most and in_flight and in_flight[0].last_offset < high_watermark:
            at_most -= 1
            self._durable(in_flight.popleft(), event)
        return event.effects()

    def is_behind(self, number: int, high_watermark: int) -> bool:
        """Return whether appends below an offset have not been applied."""
        in_flight = self.partitions[number].in_flight
        return bool(in_flight) and in_flight[0].last_offset < high_watermark

    def append_failed(self, number: int, from_offset: int, error: ErrorCode, now_ms: int) -> TransactionEffects:
        """Fail the appends from `from_offset` on, which are not in the log. The next append takes that offset."""
        partition = self.partitions[number]
        event = self._begin(now_ms)
        failed: deque[TransactionAppend] = deque()
        while partition.in_flight and partition.in_flight[-1].last_offset >= from_offset:
            append = partition.in_flight.pop()
            self._undo(append)
            failed.appendleft(append)
        partition.next_offset = min(partition.next_offset, from_offset)
        for append in failed:
            self._failed(append, client_error(error), event)
        return event.effects()

    def markers_written(
        self, entry: TransactionEntry, outcomes: Mapping[TopicPartition, ErrorCode], now_ms: int
    ) -> TransactionEffects:
        """Take the outcome of a `WriteMarkers`, by partition. A partition that is not named is tried again."""
        event = self._begin(now_ms)
        if entry.is_known and entry.current.state in PREPARED:
            for each, error in outcomes.items():
                is_deleted = error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._is_deleted(
                    *each, entry.partition.loaded_ms
                )
                if error is NONE or is_deleted or error in _GIVEN_UP:
                    entry.remaining.discard(each)
            if entry.remaining:
                self._answer_end(entry, event)
                self.counters.marker_retries += len(entry.remaining)
                self._retry(entry, event)
            else:
                self._complete(entry, event)
        return event.effects()

    def producer_id_allocated(self, producer_id: int, error: ErrorCode, now_ms: int) -> TransactionEffects:
        """Take a producer id that was never used, or the error instead of one, for the requests that wait for it."""
        event = self._begin(now_ms)
        waiting, self._waiting_for_id = self._waiting_for_id, deque()
        if error is NONE:
            self._spare_ids.append(producer_id)
        for request, ticket in waiting:
            if error is NONE:
                self._handlers[type(request)](request, ticket, event)
            else:
                refused = _end_refused if isinstance(request, EndTxn) else _init_refused
                event.reply(ticket, refused(client_error(error)))
        return event.effects()

    # -- loading and unloading -----------------------------------------------------------------------------------

    def loaded(
        self,
        number: int,
        entries: dict[str, TransactionEntry],
        unfinished: Iterable[TransactionEntry],
        next_offset: int,
        now_ms: int,
        coordinator_epoch: int = 0,
    ) -> TransactionEffects:
        """Serve a partition with the ids of its log, as `entries_of` returned them.

        The markers of decided transactions are written again, which changes nothing where they are written already.
        """
        partition = self.partitions[number]
        event = self._begin(now_ms)
        partition.state = PartitionState.ACTIVE
        partition.next_offset = next_offset
        partition.coordinator_epoch = coordinator_epoch
        partition.loaded_ms = now_ms
        partition.entries = entries
        for entry in sorted(unfinished, key=lambda entry: entry.current.start_ms):
            self._note_open(entry)
            if entry.current.state is TransactionState.ONGOING:
                left_ms = entry.current.start_ms + entry.current.timeout_ms - event.wall_ms
                entry.deadline_ms = event.now_ms + min(max(left_ms, 0), entry.current.timeout_ms) + 1
                self._arm_timeout(entry, event)
            elif entry.current.state in PREPARED:
                self._begin_markers(entry, event)
        return event.effects()

    def load_begin(self, number: int) -> None:
        """Note that a partition of another node is being loaded. Its requests are answered so."""
        self.partitions[number].state = PartitionState.LOADING

    def load_failed(self, number: int) -> None:
        """Mark a partition as failed, because its log cannot be read."""
        self.partitions[number].state = PartitionState.FAILED

    def given_up(self, number: int, now_ms: int) -> TransactionEffects:
        """Unload a partition, because another node serves it. Requests that wait get NOT_COORDINATOR."""
        event = self._begin(now_ms)
        self._unload(self.partitions[number], event)
        return event.effects()

    def shutdown(self, now_ms: int) -> TransactionEffects:
        """Unload all partitions at the end of the process. Requests that wait get NOT_COORDINATOR (clients retry)."""
        event = self._begin(now_ms)
        self.is_down = True
        for request, ticket in self._waiting_for_id:
            refused = _end_refused if isinstance(request, EndTxn) else _init_refused
            event.reply(ticket, refused(ErrorCode.NOT_COORDINATOR))
        self._waiting_for_id.clear()
        for partition in self.partitions:
            self._unload(partition, event)
        return event.effects()

    def _unload(self, partition: TransactionPartition, event: TransactionEvent) -> None:
        for append in partition.in_flight:
            for answer in append.answers:
                event.reply(answer.ticket, answer.refused(ErrorCode.NOT_COORDINATOR))
        partition.in_flight.clear()
        entries, partition.entries = partition.entries, {}
        for entry in entries.values():
            for answer in entry.end_answers:
                event.reply(answer.ticket, answer.refused(ErrorCode.NOT_COORDINATOR))
            entry.cancel_timers()
            self.open.pop(entry, None)
        partition.state = PartitionState.NOT_OWNED

    # -- queries -------------------------------------------------------------------------------------------------

    def partition_of(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that an id belongs to."""
        return partition_for(transactional_id, len(self.partitions))

    @property
    def ids(self) -> int:
        """Number of transactional ids."""
        return sum(len(partition.entries) for partition in self.partitions)

    def oldest_open_ms(self, now_ms: int) -> int:
        """Return for how long the oldest transaction has been open; 0 if none is."""
        oldest = next(iter(self.open.copy()), None)  # another thread may ask
        return 0 if oldest is None else max(now_ms + self.wall_offset_ms - oldest.current.start_ms, 0)

    def find(self, transactional_id: str) -> TransactionEntry | None:
        """Return the entry of an id; None if it is not known here."""
        return self.partitions[self.partition_of(transactional_id)].entries.get(transactional_id)

    def listing(
        self, request: ListTransactionsRequest, now_ms: int, pattern: CompiledRegex | None = None
    ) -> Generator[None, None, ListTransactionsResponse]:
        """Answer ListTransactions in steps; `pattern` is the compiled one of the request."""
        wall_ms = now_ms + self.wall_offset_ms
        return listed(self.partitions, request, wall_ms, is_down=self.is_down or self.is_suspended, pattern=pattern)

    def _describe(self, request: DescribeTransactionsRequest, ticket: Ticket, event: TransactionEvent) -> None:
        states = [
            described(transactional_id, self._refusal(transactional_id), self.find(transactional_id))
            for transactional_id in request.transactional_ids
        ]
        event.reply(ticket, DescribeTransactionsResponse(transaction_states=states))

    # -- InitProducerId ------------------------------------------------------------------------------------------

    def _init_producer_id(self, request: InitProducerIdRequest, ticket: Ticket, event: TransactionEvent) -> None:
        transactional_id = request.transactional_id or ""
        error = self._refusal(transactional_id)
        if error is not ErrorCode.INVALID_REQUEST and not (
            0 < request.transaction_timeout_ms <= self._config.transaction_max_timeout_ms
        ):
            error = ErrorCode.INVALID_TRANSACTION_TIMEOUT
        if error is not NONE:
            event.reply(ticket, _init_refused(error))
            return
        entry = self.find(transactional_id)
        if entry is None and self.ids >= self._config.max_transactional_ids:
            event.reply(ticket, _init_refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        needs_id = entry is None or _needs_new_id(entry.current, request)
        if needs_id and not self._spare_ids:
            self._wait_for_id(request, ticket, event)
            return
        if entry is None:
            created = TransactionMetadata(self._spare_ids.popleft(), timeout_ms=request.transaction_timeout_ms)
            partition = self.partitions[self.partition_of(transactional_id)]
            entry = TransactionEntry(transactional_id, partition, created)
        metadata = entry.current
        if not is_plausible(metadata, request.producer_id, request.producer_epoch):
            event.reply(ticket, _init_refused(ErrorCode.PRODUCER_FENCED))
        elif metadata.state in PREPARED:
            event.reply(ticket, _init_refused(ErrorCode.CONCURRENT_TRANSACTIONS))
        elif metadata.state is TransactionState.ONGOING:
            running = _init_refused(ErrorCode.CONCURRENT_TRANSACTIONS)
            self._fence(entry, event, EndCause.FENCE, (PendingAnswer(ticket, running, _init_refused),))
        else:
            self._start_producer(entry, request, ticket, event)

    def _start_producer(
        self, entry: TransactionEntry, request: InitProducerIdRequest, ticket: Ticket, event: TransactionEvent
    ) -> None:
        metadata = entry.current
        new_id = NO_PRODUCER_ID
        if entry.is_known and needs_new_id(metadata, request.producer_epoch):
            new_id = self._spare_ids.popleft()
        following = next_producer(
            metadata,
            request.producer_epoch,
            timeout_ms=request.transaction_timeout_ms,
            wall_ms=event.wall_ms,
            new_id=new_id,
        )
        if isinstance(following, ErrorCode):
            event.reply(ticket, _init_refused(following))
            return
        response = InitProducerIdResponse(producer_id=following.producer_id, producer_epoch=following.producer_epoch)
        if entry.timeout is not None:
            entry.timeout.cancel()
            entry.timeout = None
        self._append(entry, following, event, (PendingAnswer(ticket, response, _init_refused),))

    def _wait_for_id(self, request: Any, ticket: Ticket, event: TransactionEvent) -> None:
        self._waiting_for_id.append((request, ticket))
        event.wants_producer_id = True

    # -- AddPartitionsToTxn, AddOffsetsToTxn, verification -------------------------------------------------------

    def _add(self, command: AddToTransaction, ticket: Ticket, event: TransactionEvent) -> None:
        entry, error = self._of_producer(command, running_first=True)
        if entry is None:
            event.reply(ticket, command.answer(error))
            return
        metadata = entry.current
        answer = PendingAnswer(ticket, command.answer(NONE), command.answer)
        if metadata.state is TransactionState.ONGOING and command.partitions <= metadata.partitions:
            self._answer_when_durable(entry, answer, event)
            return
        if metadata.state is not TransactionState.ONGOING:
            entry.deadline_ms = event.now_ms + metadata.timeout_ms + 1
        self._append(entry, metadata.added(command.partitions, event.wall_ms, command.client_version), event, (answer,))
        self._arm_timeout(entry, event)

    def _verify(self, command: VerifyPartitions, ticket: Ticket, event: TransactionEvent) -> None:
        entry, error = self._of_producer(command, running_first=False)
        if entry is None:
            event.reply(ticket, command.answer(dict.fromkeys(command.partitions, error)))
            return
        known = entry.current.partitions
        outcomes: dict[TopicPartition, ErrorCode] = {
            each: NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE for each in command.partitions
        }
        answer = PendingAnswer(
            ticket, command.answer(outcomes), lambda error: command.answer(dict.fromkeys(command.partitions, error))
        )
        self._answer_when_durable(entry, answer, event)

    def _of_producer(
        self, command: AddToTransaction | VerifyPartitions, *, running_first: bool
    ) -> tuple[TransactionEntry | None, ErrorCode]:
        """Return the id of a producer that may add partitions now, or the error that refuses it.

        `running_first`: while a transaction is being completed, that is told before a wrong epoch.
        """
        error = self._refusal(command.transactional_id)
        if error is not NONE:
            return None, error
        entry = self.find(command.transactional_id)
        if entry is None or entry.current.producer_id != command.producer_id:
            return None, ErrorCode.INVALID_PRODUCER_ID_MAPPING
        is_running = entry.current.state in PREPARED
        if entry.current.producer_epoch != command.producer_epoch and not (is_running and running_first):
            return None, ErrorCode.PRODUCER_FENCED
        return (None, ErrorCode.CONCURRENT_TRANSACTIONS) if is_running else (entry, NONE)

    # -- EndTxn --------------------------------------------------------------------------------------------------

    def _end_txn(self, command: EndTxn, ticket: Ticket, event: TransactionEvent) -> None:
        request, raises_epoch = command
        error = self._refusal(request.transactional_id)
        if error is not NONE:
            event.reply(ticket, _end_refused(error))
            return
        entry = self.find(request.transactional_id)
        if entry is None:
            event.reply(ticket, _end_refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
            return
        metadata = entry.current
        decide = verdict_with_epochs if raises_epoch else verdict_without_epochs
        verdict = decide(metadata, request.producer_id, request.producer_epoch, commit=request.committed)
        if verdict is not END:
            event.reply(ticket, _ended(metadata) if raises_epoch and verdict is NONE else _end_refused(verdict))
            return
        next_producer_id = NO_PRODUCER_ID
        if raises_epoch and metadata.is_exhausted:
            if not self._spare_ids:
                self._wait_for_id(command, ticket, event)
                return
            next_producer_id = self._spare_ids.popleft()
        decided = metadata.ended(
            commit=request.committed,
            wall_ms=event.wall_ms,
            client_version=EPOCH_BUMPS if raises_epoch else 0,
            next_producer_id=next_producer_id,
        )
        response = _ended(decided) if raises_epoch else _end_refused(NONE)
        entry.end_answers.append(PendingAnswer(ticket, response, _end_refused))
        self._append(entry, decided, event)

    def _fence(
        self, entry: TransactionEntry, event: TransactionEvent, cause: EndCause, answers: tuple[PendingAnswer, ...] = ()
    ) -> None:
        """Abort the open transaction with a raised epoch, which its producer does not know."""
        next_producer_id = self._spare_ids.popleft() if entry.current.is_exhausted else NO_PRODUCER_ID
        self._append(entry, entry.current.fenced(event.wall_ms, next_producer_id), event, answers, cause)

    # -- markers -------------------------------------------------------------------------------------------------

    def _begin_markers(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        """Write the markers of a decided transaction, whose record is durable."""
        entry.remaining = set(entry.current.partitions)
        self._send_markers(entry, event)

    def _send_markers(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        if not entry.remaining:
            self._complete(entry, event)
            return
        metadata = entry.current
        marker = WritableTxnMarker(
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            transaction_result=metadata.state is TransactionState.PREPARE_COMMIT,
            topics=[WritableTxnMarkerTopic(topic, ids) for topic, ids in by_topic(entry.remaining).items()],
            coordinator_epoch=entry.partition.coordinator_epoch,
            transaction_version=metadata.client_version,
        )
        event.markers.append(WriteMarkers(WriteTxnMarkersRequest(markers=[marker]), entry))

    def _complete(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        """Record that all markers are durable. The next transaction may begin: its records follow this one."""
        self._answer_end(entry, event)
        self._append(entry, entry.current.completed(event.wall_ms), event)

    def _answer_end(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        for answer in entry.end_answers:
            event.reply(answer.ticket, answer.response)
        entry.end_answers.clear()

    def _retry(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        """Send markers again later, or the record after them."""

        def act(later: TransactionEvent) -> None:
            entry.append_retry = None
            if entry.is_known and entry.current.state in PREPARED:
                self._send_markers(entry, later)

        entry.append_retry = self._watch(event.now_ms + RETRY_MS, act)

    # -- timeouts and expiry -------------------------------------------------------------------------------------

    def _arm_timeout(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        """Abort the open transaction when it has been open for longer than its timeout.

        The monotonic clock counts, so that a step of the wall clock changes nothing. A timer that is armed already is
        due earlier: it arms itself again.
        """
        if entry.timeout is None:
            entry.timeout = self._watch(entry.deadline_ms, lambda later: self._timed_out(entry, later))

    def _timed_out(self, entry: TransactionEntry, event: TransactionEvent) -> None:
        entry.timeout = None
        if not entry.is_known or entry.current.state is not TransactionState.ONGOING:
            return
        if event.now_ms < entry.deadline_ms:
            self._arm_timeout(entry, event)
        elif entry.current.is_exhausted and not self._spare_ids:
            event.wants_producer_id = True
            entry.timeout = self._watch(event.now_ms + RETRY_MS, lambda later: self._timed_out(entry, later))
        else:
            self._fence(entry, event, EndCause.TIMEOUT)

    def _time_out(self, command: TimeOutTransaction, ticket: Ticket, event: TransactionEvent) -> None:
        """Let the timeout of an open transaction be over. The answer is an `ErrorCode`."""
        entry = self.find(command.transactional_id)
        if entry is None:
            event.reply(ticket, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
            return
        if entry.current.state is not TransactionState.ONGOING:
            event.reply(ticket, ErrorCode.INVALID_TXN_STATE)
            return
        if entry.timeout is not None:
            entry.timeout.cancel()
        entry.deadline_ms = event.now_ms
        self._timed_out(entry, event)
        event.reply(ticket, NONE)

    def _expire(self, event: TransactionEvent) -> None:
        """Look at some ids, and delete those that were not used for transactional.id.expiration.ms."""
        if not self._expiring:
            self._expiring = [each for partition in self.partitions for each in partition.entries]
        some = self._expiring[-EXPIRED_AT_ONCE:]
        del self._expiring[-EXPIRED_AT_ONCE:]
        unused_since_ms = event.wall_ms - self._config.transactional_id_expiration_ms
        for transactional_id in some:
            entry = self.find(transactional_id)
            if (
                entry is not None
                and not entry.in_flight
                and entry.current.state in IDLE
                and entry.current.update_ms <= unused_since_ms
            ):
                entry.cancel_timers()
                del entry.partition.entries[transactional_id]
                self._write(TransactionAppend(entry, entry.current, None), event)
        interval_ms = self._config.transaction_remove_expired_transaction_cleanup_interval_ms
        self._watch(event.now_ms + (EXPIRY_PAUSE_MS if self._expiring else interval_ms), self._expire)

    # -- appends -------------------------------------------------------------------------------------------------

    def _append(
        self,
        entry: TransactionEntry,
        after: TransactionMetadata,
        event: TransactionEvent,
        answers: tuple[PendingAnswer, ...] = (),
        cause: EndCause = EndCause.CLIENT,
    ) -> None:
        """Append the record of a change; the answers wait until it is durable."""
        is_new = not entry.is_known
        append = TransactionAppend(entry, None if is_new else entry.current, after, cause)
        append.answers += answers
        if not self._write(append, event):
            return
        if is_new:
            entry.partition.entries[entry.transactional_id] = entry
        entry.current = after
        self._note_open(entry)

    def _write(self, append: TransactionAppend, event: TransactionEvent) -> bool:
        """Hand a record to the log. False: it is too large, and its requests are refused."""
        entry = append.entry
        partition = entry.partition
        key, value = transaction_record(entry.transactional_id, append.before, append.after)
        size = RECORD_OVERHEAD + len(key) + len(value or b"")
        if size > self._config.message_max_bytes:
            for answer in (*append.answers, *entry.end_answers):
                event.reply(answer.ticket, answer.refused(ErrorCode.UNKNOWN_SERVER_ERROR))
            entry.end_answers.clear()
            return False
        append.last_offset = partition.next_offset
        partition.next_offset += 1
        partition.in_flight.append(append)
        entry.in_flight += 1
        entry.newest = append
        event.appends.append(Append(partition.number, ((key, value),), append, size=size))
        return True

    def _answer_when_durable(self, entry: TransactionEntry, answer: PendingAnswer, event: TransactionEvent) -> None:
        """PendingAnswer a request that changes nothing, when what it was told is on disk."""
        if entry.newest is None:
            event.reply(answer.ticket, answer.response)
        else:
            entry.newest.answers.append(answer)

    def _durable(self, append: TransactionAppend, event: TransactionEvent) -> None:
        entry, after = append.entry, append.after
        entry.in_flight -= 1
        entry.durable = after
        if entry.newest is append:
            entry.newest = None
        for answer in append.answers:
            event.reply(answer.ticket, answer.response)
        if after is not None and after.state in PREPARED and entry.is_known:
            self.counters.ended(append.cause, commit=after.state is TransactionState.PREPARE_COMMIT)
            self._begin_markers(entry, event)

    def _undo(self, append: TransactionAppend) -> None:
        """Put the state before an append in force. Newer appends were undone before."""
        entry, before, after = append.entry, append.before, append.after
        entry.in_flight -= 1
        entries = entry.partition.entries
        if after is None:
            entries.setdefault(entry.transactional_id, entry)
        elif before is None:
            if entries.get(entry.transactional_id) is entry:
                del entries[entry.transactional_id]
        elif append.cause is not EndCause.CLIENT:  # the raised epoch stays, so that the producer is fenced all the same
            entry.current = before._replace(
                producer_epoch=after.producer_epoch, last_producer_epoch=NO_EPOCH, has_failed_fence=True
            )
        else:
            entry.current = before
        self._note_open(entry)
        in_flight = entry.partition.in_flight
        entry.newest = next((each for each in reversed(in_flight) if each.entry is entry), None)

    def _failed(self, append: TransactionAppend, error: ErrorCode, event: TransactionEvent) -> None:
        """PendingAnswer the requests of an append that was undone, and try again what no client repeats."""
        entry, before = append.entry, append.before
        for answer in append.answers:
            event.reply(answer.ticket, answer.refused(error))
        if before is None or append.after is None or not entry.is_known:
            return
        if before.state in PREPARED:
            self._retry(entry, event)
        elif append.after.state in PREPARED:
            for answer in entry.end_answers:
                event.reply(answer.ticket, answer.refused(error))
            entry.end_answers.clear()
            if entry.timeout is None and not entry.in_flight:
                entry.timeout = self._watch(event.now_ms + RETRY_MS, lambda later: self._timed_out(entry, later))

    def _note_open(self, entry: TransactionEntry) -> None:
        if entry.current.state in IDLE or not entry.is_known:
            self.open.pop(entry, None)
        else:
            self.open.setdefault(entry)

    # -- internal ------------------------------------------------------------------------------------------------

    def _refusal(self, transactional_id: str) -> ErrorCode:
        """Return the error for an id that is not served here; NONE if it is."""
        if not transactional_id or not fits(transactional_id):
            return ErrorCode.INVALID_REQUEST
        if self.is_down or self.is_suspended:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self.partitions[self.partition_of(transactional_id)].error

    def _watch(self, deadline_ms: int, act: Callable[[TransactionEvent], None]) -> TransactionTimer:
        timer = TransactionTimer(deadline_ms, act)
        self._timers.watch(timer)
        return timer

    def _begin(self, now_ms: int) -> TransactionEvent:
        return TransactionEvent(now_ms, now_ms + self.wall_offset_ms)


def _needs_new_id(metadata: TransactionMetadata, request: InitProducerIdRequest) -> bool:
    """Return whether InitProducerId needs a producer id: for the new producer, or for the one after an abort."""
    if metadata.state is TransactionState.ONGOING:
        return metadata.is_exhausted
    return metadata.state in IDLE and needs_new_id(metadata, request.producer_epoch)


def _ended(metadata: TransactionMetadata) -> EndTxnResponse:
    """Return the answer to an EndTxn from version 5 on: the producer of the next transaction."""
    producer_id, producer_epoch = metadata.next_identity
    return EndTxnResponse(producer_id=producer_id, producer_epoch=producer_epoch)


def entries_of(
    partition: TransactionPartition, found: Mapping[str, TransactionMetadata]
) -> tuple[dict[str, TransactionEntry], list[TransactionEntry]]:
    """Return all entries of a partition that was read, by id, and those with an open or decided transaction.

    May run in a thread, as long as the partition is loading.
    """
    entries: dict[str, TransactionEntry] = {}
    for transactional_id, metadata in found.items():
        entry = entries[transactional_id] = TransactionEntry(transactional_id, partition, metadata)
        entry.durable = metadata
    return entries, [entry for entry in entries.values() if entry.current.state not in IDLE]
