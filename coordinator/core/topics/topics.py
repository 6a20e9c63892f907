"""The embedded topics: a state machine in which each request and each outcome of I/O is a method that returns effects.

It uses no clock, file or randomness. `TopicEffects` are the effects on disk; `coordinator.storage.topic_logs` performs
them and reports back through another method. `next_deadline_ms` tells when `advance_clock` is due: for long
polls, and for the periodic scan for old segments and silent producers, some partitions at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.purgatory.purgatory import DelayedOperation, Purgatory, run_due
from coordinator.core.purgatory.timing_wheel import TimingWheel
from coordinator.core.topics import names
from coordinator.core.topics.alter_configs import AlterConfigs
from coordinator.core.topics.catalogue import Catalogue, Document
from coordinator.core.topics.changes import ChangeQueue, Parts
from coordinator.core.topics.create_partitions import CreatePartitions
from coordinator.core.topics.create_topics import AutoCreateTopics, CreateTopics
from coordinator.core.topics.delete_topics import DeleteTopics
from coordinator.core.topics.describe import describe_configs, describe_topic, missing_topic, with_operations
from coordinator.core.topics.describe_producers import describe_producers
from coordinator.core.topics.effects import NOTHING, EnforceRetention, Opened, Outbox, ReadFailure, TopicEffects
from coordinator.core.topics.events_topic import PrepareEventsTopic
from coordinator.core.topics.feed import Feed, SharedText
from coordinator.core.topics.fetch import MAX_WAIT_MS, Fetching
from coordinator.core.topics.not_controller import refuse_change
from coordinator.core.topics.offsets import Offsets
from coordinator.core.topics.produce import Producing
from coordinator.core.topics.produce_verification import TransactionSupportedOperation
from coordinator.core.topics.producer_ids import ProducerIds
from coordinator.core.topics.readers import UNKNOWN, take_read_up_to
from coordinator.core.topics.replicate import Replicate, make_new
from coordinator.core.topics.retention import Policy
from coordinator.core.topics.tail_cache import TailBudget
from coordinator.core.topics.txn_markers import TxnMarkers
from protocol.error_codes import ErrorCode
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.alter_configs import AnyRequest
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import CatalogueChange
    from coordinator.core.topics.effects import Changed, Lookup, Read, TrimLog, VerifyTransaction
    from coordinator.core.topics.partition import InternalLog, Partition
    from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
    from protocol.messages.create_partitions import CreatePartitionsRequest
    from protocol.messages.create_topics import CreateTopicsRequest
    from protocol.messages.delete_records import DeleteRecordsRequest
    from protocol.messages.delete_topics import DeleteTopicsRequest
    from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
    from protocol.messages.describe_producers import DescribeProducersRequest
    from protocol.messages.fetch import FetchRequest
    from protocol.messages.follow_catalogue import FollowCatalogueRequest
    from protocol.messages.list_offsets import ListOffsetsRequest
    from protocol.messages.metadata import MetadataRequestTopic, MetadataResponseTopic
    from protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
    from protocol.messages.produce import ProduceRequest
    from protocol.messages.write_txn_markers import WriteTxnMarkersRequest

TAIL_BYTES: Final = 2 << 20  # tail cache of one partition: a consumer asks for 1 MiB of a partition by default
FETCHES_PER_TICK: Final = 256  # expired long polls that one event completes; the next event completes the rest
SCAN_SLICE: Final = 64  # partitions scanned for old segments in one step
FORGOTTEN_AT_ONCE: Final = 5000  # silent producers after which a step ends, and those of one partition
SCAN_PAUSE_MS: Final = 50
NO_TOPICS: Final = "topics.storage is off here: this coordinator keeps groups and offsets only."


class Topics:
    """The topics of this node and their state machine."""

    def __init__(
        self,
        config: Config,
        *,
        cluster: Cluster,
        new_topic_id: Callable[[], bytes],
        now_ms: int,
        tails_bytes: int = 0,
        serves_transactions: bool = False,
    ) -> None:
        self.config = config
        self.cluster = cluster
        self.new_topic_id = new_topic_id
        tails_bytes = tails_bytes or config.topic_tail_cache_bytes
        self.tails = TailBudget(tails_bytes, min(TAIL_BYTES, tails_bytes))
        self.catalogue = Catalogue(config, self.tails, cluster)
        self.producer_ids = ProducerIds()
        self._wheel: TimingWheel[DelayedOperation[Outbox]] = TimingWheel(now_ms)
        self.fetches: Purgatory[Outbox] = Purgatory("fetch", self._wheel)
        self.producing = Producing(config, self.catalogue)
        self.serves_transactions = serves_transactions
        self.markers = TxnMarkers(self.catalogue, self.producing)
        self.fetching = Fetching(config, self.catalogue, self.fetches)
        self.offsets = Offsets(self.catalogue, self.fetching)
        parts = Parts(config, cluster, self.catalogue, self.producing, self.fetching, new_topic_id)
        self.feed = Feed(cluster, self.catalogue, self.fetches)
        self.changes = ChangeQueue(parts, self.feed.changed)
        self._wanted: dict[str, None] = {}  # topics that are being created automatically
        self._scan_at_ms = now_ms + config.log_retention_check_interval_ms
        self._forget_at_ms = now_ms
        self._scan: list[Partition] = []
        self._scan_is_waiting = False  # the executor works on a slice

    def __repr__(self) -> str:
        return (
            f"<Topics: {self.catalogue.user_topics} topics, {self.catalogue.user_partitions} partitions, "
            f"{self.fetches.waiting} fetches waiting>"
        )

    @property
    def serves_transactions(self) -> bool:
        """True if there is a transaction coordinator; otherwise transactional batches are refused."""
        return self.producing.serves_transactions

    @serves_transactions.setter
    def serves_transactions(self, serves: bool) -> None:
        self.producing.serves_transactions = serves

    @property
    def wall_offset_ms(self) -> int:
        """Return how far the time of day is ahead of the times of events: the clock of topics with LogAppendTime."""
        return self.producing.wall_offset_ms

    @wall_offset_ms.setter
    def wall_offset_ms(self, offset_ms: int) -> None:
        self.producing.wall_offset_ms = offset_ms

    # -- topics and partitions -----------------------------------------------------------------------------------

    def partition_exists(self, topic: str, partition: int) -> bool:
        """Return True if this partition exists for clients."""
        return self.catalogue.partition(topic, partition) is not None

    def take_read_up_to(self, topic: str, partition: int, client_id: str, client_host: str) -> int:
        """Return the offset up to which a client has been sent the records, -1 if unknown, and forget the client."""
        found = self.catalogue.partition(topic, partition)
        return UNKNOWN if found is None else take_read_up_to(found, client_id, client_host)

    def restore(self, stored: Document) -> list[Partition]:
        """Restore the stored catalogue at start. Return the partitions whose logs must be opened."""
        partitions = []
        self.catalogue.lineage, self.catalogue.revision = stored.lineage, stored.revision
        for facts in stored.topics:
            topic = self.catalogue.make(facts.name, facts.topic_id, facts.partitions, facts.configs, facts.assigned)
            self.catalogue.add(topic)
            partitions += [partition for partition in topic.partitions if partition.is_local]
        return partitions

    def begin(self, wanted: Mapping[str, int]) -> tuple[bool, list[Partition]]:
        """Create the configured topics at start. Return True if the catalogue changed, and the new partitions to open.

        Only the controller creates topics; the other nodes get the catalogue from it.
        """
        partitions: list[Partition] = []
        if not self.cluster.is_controller:
            return False, partitions
        is_new = not self.cluster.is_alone and not self.catalogue.lineage
        if not self.catalogue.lineage:
            self.catalogue.lineage = self.new_topic_id().hex()
        for name, count in wanted.items():
            if name not in self.catalogue.topics:
                topic = self.catalogue.make(name, self.new_topic_id(), count, {})
                self.catalogue.add(topic)
                partitions += [partition for partition in topic.partitions if partition.is_local]
                self.catalogue.revision += 1
                is_new = True
        return is_new, partitions

    def add_internal(self, name: str, topic_id: bytes, views: Sequence[InternalLog | None]) -> list[Partition]:
        """Add an internal topic with the logs of its owner, for clients to read; None is a log on another node."""
        topic = self.catalogue.make_internal(name, topic_id, views)
        self.catalogue.add(topic)
        return topic.partitions

    def went_offline(self, partition: Partition) -> None:
        """Mark a partition whose log cannot be used. Clients see that it has no leader."""
        partition.is_offline = True
        partition.topic.changed()

    # -- time ----------------------------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """Return when `advance_clock` is due at the latest."""
        wheel_ms = self._wheel.next_deadline_ms()
        scan_ms = None if self._scan_is_waiting else self._scan_at_ms
        forget_ms = self._forget_at_ms if self.catalogue.producers.has_deleted else None
        return min((each for each in (wheel_ms, scan_ms, forget_ms) if each is not None), default=None)

    def advance_clock(self, now_ms: int) -> TopicEffects:
        """Complete the long polls that are due, and continue the retention scan and the end of deleted producers."""
        out = Outbox(now_ms)
        run_due(self._wheel, now_ms, out, FETCHES_PER_TICK)
        if self.catalogue.producers.has_deleted and now_ms >= self._forget_at_ms:
            self.catalogue.producers.forget_deleted(FORGOTTEN_AT_ONCE)
            self._forget_at_ms = now_ms + SCAN_PAUSE_MS
        if now_ms >= self._scan_at_ms and not self._scan_is_waiting:
            self._scan_slice(out)
        return out.effects()

    def _scan_slice(self, out: Outbox) -> None:
        if not self._scan:
            self._scan = [
                partition
                for topic in self.catalogue.topics.values()
                if not topic.is_view
                for partition in topic.partitions
                if partition.is_local
            ]
        items = []
        silent_since_ms = out.now_ms - self.config.producer_id_expiration_ms
        scanned = forgotten = 0
        for partition in self._scan[:SCAN_SLICE]:
            if forgotten >= FORGOTTEN_AT_ONCE:
                break
            scanned += 1
            forgotten += partition.expire_producers(silent_since_ms)
            policy = Policy.of(partition.topic.settings)
            if policy is not None and partition.size_bytes and not (partition.is_deleted or partition.is_offline):
                items.append((partition, policy))
        del self._scan[:scanned]
        pause_ms = SCAN_PAUSE_MS if self._scan else self.config.log_retention_check_interval_ms
        self._scan_at_ms = out.now_ms + pause_ms
        if items:
            self._scan_is_waiting = True
            out.do(EnforceRetention(tuple(items)))

    def shutdown(self, now_ms: int) -> TopicEffects:
        """Complete every waiting fetch with the data there is. No request follows."""
        out = Outbox(now_ms)
        run_due(self._wheel, now_ms + MAX_WAIT_MS + 1, out, self.fetches.waiting)
        return out.effects()

    # -- records -------------------------------------------------------------------------------------------------

    def produce(
        self,
        request: ProduceRequest,
        ticket: Ticket,
        now_ms: int,
        *,
        by_id: bool,
        zstd_allowed: bool,
        operation: TransactionSupportedOperation = TransactionSupportedOperation.DEFAULT_ERROR,
    ) -> TopicEffects:
        """Handle Produce; `by_id`: topics are named by their ids. `operation`: what the client knows of transactions.

        A request with transactional batches may wait for the outcome of a `VerifyTransaction`.
        """
        out = Outbox(now_ms)
        self.producing.produce(request, ticket, out, by_id=by_id, zstd_allowed=zstd_allowed, operation=operation)
        return out.effects()

    def produce_events(self, request: ProduceRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Append to the topic of events, which clients cannot write to."""
        out = Outbox(now_ms)
        self.producing.produce(request, ticket, out, by_id=False, zstd_allowed=False, is_internal_allowed=True)
        return out.effects()

    def write_txn_markers(
        self, request: WriteTxnMarkersRequest, ticket: Ticket, now_ms: int, *, wall_ms: int
    ) -> TopicEffects:
        """Handle WriteTxnMarkers; `wall_ms` is the time of day, the timestamp of the markers."""
        out = Outbox(now_ms)
        self.markers.write_txn_markers(request, ticket, out, wall_ms=wall_ms)
        return out.effects()

    def describe_producers(self, request: DescribeProducersRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle DescribeProducers."""
        out = Outbox(now_ms)
        out.reply(ticket, describe_producers(request, self.catalogue))
        return out.effects()

    def fetch(
        self, request: FetchRequest, ticket: Ticket, now_ms: int, *, by_id: bool, zstd_allowed: bool
    ) -> Generator[None, None, TopicEffects]:
        """Handle Fetch in steps; `by_id`: topics are named by their ids."""
        out = Outbox(now_ms)
        yield from self.fetching.fetch(request, ticket, out, by_id=by_id, zstd_allowed=zstd_allowed)
        return out.effects()

    def complete_fetch(self, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Have a fetch that waits respond with the data there is."""
        out = Outbox(now_ms)
        if ticket.delayed_fetch is not None:
            ticket.delayed_fetch.force_complete(out)
        return out.effects()

    def list_offsets(
        self, request: ListOffsetsRequest, ticket: Ticket, now_ms: int, *, specials: frozenset[int]
    ) -> TopicEffects:
        """Handle ListOffsets; `specials` are the negative timestamps that the request's version defines."""
        out = Outbox(now_ms)
        self.offsets.list_offsets(request, ticket, out, specials=specials)
        return out.effects()

    def offsets_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest, ticket: Ticket, now_ms: int
    ) -> TopicEffects:
        """Handle OffsetForLeaderEpoch."""
        out = Outbox(now_ms)
        self.offsets.offsets_for_leader_epoch(request, ticket, out)
        return out.effects()

    def delete_records(self, request: DeleteRecordsRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle DeleteRecords."""
        out = Outbox(now_ms)
        self.offsets.delete_records(request, ticket, out)
        return out.effects()

    def new_producer_id(self, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle InitProducerId without a transactional id."""
        out = Outbox(now_ms)
        self.producer_ids.new_producer_id(ticket, out)
        return out.effects()

    # -- the catalogue -------------------------------------------------------------------------------------------

    def metadata(
        self,
        asked: Sequence[MetadataRequestTopic] | None,
        now_ms: int,
        *,
        may_create: bool,
        with_authorized_operations: bool,
    ) -> tuple[list[MetadataResponseTopic], TopicEffects]:
        """Return the topics of a Metadata response; None asks for all. Unknown topics may be created automatically."""
        effects = NOTHING
        if asked is None:
            described = [describe_topic(topic) for topic in self.catalogue.topics.values()]
        elif any(each.topic_id != ZERO_UUID for each in asked):
            ids = dict.fromkeys(each.topic_id for each in asked if each.topic_id != ZERO_UUID)
            described = [self._described_by_id(topic_id) for topic_id in ids]
        else:
            may_create = may_create and self.config.auto_create_topics_enable
            described = []
            missing = []
            for name in dict.fromkeys(each.name or "" for each in asked):
                topic = self.catalogue.topics.get(name)
                if topic is not None:
                    described.append(describe_topic(topic))
                elif names.why_invalid(name) is not None:
                    described.append(missing_topic(name, ErrorCode.INVALID_TOPIC_EXCEPTION))
                else:
                    # Also if it will be created: clients ask again a moment later, as with Kafka.
                    described.append(missing_topic(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                    if may_create and not names.is_internal(name):
                        missing.append(name)
            if missing:
                effects = self._create_automatically(missing, now_ms)
        if with_authorized_operations:
            described = [with_operations(each) if not each.error_code else each for each in described]
        return described, effects

    def _described_by_id(self, topic_id: bytes) -> MetadataResponseTopic:
        topic = self.catalogue.by_id(topic_id)
        if topic is None:
            return missing_topic(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id)
        return describe_topic(topic)

    def _create_automatically(self, missing: Sequence[str], now_ms: int) -> TopicEffects:
        if not self.cluster.is_controller:
            return TopicEffects(wanted=tuple(missing))
        new = [name for name in missing if name not in self._wanted]
        room = self.config.max_topics - len(self._wanted)
        if not new or room <= 0:
            return NOTHING
        self._wanted.update(dict.fromkeys(new[:room]))
        return self._change(AutoCreateTopics(self._wanted), now_ms)

    def _change(self, change: CatalogueChange, now_ms: int) -> TopicEffects:
        out = Outbox(now_ms)
        self.changes.submit(change, out)
        return out.effects()

    def _change_if_controller(self, request: Any, change: CatalogueChange, ticket: Ticket, now_ms: int) -> TopicEffects:
        if self.cluster.is_controller:
            return self._change(change, now_ms)
        reason = f"topics are changed by the controller, node {self.cluster.controller.id}"
        out = Outbox(now_ms)
        out.reply(ticket, refuse_change(request, ErrorCode.NOT_CONTROLLER, reason))
        return out.effects()

    def create_topics(self, request: CreateTopicsRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle CreateTopics."""
        if not self.config.has_topics:
            out = Outbox(now_ms)
            out.reply(ticket, refuse_change(request, ErrorCode.POLICY_VIOLATION, NO_TOPICS))
            return out.effects()
        return self._change_if_controller(request, CreateTopics(request, ticket), ticket, now_ms)

    def delete_topics(self, request: DeleteTopicsRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle DeleteTopics."""
        return self._change_if_controller(request, DeleteTopics(request, ticket), ticket, now_ms)

    def create_partitions(self, request: CreatePartitionsRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle CreatePartitions."""
        return self._change_if_controller(request, CreatePartitions(request, ticket), ticket, now_ms)

    def alter_configs(self, request: AnyRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle IncrementalAlterConfigs and AlterConfigs."""
        return self._change_if_controller(request, AlterConfigs(request, ticket), ticket, now_ms)

    def follow(self, request: FollowCatalogueRequest, ticket: Ticket, now_ms: int) -> TopicEffects:
        """Handle FollowCatalogue, by which another node of the cluster asks for changes."""
        out = Outbox(now_ms)
        self.feed.follow(request, ticket, out)
        return out.effects()

    def share(self, name: str, document: SharedText, now_ms: int) -> TopicEffects:
        """Send a new document of this node, the controller, to the nodes that follow it."""
        out = Outbox(now_ms)
        self.feed.documents[name] = document
        self.feed.changed(out)
        return out.effects()

    def make_new(self, received: Document, made: dict[bytes, Topic]) -> Generator[None, None, None]:
        """Make the topics that this node lacks, by their ids into `made`, in steps before `replicate`."""
        return make_new(received, self.catalogue, made)

    def replicate(
        self, received: Document, ticket: Ticket, now_ms: int, made: Mapping[bytes, Topic] | None = None
    ) -> TopicEffects:
        """Apply the controller's catalogue. The reply is an error code; `Replicate` may need two passes.

        `made`: topics that `make_new` has made; the others are made now.
        """
        return self._change(Replicate(received, ticket, made or {}), now_ms)

    def prepare_events_topic(self, then: Callable[[], None], now_ms: int) -> TopicEffects:
        """Create the topic of events, or bring its settings up to date. Only the controller may call this."""
        return self._change(PrepareEventsTopic(then), now_ms)

    def describe_configs(self, request: DescribeConfigsRequest) -> Generator[None, None, DescribeConfigsResponse]:
        """Handle DescribeConfigs."""
        return describe_configs(request, self.catalogue, self.cluster.node_id)

    # -- outcomes of I/O -----------------------------------------------------------------------------------------

    def appended(self, durable: Iterable[tuple[Partition, int]], now_ms: int) -> TopicEffects:
        """Take new high watermarks. Everything below them is durable by the flush policy."""
        out = Outbox(now_ms)
        for partition, high_watermark in durable:
            self.producing.appended(partition, high_watermark, out)
            self.fetching.changed(partition, out)
        return out.effects()

    def append_failed(self, partition: Partition, from_offset: int, error: ErrorCode, now_ms: int) -> TopicEffects:
        """Fail the batches of a partition from `from_offset` on, which were not written."""
        out = Outbox(now_ms)
        self.producing.append_failed(partition, from_offset, error, out)
        return out.effects()

    def transaction_verified(
        self, verification: VerifyTransaction, response: AddPartitionsToTxnResponse, now_ms: int
    ) -> TopicEffects:
        """Take the response to a `VerifyTransaction`. If none can be had, its error code says so."""
        out = Outbox(now_ms)
        self.producing.transaction_verified(verification, response, out)
        return out.effects()

    def internal_appended(self, topic: str, partition: int, now_ms: int) -> TopicEffects:
        """Check the fetches that wait for an internal partition, after its log grew."""
        found = self.catalogue.partition(topic, partition)
        if found is None or not self.fetches.is_watched(found):
            return NOTHING
        out = Outbox(now_ms)
        self.fetching.changed(found, out)
        return out.effects()

    def read_done(self, read: Read, found: Sequence[bytes | ReadFailure], now_ms: int) -> TopicEffects:
        """Take the result of a `Read`, one entry for each of its items."""
        out = Outbox(now_ms)
        self.fetching.read_done(read, found, out)
        return out.effects()

    def lookup_done(
        self, lookup: Lookup, found: Sequence[tuple[int, int] | ReadFailure | None], now_ms: int
    ) -> TopicEffects:
        """Take the result of a `Lookup`: (timestamp, offset) for each item, None where there is none."""
        out = Outbox(now_ms)
        self.offsets.lookup_done(lookup, found, out)
        return out.effects()

    def catalogue_changed(self, outcome: Changed | ReadFailure, now_ms: int) -> TopicEffects:
        """Take the result of the last `ChangeCatalogue`."""
        out = Outbox(now_ms)
        self.changes.done(outcome, out)
        return out.effects()

    def go_on_changing(self, now_ms: int) -> TopicEffects:
        """Run the changes that `changes.must_wait` held."""
        out = Outbox(now_ms)
        self.changes.go_on(out)
        return out.effects()

    def producer_ids_reserved(self, up_to: int, error: ErrorCode, now_ms: int) -> TopicEffects:
        """Take the result of a `ReserveProducerIds`."""
        out = Outbox(now_ms)
        self.producer_ids.reserved(up_to, error, out)
        return out.effects()

    def log_trimmed(self, trim: TrimLog, outcome: Opened | ReadFailure, now_ms: int) -> TopicEffects:
        """Take the result of a `TrimLog`."""
        out = Outbox(now_ms)
        self.offsets.log_trimmed(trim, outcome, out)
        return out.effects()

    def retention_enforced(self, results: Iterable[tuple[Partition, Opened]], now_ms: int) -> TopicEffects:
        """Take the result of an `EnforceRetention`: the extents of the logs that lost segments."""
        out = Outbox(now_ms)
        self._scan_is_waiting = False
        for partition, opened in results:
            if not partition.is_deleted:
                partition.trimmed(opened.log_start_offset, opened.size_bytes)
                self.fetching.changed(partition, out)
        return out.effects()
