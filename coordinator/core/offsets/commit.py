"""OffsetCommit and TxnOffsetCommit: from a request to records, and from durable records to committed offsets.

A commit is refused as a whole (`check_offset_commit`) or for single partitions (unknown partition, metadata too long).
The rest becomes one append. Memory does not change before that append is durable; then `CommitOffsets` applies it and
replies. A failed append leaves nothing behind, not even a group that was created for it.

This is the hot path of the product: one partition costs two tuples, two byte strings and the response.
Sources: KIP-211, KIP-447; Kafka's `OffsetMetadataManager.commitOffset` and `commitTransactionalOffset`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.consumer_group.incidents import record_refusal as record_consumer_refusal
from coordinator.core.consumer_group.offset_checks import check_commit, is_stale
from coordinator.core.context import PendingAppend
from coordinator.core.effects import Producer, Reply
from coordinator.core.group.checks import MAX_STRING_BYTES, check_offset_commit, fits
from coordinator.core.group.incidents import record_refusal
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import EMPTY
from coordinator.core.log_errors import client_error
from coordinator.core.offsets.store import NO_TIMESTAMP, CommittedOffset
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.offsets_records import encode_offset_value, encode_partition, offset_key_prefix

if TYPE_CHECKING:
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.registry import GroupRegistry
    from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

# topic, partition, error, the offset to commit if there is no error, and the topic's index in the request
Outcome = tuple[str, int, int, CommittedOffset | None, int]
# topic, the partition's part of the request, and the topic's index in the request
Accepted = tuple[str, Any, int]
REFUSED: Final = -1  # instead of the topic's index in the request
NO_PARTITION: Final = -(2**40)  # stands for a topic that does not exist and is named without partitions
MAX_TIMESTAMP_MS: Final = 2**63 - 1  # the expiry of an offset with a very long retention: never
_NONE: Final = ErrorCode.NONE  # a lookup in an enum is slow
_NONE_CODE: Final = int(_NONE)
_TOO_LARGE: Final = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
_STALE: Final = int(ErrorCode.STALE_MEMBER_EPOCH)
_UNKNOWN_PARTITION: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class CommitWithoutEpochs(NamedTuple):
    """An OffsetCommit of a version that cannot tell the epoch of a member of a KIP-848 group (before 9)."""

    request: OffsetCommitRequest


class ResponseTypes(NamedTuple):
    """The classes of a response with one error for each partition."""

    response: Callable[..., Any]
    topic: Callable[..., Any]
    partition: Callable[..., Any]


OFFSET_COMMIT: Final = ResponseTypes(OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition)
TXN_OFFSET_COMMIT: Final = ResponseTypes(
    TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
)


def build_response(response_types: ResponseTypes, outcomes: Sequence[Outcome], error: int = _NONE_CODE) -> Any:
    """Return a response with one entry for each topic of the request, even if it names a topic twice.

    If any partition is refused because it does not exist, there is one entry for each topic name, the refused ones
    first. `error` replaces all errors but that refusal.
    """
    if len(outcomes) == 1 and outcomes[0][1] != NO_PARTITION:  # most commits are of one partition
        name, index, own_error, _, _ = outcomes[0]
        if error != _NONE_CODE and own_error != _UNKNOWN_PARTITION:
            own_error = error
        partition = response_types.partition(partition_index=index, error_code=own_error)
        return response_types.response(topics=[response_types.topic(name=name, partitions=[partition])])
    topics: dict[str | int, Any] = {}
    merges = False
    for name, index, own_error, _, topic_index in outcomes:
        merges = merges or topic_index == REFUSED
        topic = topics.get(name if merges else topic_index)
        if topic is None:
            topic = topics[name if merges else topic_index] = response_types.topic(name=name, partitions=[])
        if error != _NONE_CODE and own_error != _UNKNOWN_PARTITION:
            own_error = error
        if index != NO_PARTITION:
            topic.partitions.append(response_types.partition(partition_index=index, error_code=own_error))
    return response_types.response(topics=list(topics.values()))


def split(topics: list[Any], exists: Callable[[str, int], bool] | None) -> tuple[list[Outcome], list[Accepted]]:
    """Return the partitions that are refused because they do not exist, and the entries that are left."""
    refused: list[Outcome] = []
    accepted: list[Accepted] = []
    for topic_index, topic in enumerate(topics):
        name = topic.name
        is_possible = exists is not None or fits(name)
        for partition in topic.partitions:
            if is_possible and (exists is None or exists(name, partition.partition_index)):
                accepted.append((name, partition, topic_index))
            else:
                refused.append((name, partition.partition_index, _UNKNOWN_PARTITION, None, REFUSED))
        if not topic.partitions and exists is not None and not exists(name, 0):
            refused.append((name, NO_PARTITION, _UNKNOWN_PARTITION, None, REFUSED))
    return refused, accepted


def refuse(refused: list[Outcome], accepted: list[Accepted], error: ErrorCode) -> list[Outcome]:
    """Return the outcomes of a commit of which nothing is accepted."""
    code = int(error)
    return refused + [(name, part.partition_index, code, None, topic_index) for name, part, topic_index in accepted]


def refused_commit(
    response_types: ResponseTypes, topics: list[Any], exists: Callable[[str, int], bool] | None, error: ErrorCode
) -> Any:
    """Return the answer to a commit of which nothing is accepted."""
    return build_response(response_types, refuse(*split(topics, exists), error))


def refuse_new(
    registry: GroupRegistry, group_id: str, refused: list[Outcome], accepted: list[Accepted], room: int
) -> tuple[list[Outcome], list[Accepted]]:
    """Refuse partitions for which the group has no offset yet, but for the first `room` of them: see max.offsets."""
    committed = registry.shard_of(group_id).offsets.of_group(group_id)
    new = [each for each in accepted if each[1].partition_index not in committed.get(each[0], ())]
    known = [each for each in accepted if each[1].partition_index in committed.get(each[0], ())]
    return refuse(refused, new[room:], ErrorCode.INVALID_COMMIT_OFFSET_SIZE), known + new[:room]


def is_too_large(metadata: str, max_metadata: int) -> bool:
    """Check the length as Java counts it (UTF-16 code units), and the bytes of UTF-8 that fit in a record."""
    length = len(metadata) if metadata.isascii() else len(metadata.encode("utf-16-le", "surrogatepass")) // 2
    return length > max_metadata or not fits(metadata)


def offset_records(
    group_id: str,
    accepted: list[Accepted],
    *,
    log_offset: int,
    wall_ms: int,
    expire_ms: int,
    max_metadata: int,
) -> tuple[list[Outcome], list[tuple[bytes, bytes]]]:
    """Return the outcome for each partition if the append succeeds, and the records to append from `log_offset` on."""
    outcomes: list[Outcome] = []
    records: list[tuple[bytes, bytes]] = []
    screened = min(max_metadata, MAX_STRING_BYTES // 2)  # metadata that is much shorter needs no exact check
    prefix_of: str | None = None
    prefix = b""  # common to the keys of that topic's partitions
    for name, partition, topic_index in accepted:
        metadata = partition.committed_metadata or ""
        if metadata and len(metadata) * 2 > screened and is_too_large(metadata, max_metadata):
            outcomes.append((name, partition.partition_index, _TOO_LARGE, None, topic_index))
            continue
        committed = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch if expire_ms == NO_TIMESTAMP else -1,  # a record holds only one of the two
            metadata,
            wall_ms,
            expire_ms,
            log_offset + len(records),
        )
        index = partition.partition_index
        value = encode_offset_value(committed)  # type: ignore[arg-type]  # it has the same fields
        if name != prefix_of:
            prefix_of, prefix = name, offset_key_prefix(group_id, name)
        records.append((prefix + encode_partition(index), value))
        outcomes.append((name, index, _NONE_CODE, committed, topic_index))
    return outcomes, records


class CommitOffsets(PendingAppend):
    """Pending append of committed offsets."""

    __slots__ = ("outcomes", "ticket")

    response_types: ResponseTypes = OFFSET_COMMIT

    def __init__(self, ticket: Ticket, outcomes: list[Outcome]) -> None:
        self.ticket: Ticket | None = ticket
        self.outcomes = outcomes

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            group.is_recorded = True
            self.apply(group)
        if self.ticket is not None:
            context.replies.append(Reply(self.ticket, build_response(self.response_types, self.outcomes)))

    def apply(self, group: AnyGroup) -> None:
        store = group.shard.offsets
        group_id = group.group_id
        for topic, partition, _, committed, _ in self.outcomes:
            if committed is not None:
                store.put(group_id, topic, partition, committed)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.abandoned(client_error(error), context)
        group = self.group
        if group is not None and group.is_simple and not group.is_recorded and not group.in_flight:
            group.shard.forget_any(group)  # it was created for this commit, and nothing of it remains

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        ticket, self.ticket = self.ticket, None
        if ticket is not None:
            context.reply(ticket, build_response(self.response_types, self.outcomes, int(error)))


class CommitPendingOffsets(CommitOffsets):
    """Pending append of a transaction's offsets. They stay invisible until its end marker."""

    __slots__ = ("producer_id",)

    response_types = TXN_OFFSET_COMMIT

    def __init__(self, ticket: Ticket, outcomes: list[Outcome], producer_id: int) -> None:
        super().__init__(ticket, outcomes)
        self.producer_id = producer_id

    def apply(self, group: AnyGroup) -> None:
        store = group.shard.offsets
        for topic, partition, _, committed, _ in self.outcomes:
            if committed is not None:
                store.put_pending(self.producer_id, group.group_id, topic, partition, committed)


