"""The embedded topics without a disk: the real `Topics` and handlers, logs in memory, and a virtual clock.

A request and its response pass through the codec of their version, so that a test sees what a client of that version
would see. Effects are queued and performed by `settle`. A test can hold effects of one type back (`hold`) or let them
fail (`fail_appends`, `fail_changes`), and so decide when the disk is done. A second reply to a ticket is an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from coordinator.config.config import Config
from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
from coordinator.core.effects import Ticket
from coordinator.core.topics.effects import (
    MAX_TIMESTAMP,
    ChangeCatalogue,
    Changed,
    DeletedPartitions,
    Disconnect,
    DiskSpace,
    EnforceRetention,
    Lookup,
    MeasureDisk,
    Opened,
    Read,
    ReadFailure,
    ReserveProducerIds,
    TopicAppend,
    TopicEffects,
    TrimLog,
    VerifyTransaction,
)
from coordinator.core.topics.partition import Partition
from coordinator.core.topics.retention import RetainedSegment, delete_up_to
from coordinator.core.topics.topics import Topics
from coordinator.server.api.handler import Api
from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from coordinator.storage.log.log import LogConfig
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from tests.support.memory_log import MemoryLog

UNANSWERED = object()


class TopicsWorld:
    """Implements the part of `coordinator.server.api.node.Node` that the handlers of topics use."""

    def __init__(
        self,
        *,
        tails_bytes: int = 1 << 20,
        segment_bytes: int = 1 << 20,
        cluster: Cluster | None = None,
        **config: Any,
    ) -> None:
        self.config = Config(**config)
        self.cluster = cluster if cluster is not None else Cluster.alone(1, "broker.test", 9092)
        self.cluster_id = "test-cluster"
        self.now_ms = 1_000_000
        self.takes_nodes = True
        self.core: Any = None
        self.transactions = None
        ids = count(1)
        self.topics = Topics(
            self.config,
            cluster=self.cluster,
            new_topic_id=lambda: next(ids).to_bytes(16, "big"),
            now_ms=self.now_ms,
            tails_bytes=tails_bytes,
        )
        self.topics.wall_offset_ms = 1_700_000_000_000
        self.log_config = LogConfig(segment_bytes=segment_bytes)
        self.logs: dict[Partition, MemoryLog] = {}
        self.document = ""
        self.answers: dict[Ticket, Any] = {}
        self.disconnects: list[Disconnect] = []
        self.wanted: list[str] = []
        self.met_nodes: list[tuple[int, str | None]] = []
        self.asked_controller: list[Any] = []
        self.deleted: list[DeletedPartitions] = []
        self.notes: list[str] = []
        self.hold: set[type] = set()
        self.held: deque[Any] = deque()
        self.fail_changes = 0
        self.fail_appends = False
        self.fail_reads = False
        self.reads = 0
        self.steps = 0  # steps of long requests, not counting the last of each
        self.verify: Callable[[AddPartitionsToTxnRequest], AddPartitionsToTxnResponse] | None = None
        self.disk: DiskSpace | None = DiskSpace("/data", 1000, 400)
        self._work: deque[Any] = deque()
        self._correlation = count(1)

    @property
    def wall_ms(self) -> int:
        return self.topics.wall_offset_ms + self.now_ms

    # what handlers use

    def seen_by(self, ticket: Ticket) -> Callable[[ClusterNode], ClusterNode]:
        return lambda node: node

    def reply(self, ticket: Ticket, response: Any) -> None:
        if ticket in self.answers:
            raise AssertionError(f"{ticket} was answered twice")
        api: Api = ticket.session
        if response is not None:
            if ticket.amend is not None:
                response = ticket.amend(response)
            if api.shape is not None:
                response = api.shape(response, ticket.version)
            data = codec.encode_response(response, ticket.version)
            response = codec.decode_response(int(api.key), ticket.version, data, 0)
        self.answers[ticket] = response

    @property
    def identity(self) -> ClusterIdentity:
        return ClusterIdentity(
            self.cluster_id, tuple(self.cluster.nodes.values()), self.config.offsets_topic_num_partitions
        )

    def is_node(self, ticket: Ticket) -> bool:
        return self.takes_nodes

    def node_checked(self, node_id: int, problem: str | None) -> None:
        self.met_nodes.append((node_id, problem))

    def ask_controller(self, request: Any, ticket: Ticket) -> None:
        self.asked_controller.append(request)

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        for _ in steps:
            self.steps += 1

    def execute_topics(self, effects: TopicEffects, ticket: Ticket | None = None) -> None:
        for ticket, response in effects.replies:
            self.reply(ticket, response)
        self.disconnects.extend(effects.disconnects)
        self.deleted.extend(effects.deleted)
        self.notes.extend(effects.notes)
        self.wanted.extend(effects.wanted)
        self._work.extend(effects.verifications)
        self._work.extend(effects.appends)
        self._work.extend(effects.reads)
        self._work.extend(effects.jobs)

    # what tests use

    def send(self, api: Api, request: Any, version: int) -> Ticket:
        """Send a request and perform its effects. The response may still be pending."""
        data = codec.encode_request(request, version)
        decoded = codec.decode_request(int(api.key), version, data, 0)
        ticket = Ticket(api, api_key=int(api.key), version=version, correlation_id=next(self._correlation))
        api.handle(self, decoded, ticket, self.now_ms)  # type: ignore[arg-type]
        self.settle()
        return ticket

    def call(self, api: Api, request: Any, version: int) -> Any:
        """Send a request that gets its response at once, and return that."""
        ticket = self.send(api, request, version)
        assert ticket in self.answers, f"{ticket} has no answer yet"
        return self.answers[ticket]

    def answer(self, ticket: Ticket) -> Any:
        """Return the response of a request, or UNANSWERED."""
        return self.answers.get(ticket, UNANSWERED)

    def advance(self, ms: int) -> None:
        """Advance the clock, calling `advance_clock` at each deadline as the runtime does."""
        until = self.now_ms + ms
        while True:
            deadline = self.topics.next_deadline_ms()
            if deadline is None or deadline > until:
                break
            self.now_ms = max(deadline, self.now_ms)
            self.execute_topics(self.topics.advance_clock(self.now_ms))
            self.settle()
        self.now_ms = until

    def settle(self) -> None:
        """Perform all effects that the test does not hold back."""
        while self._work:
            work = self._work.popleft()
            if type(work) in self.hold:
                self.held.append(work)
            else:
                self.execute_topics(self._perform(work))

    def release(self, *kinds: type) -> None:
        """Stop holding effects of these types, and perform those held."""
        self.hold -= set(kinds)
        held, self.held = self.held, deque()
        self._work.extend(held)
        self.settle()

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic without a request."""
        topic = self.topics.catalogue.make(
            name,
            self.topics.new_topic_id(),
            partitions,
            {key.replace("_", "."): value for key, value in configs.items()},
        )
        self.topics.catalogue.add(topic)
        self._open(partition for partition in topic.partitions if partition.is_local)

    def partition(self, topic: str, index: int = 0) -> Partition:
        found = self.topics.catalogue.partition(topic, index)
        assert found is not None
        return found

    # the disk

    def _open(self, partitions: Iterable[Partition]) -> dict[Partition, Opened]:
        opened = {}
        for partition in partitions:
            log = self.logs[partition] = MemoryLog(
                LogConfig(segment_bytes=min(self.log_config.segment_bytes, partition.topic.settings.segment_bytes))
            )
            opened[partition] = facts = _opened(log)
            partition.opened(facts)
        return opened

    def _perform(self, work: Any) -> TopicEffects:
        if isinstance(work, TopicAppend):
            return self._append(work)
        if isinstance(work, Read):
            return self.topics.read_done(work, self._read(work), self.now_ms)
        if isinstance(work, Lookup):
            return self.topics.lookup_done(work, self._look_up(work), self.now_ms)
        if isinstance(work, ChangeCatalogue):
            return self.topics.catalogue_changed(self._change(work), self.now_ms)
        if isinstance(work, ReserveProducerIds):
            error = ErrorCode.KAFKA_STORAGE_ERROR if self.fail_changes else ErrorCode.NONE
            return self.topics.producer_ids_reserved(work.up_to, error, self.now_ms)
        if isinstance(work, TrimLog):
            log = self.logs[work.partition]
            log.delete_up_to(work.offset)
            return self.topics.log_trimmed(work, _opened(log), self.now_ms)
        if isinstance(work, VerifyTransaction):
            assert self.verify is not None, "there is no transaction coordinator"
            return self.topics.transaction_verified(work, self.verify(work.request), self.now_ms)
        if isinstance(work, MeasureDisk):
            work.then(self.disk)
            return TopicEffects()
        assert isinstance(work, EnforceRetention)
        return self.topics.retention_enforced(self._retain(work), self.now_ms)

    def _append(self, append: TopicAppend) -> TopicEffects:
        log = self.logs[append.partition]
        base_offset = int.from_bytes(append.batch[:8], "big")
        if self.fail_appends:
            # As with the flusher, all later appends of the partition fail too.
            self._work = deque(
                each
                for each in self._work
                if not isinstance(each, TopicAppend) or each.partition is not append.partition
            )
            return self.topics.append_failed(append.partition, base_offset, ErrorCode.KAFKA_STORAGE_ERROR, self.now_ms)
        log.append(append.batch, append.last_offset, append.max_timestamp)
        log.high_watermark = log.log_end_offset
        return self.topics.appended([(append.partition, log.high_watermark)], self.now_ms)

    def _read(self, read: Read) -> list[bytes | ReadFailure]:
        self.reads += 1
        found: list[bytes | ReadFailure] = []
        left, at_least_one = read.max_bytes, read.at_least_one
        for item in read.items:
            log = self.logs.get(item.partition)
            try:
                if log is None or self.fail_reads:
                    raise LogError("no log")
                data = log.read(
                    item.offset,
                    max(min(item.max_bytes, left), 0),
                    min_one=at_least_one,
                    up_to_offset=item.up_to_offset,
                )
            except OffsetOutOfRangeError:
                found.append(ReadFailure(ErrorCode.OFFSET_OUT_OF_RANGE))
                continue
            except LogError:
                found.append(ReadFailure(ErrorCode.KAFKA_STORAGE_ERROR))
                continue
            found.append(data)
            left -= len(data)
            at_least_one = at_least_one and not data
        return found

    def _look_up(self, lookup: Lookup) -> list[tuple[int, int] | ReadFailure | None]:
        return [
            self.logs[item.partition].max_timestamp_offset()
            if item.timestamp == MAX_TIMESTAMP
            else self.logs[item.partition].offset_for_timestamp(item.timestamp)
            for item in lookup.items
        ]

    def _change(self, job: ChangeCatalogue) -> Changed | ReadFailure:
        if self.fail_changes:
            self.fail_changes -= 1
            return ReadFailure(ErrorCode.KAFKA_STORAGE_ERROR)
        self.document = job.document
        for partition in job.remove:
            del self.logs[partition]
        return Changed(self._open(job.create))

    def _retain(self, job: EnforceRetention) -> list[tuple[Partition, Opened]]:
        results = []
        for partition, policy in job.items:
            log = self.logs[partition]
            segments = [RetainedSegment(each.next_offset, each.size_bytes, each.max_timestamp) for each in log.segments]
            cut = delete_up_to(segments, policy, log.high_watermark, self.wall_ms)
            if cut is not None:
                if cut == log.log_end_offset:
                    log.roll()
                log.delete_up_to(cut)
                results.append((partition, _opened(log)))
        return results


def _opened(log: MemoryLog) -> Opened:
    return Opened(log.log_start_offset, log.log_end_offset, log.size_bytes)
