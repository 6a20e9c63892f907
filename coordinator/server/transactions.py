"""The transaction coordinator of a node that runs: its log, and the ways to the partitions that take part.

The log is created or opened when the first request needs it, because many servers never see a transaction; requests
wait meanwhile. All methods belong to the loop thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, parse_partition_directory
from coordinator.core.topics.produce_verification import errors_of
from coordinator.core.transactions.add_partitions import command_of
from coordinator.core.transactions.coordinator import TransactionCoordinator, entries_of
from coordinator.core.transactions.replay import TransactionReplay
from coordinator.server.api.write_txn_markers import SplitMarkers
from coordinator.server.inner_requests import inner_ticket
from coordinator.server.transaction_peers import NO_ANSWER, TransactionPeers
from coordinator.storage.log.recovery import no_evidence
from coordinator.storage.offsets_log import CoordinatorTopic, OffsetsLog, open_logs
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.write_txn_markers import (
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.cluster import ClusterNode
    from coordinator.core.effects import Append, Ticket
    from coordinator.core.transactions.effects import TransactionEffects, WriteMarkers
    from coordinator.core.transactions.entry import TransactionEntry, TransactionPartition
    from coordinator.core.transactions.metadata import TopicPartition
    from coordinator.core.transactions.states import TransactionState
    from coordinator.server.node_links import NodeLinks
    from coordinator.server.runtime import Runtime
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.snapshot.transaction_tail import LoadedTransactions

LOG: Final = logging.getLogger("coordinator.transactions")
RECORDS_NAMED: Final = 100  # damaged ones of a partition, in the log of one load


def has_transaction_log(fs: FileSystem, data_dir: Path) -> bool:
    """Return whether a data directory holds a transaction log."""
    parsed = map(parse_partition_directory, fs.listdir(data_dir))
    return any(found is not None and found[0] == TRANSACTIONS_TOPIC for found in parsed)


class TransactionLog(Protocol):
    """The log of the partitions that a node serves: an `OffsetsLog`, or the part of one in a shared store."""

    def append(self, append: Append, timestamp_ms: int, /) -> None: ...

    def set_leader_epoch(self, partition: int, leader_epoch: int, /) -> None: ...

    async def drained(self) -> None: ...

    async def close(self) -> None: ...


class TransactionObserver(Protocol):
    """Hears of each stage of transactions before its effects are carried out: before answers, markers and appends."""

    def is_durable(self, transactional_id: str, state: TransactionState) -> None:
        """Note that the record of a state is in the log."""

    def has_markers(self, transactional_id: str) -> None:
        """Note that all markers of a transaction are in the logs of its partitions."""


class Transactions:
    """The transaction coordinator of one node, with its log."""

    def __init__(
        self,
        runtime: Runtime,
        loop: asyncio.AbstractEventLoop,
        data_dir: Path,
        fs: FileSystem,
        links: NodeLinks,
        log: TransactionLog | None = None,
    ) -> None:
        """`log`: the one in a shared store, whose partitions the node claims. Otherwise there is one in files."""
        self.core = TransactionCoordinator(
            runtime.config,
            partitions=runtime.config.transaction_state_log_num_partitions,
            is_deleted=self._is_deleted,
            wall_offset_ms=runtime.core.wall_offset_ms,
            now_ms=runtime.now_ms(),
            owns=runtime.cluster.owns_transaction_partition,
        )
        self._cluster = runtime.cluster
        self._peers = TransactionPeers(
            runtime.cluster, links, runtime.config.cluster_max_queued_requests, runtime.end_of_event
        )
        self._runtime = runtime
        self._loop = loop
        self._data_dir = data_dir
        self._fs = fs
        self._log = log  # None: it is not open yet
        self._files: OffsetsLog | None = None  # the same, if it is in files
        self._opening: asyncio.Task[None] | None = None
        self._waiting: list[Callable[[], None]] = []  # for the log
        self.observer: TransactionObserver | None = None  # of a test

    @property
    def log(self) -> OffsetsLog | None:
        """The transaction log in files; None until it is open."""
        return self._files

    # -- opening -------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Return when the log is open and read. Raises LogError, ProtocolError, OSError."""
        if self._log is None or self._opening is not None:
            await asyncio.shield(self._begin_opening())

    def _begin_opening(self) -> asyncio.Task[None]:
        if self._opening is None:
            self._opening = self._loop.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        return self._opening

    def _opened(self, opening: asyncio.Task[None]) -> None:
        """Let the requests go on that have waited. If the log could not be opened, they are refused."""
        self._opening = None
        if not opening.cancelled() and (error := opening.exception()) is not None:
            LOG.error(
                "the transaction log cannot be opened error=%r; producers with a transactional id are told to wait",
                error,
            )
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()
        self._runtime.end_of_event()

    async def _open(self) -> None:
        """Open or create the log, and read it."""
        config, loop = self._runtime.config, self._loop
        started = self._runtime.monotonic()
        topic = CoordinatorTopic.transactions(config)
        logs = await loop.run_in_executor(
            None,
            partial(
                open_logs,
                topic,
                self._data_dir,
                config,
                self._fs,
                self._cluster.owns_transaction_partition,
                no_evidence,
            ),
        )
        self._log = self._files = OffsetsLog(
            logs,
            config,
            loop,
            self.on_durable,
            self.on_failed,
            machine=self._runtime.machine,
            writer="transactions-writer",
        )
        for number, log in logs.items():
            await self._load(self.core.partitions[number], log)
        took_ms = int((self._runtime.monotonic() - started) * 1000)
        LOG.info("transaction log opened partitions=%d transactional_ids=%d ms=%d", len(logs), self.core.ids, took_ms)

    async def _load(self, partition: TransactionPartition, log: Log) -> None:
        """Read a partition and serve it. One that cannot be read answers NOT_COORDINATOR, and the others go on."""
        try:
            replay = await self._loop.run_in_executor(None, _read, log)
            entries, unfinished = await self._loop.run_in_executor(None, _settled, partition, replay)
        except Exception as error:
            LOG.exception("loading failed topic=%s partition=%d error=%s", TRANSACTIONS_TOPIC, partition.number, error)
            self.core.load_failed(partition.number)
            return
        self._serve(partition, replay, entries, unfinished, log.log_end_offset, replay.leader_epoch)

    def _serve(
        self,
        partition: TransactionPartition,
        replay: TransactionReplay,
        entries: dict[str, TransactionEntry],
        unfinished: list[TransactionEntry],
        next_offset: int,
        epoch: int,
    ) -> None:
        assert self._log is not None
        # A compaction may remove all older batches, and with them the epoch that the next start reads.
        self._log.set_leader_epoch(partition.number, epoch)
        for record in replay.damaged[:RECORDS_NAMED]:
            LOG.error(
                "record set aside topic=%s partition=%d offset=%d error=%s; its transactional id is not known any more",
                TRANSACTIONS_TOPIC, partition.number, record.log_offset, record.reason,
            )  # fmt: skip
        self._execute_as_event(
            self.core.loaded(
                partition.number,
                entries,
                unfinished,
                next_offset,
                self._runtime.now_ms(),
                coordinator_epoch=epoch,
            )
        )

    def _when_open(self, act: Callable[[], None]) -> None:
        """Call `act` now, or as soon as the log is open. It is also called if that fails: requests are refused then."""
        if self._log is not None:
            act()
            return
        self._waiting.append(act)
        self._begin_opening()

    # -- partitions of a shared store ----------------------------------------------------------------------------

    async def take(self, number: int, reading: Awaitable[LoadedTransactions]) -> None:
        """Serve a partition that this node has claimed, when it is read. Raises LogStoreError, LogError.

        Its epoch is higher than that of the node that had it before, whose markers are refused from the first one on.
        """
        self.core.load_begin(number)
        partition = self.core.partitions[number]
        loaded = await reading
        entries, unfinished = await self._loop.run_in_executor(None, _settled, partition, loaded.replay)
        self._serve(partition, loaded.replay, entries, unfinished, loaded.next_offset, loaded.replay.leader_epoch + 1)

    def give_up(self, number: int) -> None:
        """Stop serving a partition, or loading it: another node may serve it from now on."""
        self._execute_as_event(self.core.given_up(number, self._runtime.now_ms()))

    # -- requests ------------------------------------------------------------------------------------------------

    def handle(self, request: Any, ticket: Ticket) -> None:
        """Have the coordinator handle a request or a command."""
        if self._log is not None:
            self._handle(request, ticket)
        else:
            self._when_open(lambda: self._handle(request, ticket))

    def _handle(self, request: Any, ticket: Ticket) -> None:
        self.execute(self.core.handle(request, ticket, self._runtime.now_ms()), ticket)

    def listing(self, steps: Callable[[int], Iterator[None]], ticket: Ticket) -> None:
        """Take steps that read all transactional ids."""
        self._when_open(lambda: self._runtime.take_turns(ticket, steps(self._runtime.now_ms())))

    def verify(self, request: AddPartitionsToTxnRequest, then: Callable[[AddPartitionsToTxnResponse], None]) -> None:
        """Ask whether partitions are part of a transaction, or add them to it. `request` has one transaction.

        The coordinator of the transactional id is asked, on its node; NETWORK_EXCEPTION: it does not answer.
        """
        (transaction,) = request.transactions

        def answered(answer: AddPartitionsToTxnResponse | None) -> None:
            response = _no_answer() if answer is NO_ANSWER else answer
            self.core.counters.verification_failures += sum(map(bool, errors_of(request, response).values()))
            then(response)

        owner = self.coordinator_of(transaction.transactional_id)
        if owner is None or owner.id == self._cluster.node_id:
            self.handle(command_of(transaction), inner_ticket(answered))
        else:
            self._peers.ask(owner.id, request, answered)

    def coordinator_of(self, transactional_id: str) -> ClusterNode | None:
        """Return the node that coordinates a transactional id."""
        return self._cluster.transaction_coordinator(self.core.partition_of(transactional_id))

    def verify_offsets(
        self,
        transaction: AddPartitionsToTxnTransaction,
        group_id: str,
        then: Callable[[ErrorCode], None],
    ) -> None:
        """Do the same for the partition of the offsets log that a group belongs to."""
        partition = self._runtime.core.partition_for(group_id)
        transaction.topics = [AddPartitionsToTxnTopic(OFFSETS_TOPIC, [partition])]

        def answered(response: AddPartitionsToTxnResponse) -> None:
            if response.error_code:  # as Kafka for trouble on the way
                then(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                return
            (result,) = response.results_by_transaction[0].topic_results[0].results_by_partition
            then(ErrorCode(result.partition_error_code))

        self.verify(AddPartitionsToTxnRequest(transactions=[transaction]), answered)

    # -- effects -------------------------------------------------------------------------------------------------

    def execute(self, effects: TransactionEffects, ticket: Ticket | None = None) -> None:
        """Send the replies, append, and write markers. `ticket`: that of the request that caused them."""
        runtime = self._runtime
        runtime.transactions_touched()
        for each, response in runtime.if_lease_holds(effects.replies):
            each.session.answer(each, response)
        if effects.appends and self._log is not None:
            if ticket is not None:
                ticket.has_append = True
            wall_ms = runtime.wall_ms()
            for append in effects.appends:
                self._log.append(append, wall_ms)
        for write in effects.markers:
            self._write_markers(write)
        if effects.wants_producer_id:
            ticket = inner_ticket(self._take_producer_id)
            runtime.execute_topics(runtime.topics.new_producer_id(ticket, runtime.now_ms()))

    def _execute_as_event(self, effects: TransactionEffects) -> None:
        self.execute(effects)
        self._runtime.end_of_event()

    def _take_producer_id(self, response: InitProducerIdResponse) -> None:
        error = ErrorCode(response.error_code)
        self.execute(self.core.producer_id_allocated(response.producer_id, error, self._runtime.now_ms()))

    def _write_markers(self, write: WriteMarkers) -> None:
        """Write the markers of one transaction on the nodes of its partitions, and tell what became of each."""
        (marker,) = write.request.markers
        topics: dict[int, dict[str, list[int]]] = {}  # by node
        for topic in marker.topics:
            for index in topic.partition_indexes:
                topics.setdefault(self._leader_of(topic.name, index), {}).setdefault(topic.name, []).append(index)
        outcomes: dict[TopicPartition, ErrorCode] = {}
        left = len(topics)

        def answered(response: WriteTxnMarkersResponse | None) -> None:
            nonlocal left
            left -= 1
            for topic in () if response is None else response.markers[0].topics:
                for each in topic.partitions:
                    outcomes[topic.name, each.partition_index] = ErrorCode(each.error_code)
            if not left:
                if self.observer is not None and all(not outcomes.get(each, True) for each in write.entry.remaining):
                    self.observer.has_markers(write.entry.transactional_id)
                self.execute(self.core.markers_written(write.entry, outcomes, self._runtime.now_ms()))

        for node_id, parts in topics.items():
            part = changed(marker, topics=[WritableTxnMarkerTopic(name, indexes) for name, indexes in parts.items()])
            request = WriteTxnMarkersRequest(markers=[part])
            if node_id == self._cluster.node_id:
                SplitMarkers(self._runtime, request, inner_ticket(answered)).send(self._runtime.now_ms())
            else:
                self._peers.ask(node_id, request, answered)

    def _is_deleted(self, topic: str, index: int, existed_ms: int) -> bool:
        """Return whether a partition that existed at a time does not any more.

        A node that has not heard of the controller since then may know less than the one that began the transaction.
        """
        link = self._runtime.link
        is_current = self._cluster.is_controller or (link is not None and link.current_as_of_ms > existed_ms)
        return is_current and not self._runtime.topics.partition_exists(topic, index)

    def _leader_of(self, topic: str, index: int) -> int:
        """Return the node that leads a partition: this one, if none is known, for the error that says so."""
        if topic == OFFSETS_TOPIC:
            owner = self._cluster.coordinator(index)
            return self._cluster.node_id if owner is None else owner.id
        partition = self._runtime.topics.catalogue.partition(topic, index)
        return self._cluster.node_id if partition is None else partition.leader

    # -- time and the disk ---------------------------------------------------------------------------------------

    def on_durable(self, partition: int, high_watermark: int) -> None:
        """Go on with what has waited for the records below `high_watermark`."""
        observer = self.observer
        reached = [] if observer is None else self.core.partitions[partition].states_below(high_watermark)
        effects = self.core.appended(partition, high_watermark, self._runtime.now_ms())
        if observer is not None:
            for transactional_id, state in reached:
                observer.is_durable(transactional_id, state)
        self._execute_as_event(effects)
        if self.core.is_behind(partition, high_watermark):
            self._runtime.time_slices.add(self._apply_rest(partition, high_watermark))

    def _apply_rest(self, partition: int, high_watermark: int) -> Iterator[None]:
        while self.core.is_behind(partition, high_watermark):
            self.execute(self.core.appended(partition, high_watermark, self._runtime.now_ms()))
            yield

    def on_failed(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        """Undo what needs the records from an offset on, which are not in the log."""
        self._execute_as_event(self.core.append_failed(partition, from_offset, error, self._runtime.now_ms()))

    def advance_clock(self, now_ms: int) -> None:
        """Run the timers that are due."""
        self.core.wall_offset_ms = self._runtime.core.wall_offset_ms
        if self._log is not None:
            self.execute(self.core.advance_clock(now_ms))

    def next_deadline_ms(self) -> int | None:
        """Return when `advance_clock` is due at the latest; None: there is nothing to wait for."""
        return None if self._log is None else self.core.next_deadline_ms()

    # -- the end -------------------------------------------------------------------------------------------------

    async def drained(self) -> None:
        """Return when no record is on its way to the disk."""
        if self._log is not None:
            await self._log.drained()

    def shutdown(self) -> None:
        """Answer the requests that wait."""
        self.execute(self.core.shutdown(self._runtime.now_ms()))

    async def close(self) -> None:
        """Close the log."""
        await self._peers.close()
        if self._opening is not None:
            await asyncio.wait((self._opening,))
        if self._log is not None:
            await self._log.close()


def _no_answer() -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(error_code=int(ErrorCode.NETWORK_EXCEPTION))


def _read(log: Log) -> TransactionReplay:
    """Read a partition, in a thread."""
    replay = TransactionReplay()
    for header, batch in log.batches():
        replay.add_batch(header, bytes(batch))
    return replay


def _settled(
    partition: TransactionPartition, replay: TransactionReplay
) -> tuple[dict[str, TransactionEntry], list[TransactionEntry]]:
    """Return the ids of a partition that was read, in a thread."""
    return entries_of(partition, replay.settle())