def commit(
    registry: GroupRegistry,
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    exists: Callable[[str, int], bool] | None,
    ticket: Ticket,
    context: Context,
    topic_id_of: Callable[[str], bytes | None],
    *,
    knows_epochs: bool = True,
) -> None:
    """Handle OffsetCommit, or TxnOffsetCommit once its transaction is verified. `exists` None accepts any topic.

    A transactional commit has a `producer`. It is checked less strictly, does not restart the member's session timer,
    and stays pending until the transaction's end marker. `knows_epochs` False: a version of OffsetCommit without member
    epochs (before 9), which members of KIP-848 groups may not use. `topic_id_of` finds the partitions of such a member.
    """
    expire_ms = NO_TIMESTAMP
    if isinstance(request, OffsetCommitRequest):
        producer = None
        response_types = OFFSET_COMMIT
        generation = request.generation_id_or_member_epoch
        if request.retention_time_ms != -1:
            expire_ms = min(context.wall_ms + request.retention_time_ms, MAX_TIMESTAMP_MS)
    else:
        producer = Producer(request.producer_id, request.producer_epoch)
        response_types = TXN_OFFSET_COMMIT
        generation = request.generation_id
    refused, accepted = split(request.topics, exists)
    if not accepted:
        context.reply(ticket, build_response(response_types, refused))
        return
    group_id = request.group_id
    group = registry.groups.get(group_id)
    consumer_group = registry.consumer_groups.get(group_id) if group is None else None
    error = _NONE
    if producer is not None and group_id == "" and not registry.is_down:
        error = ErrorCode.INVALID_GROUP_ID
    elif producer is not None or group is None:
        error = registry.refusal(group_id)
    if error is _NONE:
        if consumer_group is not None:
            error = check_commit(
                consumer_group,
                request.member_id,
                request.group_instance_id,
                generation,
                is_transactional=producer is not None,
                knows_epochs=knows_epochs,
            )
            if error is not _NONE:
                member_id, instance_id = request.member_id, request.group_instance_id
                record_consumer_refusal(
                    consumer_group, ApiKey.OFFSET_COMMIT, error, ticket, member_id, instance_id, context, generation
                )
        elif group is None:
            if generation >= 0:
                error = ErrorCode.GROUP_ID_NOT_FOUND
        else:
            is_transactional = producer is not None
            member_id, instance_id = request.member_id, request.group_instance_id
            error = check_offset_commit(group, member_id, instance_id, generation, is_transactional)
            if error is not _NONE:
                record_refusal(group, ApiKey.OFFSET_COMMIT, error, ticket, member_id, instance_id, context, generation)
    if error is not _NONE:
        context.reply(ticket, build_response(response_types, refuse(refused, accepted, error)))
        return
    if producer is None and group is not None and group.state is not EMPTY:
        member = group.members[request.member_id]  # no other state than Stable and PreparingRebalance passes the check
        restart_session(group, member, member.session_timeout_ms, context)
    stale: list[Outcome] = []
    if consumer_group is not None and request.member_id in consumer_group.members:
        stale, accepted = _split_stale(consumer_group, request.member_id, generation, accepted, topic_id_of)
        if stale:
            error, member_id, instance_id = ErrorCode.STALE_MEMBER_EPOCH, request.member_id, request.group_instance_id
            record_consumer_refusal(
                consumer_group, ApiKey.OFFSET_COMMIT, error, ticket, member_id, instance_id, context, generation
            )
    room = context.config.max_offsets - registry.totals.offsets
    if room < len(accepted):
        over = len(accepted)
        refused, accepted = refuse_new(registry, group_id, refused, accepted, max(room, 0))
        context.counters.refused_offsets += over - len(accepted)
    outcomes, records = offset_records(
        group_id,
        accepted,
        log_offset=registry.shard_of(group_id).next_offset if group is None else group.shard.next_offset,
        wall_ms=context.wall_ms,
        expire_ms=expire_ms,
        max_metadata=context.config.offset_metadata_max_bytes,
    )
    outcomes = refused + stale + outcomes
    if stale:
        outcomes.sort(key=lambda outcome: outcome[4])
    if producer is None:
        then = CommitOffsets(ticket, outcomes)
    else:
        then = CommitPendingOffsets(ticket, outcomes, producer.producer_id)
    if records and group is None and consumer_group is None:
        group = registry.create(group_id, context)
        if group is None:
            then.abandoned(ErrorCode.COORDINATOR_NOT_AVAILABLE, context)
            return
    target: AnyGroup | None = group if consumer_group is None else consumer_group
    if not records or target is None:  # all metadata is too large: no group is created for that, unlike in Kafka
        context.reply(ticket, build_response(response_types, outcomes))
        return
    context.counters.offset_commits += len(records)
    context.append(target, tuple(records), then, producer)
    if producer is not None:
        target.shard.producers[producer.producer_id] = producer.producer_epoch


def _split_stale(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    accepted: list[Accepted],
    topic_id_of: Callable[[str], bytes | None],
) -> tuple[list[Outcome], list[Accepted]]:
    """Return the partitions that a member commits with an epoch from before it got them, and the others."""
    stale: list[Outcome] = []
    left: list[Accepted] = []
    for each in accepted:
        name, partition, topic_index = each
        if is_stale(group, member_id, epoch, topic_id_of(name), partition.partition_index):
            stale.append((name, partition.partition_index, _STALE, None, topic_index))
        else:
            left.append(each)
    if stale:  # as in Kafka, one such partition refuses all
        stale = [(name, part.partition_index, _STALE, None, topic_index) for name, part, topic_index in accepted]
        left = []
    return stale, left
