"""Facts about open transactions that hold a group back, asked of any Kafka.

The functions here build requests and read answers; the command and the console send them. A partition is held when the
group has read all that a reader of committed records gets, and the high watermark is beyond the last stable offset. The
leader names the producer whose transaction begins there (DescribeProducers); the transaction coordinators name its
transactional id (ListTransactions), its state, start and timeout (DescribeTransactions). A node that does not answer,
or refuses, leaves facts unknown. Source: KIP-664, and `TransactionsCommand` of Kafka.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from coordinator.core.events.model import HeldPartition, HoldingTransaction, PendingOffsets, Story
from protocol import record_batch
from protocol.errors import CorruptBatchError
from protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.metadata import MetadataResponse
from protocol.schema import Message

EXAMINED: Final = 50  # held partitions of one group
MOST_FETCHED: Final = 64 << 10  # bytes of a partition that are searched for committed records
OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})

_CONSUMER: Final = -1  # the replica id of clients other than brokers
_LATEST: Final = -1
_UNCOMMITTED, _COMMITTED = 0, 1  # isolation levels
_LIST_OFFSETS, _FETCH = 6, 12  # the newest versions that are used: Fetch has names of topics until 12

TopicPartition: TypeAlias = tuple[str, int]
T = TypeVar("T")


class NodeRequest(NamedTuple):
    """A request to a node, in at most this version."""

    node_id: int
    request: Message
    max_version: int


Steps: TypeAlias = Generator[list[NodeRequest], "list[Any]", T]
"""Requests to be sent, and their answers in the same order; None stands for one that did not come."""


async def answered(steps: Steps[T], ask: Callable[[list[NodeRequest]], Awaitable[list[Any]]]) -> T:
    """Take steps to their end, and return their result."""
    try:
        requests = next(steps)
        while True:
            requests = steps.send(await ask(requests))
    except StopIteration as end:
        result: T = end.value
        return result


class ClusterLeaders(NamedTuple):
    """The nodes of a cluster, and the leader of each partition that has one."""

    node_ids: Sequence[int]
    leaders: Mapping[TopicPartition, int]


def cluster_leaders(answer: MetadataResponse) -> ClusterLeaders:
    """Return the nodes and leaders of an answer to Metadata."""
    return ClusterLeaders(
        sorted(each.node_id for each in answer.brokers),
        {
            (topic.name or "", each.partition_index): each.leader_id
            for topic in answer.topics
            for each in topic.partitions
            if each.leader_id >= 0
        },
    )


class _Ends(NamedTuple):
    last_stable_offset: int
    high_watermark: int


def transaction_facts(story: Story, committed: Mapping[TopicPartition, int], cluster: ClusterLeaders) -> Steps[None]:
    """Find the partitions where readers are held, and the transactions, and note them in the story of a group."""
    ends = yield from _ends(committed, cluster)
    behind = {
        key: each for key, each in ends.items() if committed[key] <= each.last_stable_offset < each.high_watermark
    }
    chosen = sorted(behind, key=lambda key: behind[key].last_stable_offset - behind[key].high_watermark)[:EXAMINED]
    readable = yield from _readable({key: committed[key] for key in chosen}, behind, cluster)
    held = [key for key in chosen if key not in readable]
    holders = yield from _holders({key: behind[key].last_stable_offset for key in held}, cluster)
    pending = [] if story.state is None else story.state.pending_offsets
    known = yield from _known_transactions(
        sorted({each.producer_id for each in holders.values()} | {each.producer_id for each in pending}), cluster
    )
    story.offsets_pending_in = [each for each in map(known.of_offsets, pending) if each is not None]
    unknown = {
        key: behind[key].last_stable_offset for key, each in holders.items() if known.of_partition(key, each) is None
    }
    # A transaction that ended meanwhile is no hanging one.
    still = yield from _holders(unknown, cluster)
    story.held = [
        HeldPartition(
            topic=key[0],
            partition=key[1],
            committed=committed[key],
            last_stable_offset=behind[key].last_stable_offset,
            high_watermark=behind[key].high_watermark,
            transaction=transaction,
        )
        for key, holder in holders.items()
        if (transaction := known.of_partition(key, holder) or known.unlisted(holder, still.get(key))) is not None
    ]


# -- the partitions ----------------------------------------------------------------------------------------------


def _ends(partitions: Iterable[TopicPartition], cluster: ClusterLeaders) -> Steps[dict[TopicPartition, _Ends]]:
    by_leader = _by_leader(partitions, cluster)
    found: list[dict[TopicPartition, int]] = []
    for isolation in (_COMMITTED, _UNCOMMITTED):
        answers = yield [
            NodeRequest(
                leader,
                ListOffsetsRequest(
                    replica_id=_CONSUMER,
                    isolation_level=isolation,
                    topics=[
                        ListOffsetsTopic(name, [ListOffsetsPartition(index, timestamp=_LATEST) for index in indexes])
                        for name, indexes in topics.items()
                    ],
                ),
                _LIST_OFFSETS,
            )
            for leader, topics in by_leader.items()
        ]
        found.append(
            {
                (topic.name, each.partition_index): each.offset
                for answer in answers
                if answer is not None
                for topic in answer.topics
                for each in topic.partitions
                if not each.error_code and each.offset >= 0
            }
        )
    stable, high = found
    return {key: _Ends(stable[key], high[key]) for key in stable if key in high}


def _readable(
    committed: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, _Ends], cluster: ClusterLeaders
) -> Steps[set[TopicPartition]]:
    """Return the partitions with committed records between the committed and the last stable offset.

    A group may have read all of them and not have committed the offset behind a marker.
    """
    asked = {key: offset for key, offset in committed.items() if offset < ends[key].last_stable_offset}
    answers = yield [
        NodeRequest(
            leader,
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                isolation_level=_COMMITTED,
                topics=[
                    FetchTopic(
                        topic=name,
                        partitions=[
                            FetchPartition(index, fetch_offset=asked[name, index], partition_max_bytes=MOST_FETCHED)
                            for index in indexes
                        ],
                    )
                    for name, indexes in topics.items()
                ],
            ),
            _FETCH,
        )
        for leader, topics in _by_leader(asked, cluster).items()
    ]
    nothing = {
        (topic.topic, each.partition_index)
        for answer in answers
        if answer is not None
        for topic in answer.responses
        for each in topic.partitions
        if not _has_readable(each, ends[topic.topic, each.partition_index].last_stable_offset)
    }
    return asked.keys() - nothing


def _has_readable(data: PartitionData, last_stable_offset: int) -> bool:
    """Return False if all batches up to the last stable offset are markers and records of aborted transactions."""
    if data.error_code:
        return True
    aborted = sorted(data.aborted_transactions or [], key=lambda each: each.first_offset, reverse=True)
    skipped: set[int] = set()
    next_offset = -1
    try:
        for _, header in record_batch.iter_batches(bytes(data.records or b"")):
            if header.base_offset >= last_stable_offset:
                break
            while aborted and aborted[-1].first_offset <= header.last_offset:
                skipped.add(aborted.pop().producer_id)
            if header.is_control:
                skipped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in skipped):
                return True
            next_offset = header.last_offset + 1
    except CorruptBatchError:
        return True
    return next_offset < last_stable_offset


def _holders(
    offsets: Mapping[TopicPartition, int], cluster: ClusterLeaders
) -> Steps[dict[TopicPartition, ProducerState]]:
    """Return the producers whose open transactions begin at these last stable offsets."""
    answers = yield [
        NodeRequest(
            leader, DescribeProducersRequest([TopicRequest(name, indexes) for name, indexes in topics.items()]), 0
        )
        for leader, topics in _by_leader(offsets, cluster).items()
    ]
    return {
        (topic.name, each.partition_index): producer
        for answer in answers
        if answer is not None
        for topic in answer.topics
        for each in topic.partitions
        for producer in each.active_producers
        if producer.current_txn_start_offset == offsets[topic.name, each.partition_index]
    }


def _by_leader(partitions: Iterable[TopicPartition], cluster: ClusterLeaders) -> dict[int, dict[str, list[int]]]:
    found: dict[int, dict[str, list[int]]] = {}
    for topic, index in partitions:
        leader = cluster.leaders.get((topic, index))
        if leader is not None:
            found.setdefault(leader, {}).setdefault(topic, []).append(index)
    return found


# -- the transactions --------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    """The transactional ids of some producers."""

    transactions: Mapping[int, TransactionState]  # by producer id
    is_complete: bool  # all coordinators have answered

    def of_partition(self, key: TopicPartition, holder: ProducerState) -> HoldingTransaction | None:
        """Return the transaction that its coordinator has open in a partition."""
        topic, index = key
        return self._open(holder.producer_id, lambda name, indexes: name == topic and index in indexes)

    def of_offsets(self, pending: PendingOffsets) -> HoldingTransaction | None:
        """Return the transaction that sent offsets. None: it has ended since."""
        found = self._open(pending.producer_id, lambda name, indexes: True)
        if found is not None or pending.producer_id in self.transactions:
            return found
        return HoldingTransaction(
            producer_id=pending.producer_id, start_ms=pending.since_ms, is_hanging=self.is_complete
        )

    def unlisted(self, holder: ProducerState, still: ProducerState | None) -> HoldingTransaction | None:
        """Return a transaction that no coordinator told of. None: it has ended since."""
        if still is None or still.producer_id != holder.producer_id:
            return None
        return HoldingTransaction(
            producer_id=holder.producer_id, start_ms=holder.last_timestamp, is_hanging=self.is_complete
        )

    def _open(self, producer_id: int, has: Callable[[str, list[int]], bool]) -> HoldingTransaction | None:
        state = self.transactions.get(producer_id)
        if state is None or state.transaction_state not in OPEN:
            return None
        if not any(has(topic.topic, topic.partitions) for topic in state.topics):
            return None
        return HoldingTransaction(
            producer_id=producer_id,
            transactional_id=state.transactional_id,
            state=state.transaction_state,
            start_ms=state.transaction_start_time_ms,
            timeout_ms=state.transaction_timeout_ms,
        )


def _known_transactions(producer_ids: list[int], cluster: ClusterLeaders) -> Steps[_Known]:
    if not producer_ids:
        return _Known({}, is_complete=True)
    request = ListTransactionsRequest(producer_id_filters=producer_ids)
    listed = yield [NodeRequest(node_id, request, 0) for node_id in cluster.node_ids]
    is_complete = all(answer is not None and not answer.error_code for answer in listed)
    by_node = {
        node_id: [each.transactional_id for each in answer.transaction_states]
        for node_id, answer in zip(cluster.node_ids, listed, strict=True)
        if answer is not None and answer.transaction_states
    }
    answers = yield [
        NodeRequest(node_id, DescribeTransactionsRequest(transactional_ids), 0)
        for node_id, transactional_ids in by_node.items()
    ]
    states = [each for answer in answers if answer is not None for each in answer.transaction_states]
    return _Known(
        {each.producer_id: each for each in states if not each.error_code},
        is_complete and all(answer is not None for answer in answers) and not any(each.error_code for each in states),
    )
