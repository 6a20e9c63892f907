"""A transaction coordinator over a log in memory, in virtual time. Its disk and its partitions act when they are told.

By default each append becomes durable and each marker is written at once. With `holds_appends` or `holds_markers` they
wait for `flush` and `write_markers`. `restart` begins again with what is durable.
"""

from __future__ import annotations

from typing import Any

from coordinator.config.config import Config
from coordinator.core.effects import Append, Ticket
from coordinator.core.transactions.commands import AddToTransaction, EndTxn, VerifyPartitions
from coordinator.core.transactions.coordinator import TransactionCoordinator, entries_of
from coordinator.core.transactions.effects import TransactionEffects, WriteMarkers
from coordinator.core.transactions.entry import TransactionEntry
from coordinator.core.transactions.metadata import TopicPartition, TransactionMetadata
from coordinator.core.transactions.replay import TransactionReplay
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.write_txn_markers import WritableTxnMarker
from protocol.record_batch import build_batch, read_header

EPOCH_MS = 1_700_000_000_000
T0: TopicPartition = ("t", 0)
T1: TopicPartition = ("t", 1)
NONE = ErrorCode.NONE
TIMEOUT_MS = 60_000
Identity = tuple[int, int]


class TransactionWorld:
    """One coordinator with one or more log partitions."""

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        self.config = Config(**settings)
        self.now_ms = 1000
        self.next_producer_id = 1000
        self.log: list[list[bytes]] = [[] for _ in range(partitions)]  # durable batches
        self.queued: list[Append] = []
        self.markers: list[WritableTxnMarker] = []  # all that were asked for
        self.held_markers: list[WriteMarkers] = []
        self.marker_errors: dict[TopicPartition, ErrorCode] = {}
        self.holds_appends = self.holds_markers = False
        self.gives_ids = True
        self.gone_topics: set[str] = set()
        self.answers: dict[int, Any] = {}  # by the number of the request
        self._requests = 0
        self.core = self._load()

    def _load(self) -> TransactionCoordinator:
        core = TransactionCoordinator(
            self.config,
            partitions=len(self.log),
            is_deleted=lambda topic, *_: topic in self.gone_topics,
            wall_offset_ms=EPOCH_MS,
            now_ms=self.now_ms,
        )
        self.core = core
        for number, batches in enumerate(self.log):
            replay = TransactionReplay()
            for batch in batches:
                replay.add_batch(read_header(batch), batch)
            entries, unfinished = entries_of(core.partitions[number], replay.settle())
            self.execute(core.loaded(number, entries, unfinished, len(batches), self.now_ms))
        return core

    # -- what the runtime does -----------------------------------------------------------------------------------

    def execute(self, effects: TransactionEffects) -> None:
        for ticket, response in effects.replies:
            assert ticket.correlation_id not in self.answers, "answered twice"
            self.answers[ticket.correlation_id] = response
        self.queued += effects.appends
        self.markers += [write.request.markers[0] for write in effects.markers]
        self.held_markers += effects.markers
        if effects.wants_producer_id and self.gives_ids:
            self.give_id()
        if not self.holds_appends:
            self.flush()
        if not self.holds_markers:
            self.write_markers()

    def give_id(self, error: ErrorCode = NONE) -> None:
        self.next_producer_id += 1
        self.execute(self.core.producer_id_allocated(self.next_producer_id - 1, error, self.now_ms))

    def flush(self, at_most: int = 1000) -> None:
        """Make the queued appends durable."""
        while self.queued and at_most:
            at_most -= 1
            append = self.queued.pop(0)
            log = self.log[append.partition]
            log.append(bytes(build_batch(list(append.records), base_offset=len(log), timestamp_ms=self.wall_ms)))
            self.execute(self.core.appended(append.partition, len(log), self.now_ms))

    def fail(self, error: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        """Fail the queued appends of all partitions."""
        failed, self.queued = self.queued, []
        for number in {append.partition for append in failed}:
            self.execute(self.core.append_failed(number, len(self.log[number]), error, self.now_ms))

    def write_markers(self) -> None:
        """Write the markers that were asked for, with the errors of `marker_errors`."""
        held, self.held_markers = self.held_markers, []
        for request, entry in held:
            (marker,) = request.markers
            outcomes = {
                (topic.name, index): self.marker_errors.get((topic.name, index), NONE)
                for topic in marker.topics
                for index in topic.partition_indexes
            }
            self.execute(self.core.markers_written(entry, outcomes, self.now_ms))

    def sleep(self, ms: int) -> None:
        until_ms = self.now_ms + ms
        while (due_ms := self.core.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.execute(self.core.advance_clock(self.now_ms))
        self.now_ms = until_ms
        self.execute(self.core.advance_clock(self.now_ms))

    def restart(self) -> None:
        """Crash, and begin again with what is durable."""
        self.queued, self.held_markers = [], []
        self._load()

    @property
    def wall_ms(self) -> int:
        return EPOCH_MS + self.now_ms

    # -- requests ------------------------------------------------------------------------------------------------

    def send(self, request: Any) -> int:
        """Send a request; returns its number in `answers`."""
        self._requests += 1
        number = self._requests
        self.execute(self.core.handle(request, Ticket(correlation_id=number), self.now_ms))
        return number

    def ask(self, request: Any) -> Any:
        return self.answers[self.send(request)]

    def init(
        self, transactional_id: str = "tx1", producer: Identity = (-1, -1), timeout_ms: int = TIMEOUT_MS
    ) -> Identity | ErrorCode:
        """Send InitProducerId; returns producer id and epoch, or the error."""
        response = self.ask(InitProducerIdRequest(transactional_id, timeout_ms, *producer))
        if response.error_code:
            assert (response.producer_id, response.producer_epoch) == (-1, -1)
            return ErrorCode(response.error_code)
        return response.producer_id, response.producer_epoch

    def add(
        self, producer: Identity, *partitions: TopicPartition, transactional_id: str = "tx1", client_version: int = 0
    ) -> ErrorCode:
        error: ErrorCode = self.ask(
            AddToTransaction(
                transactional_id, *producer, frozenset(partitions or (T0,)), client_version, lambda error: error
            )
        )
        return error

    def verify(
        self, producer: Identity, *partitions: TopicPartition, transactional_id: str = "tx1"
    ) -> dict[TopicPartition, ErrorCode]:
        outcomes: dict[TopicPartition, ErrorCode] = self.ask(
            VerifyPartitions(transactional_id, *producer, frozenset(partitions), lambda outcomes: outcomes)
        )
        return outcomes

    def end(self, producer: Identity, *, commit: bool, transactional_id: str = "tx1") -> ErrorCode:
        """Send EndTxn as a client before KIP-890 does."""
        request = EndTxnRequest(transactional_id, *producer, commit)
        return ErrorCode(self.ask(EndTxn(request, raises_epoch=False)).error_code)

    def end_and_raise(self, producer: Identity, *, commit: bool, transactional_id: str = "tx1") -> Identity | ErrorCode:
        """Send EndTxn version 5; returns the producer of the next transaction, or the error."""
        request = EndTxnRequest(transactional_id, *producer, commit)
        response = self.ask(EndTxn(request, raises_epoch=True))
        if response.error_code:
            return ErrorCode(response.error_code)
        return response.producer_id, response.producer_epoch

    def described(self, transactional_id: str = "tx1") -> Any:
        return self.ask(DescribeTransactionsRequest([transactional_id])).transaction_states[0]

    def listed(self, **filters: Any) -> Any:
        steps = self.core.listing(ListTransactionsRequest(**filters), self.now_ms)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def entry(self, transactional_id: str = "tx1") -> TransactionEntry:
        entry = self.core.find(transactional_id)
        assert entry is not None, f"{transactional_id} is not known"
        return entry

    def state(self, transactional_id: str = "tx1") -> TransactionMetadata:
        return self.entry(transactional_id).current
