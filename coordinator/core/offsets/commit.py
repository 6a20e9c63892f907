"""OffsetCommit and TxnOffsetCommit: from a request to records, and from durable records to committed offsets.

A commit is refused as a whole (who commits? check_offset_commit) or for single partitions (no such partition, metadata
too long); what is left becomes one append. Nothing changes in memory before that is durable; then `CommitOffsets`
applies it and answers. A failed append leaves nothing behind, not even a group that was made for it.

This is the hot path of the product: one partition costs two tuples, two byte strings and the answer.
Source: spec 7.2, 7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.context import PendingAppend, client_error
from coordinator.core.effects import Producer, Reply
from coordinator.core.group.checks import MAX_STRING_BYTES, check_offset_commit, check_txn_offset_commit, fits
from coordinator.core.group.group import Group
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import EMPTY
from coordinator.core.offsets.store import NO_TIMESTAMP, CommittedOffset
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
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
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.shard import Shard
    from protocol.messages.offset_commit import OffsetCommitRequest
    from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

# topic, partition, error, what is committed if there is no error, and which of the request's topics this is of
Outcome = tuple[str, int, int, CommittedOffset | None, int]
# a topic that the request names, the partition's part of the request, and which of the request's topics it is of
Accepted = tuple[str, Any, int]
REFUSED: Final = -1  # instead of the topic's place in the request
NO_PARTITION: Final = -(2**40)  # a topic that does not exist, and of which no partition is named either
MAX_TIMESTAMP_MS: Final = 2**63 - 1  # "keep it for ever", said as a very long retention
_NONE: Final = int(ErrorCode.NONE)
_TOO_LARGE: Final = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
_UNKNOWN_PARTITION: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class ResponseTypes(NamedTuple):
    """The classes of an answer with one error for each partition."""

    response: Callable[..., Any]
    topic: Callable[..., Any]
    partition: Callable[..., Any]


OFFSET_COMMIT: Final = ResponseTypes(OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition)
TXN_OFFSET_COMMIT: Final = ResponseTypes(
    TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
)


def answer(form: ResponseTypes, outcomes: Sequence[Outcome], error: int = _NONE) -> Any:
    """One entry for each topic of the request, even if it names one twice; but one for each name, the refused first, if
    anything is refused because it does not exist. `error` replaces all errors but that one."""
    if len(outcomes) == 1 and outcomes[0][1] != NO_PARTITION:  # most commits are of one partition
        name, index, own_error, _, _ = outcomes[0]
        if error != _NONE and own_error != _UNKNOWN_PARTITION:
            own_error = error
        partition = form.partition(partition_index=index, error_code=own_error)
        return form.response(topics=[form.topic(name=name, partitions=[partition])])
    topics: dict[str | int, Any] = {}
    merges = False
    for name, index, own_error, _, place in outcomes:
        merges = merges or place == REFUSED
        topic = topics.get(name if merges else place)
        if topic is None:
            topic = topics[name if merges else place] = form.topic(name=name, partitions=[])
        if error != _NONE and own_error != _UNKNOWN_PARTITION:
            own_error = error
        if index != NO_PARTITION:
            topic.partitions.append(form.partition(partition_index=index, error_code=own_error))
    return form.response(topics=list(topics.values()))


def split(topics: list[Any], exists: Callable[[str, int], bool] | None) -> tuple[list[Outcome], list[Accepted]]:
    """The partitions that are refused because they do not exist, and the entries that are left."""
    refused: list[Outcome] = []
    accepted: list[Accepted] = []
    for place, topic in enumerate(topics):
        name = topic.name
        is_possible = exists is not None or fits(name)
        for partition in topic.partitions:
            if is_possible and (exists is None or exists(name, partition.partition_index)):
                accepted.append((name, partition, place))
            else:
                refused.append((name, partition.partition_index, _UNKNOWN_PARTITION, None, REFUSED))
        if not topic.partitions and exists is not None and not exists(name, 0):
            refused.append((name, NO_PARTITION, _UNKNOWN_PARTITION, None, REFUSED))
    return refused, accepted


def refuse(refused: list[Outcome], accepted: list[Accepted], error: ErrorCode) -> list[Outcome]:
    """The outcomes of a commit of which nothing is accepted."""
    number = int(error)
    return refused + [(name, partition.partition_index, number, None, place) for name, partition, place in accepted]


def is_too_large(metadata: str, max_metadata: int) -> bool:
    """By its length as Java counts it (UTF-16), and by what a record has room for (bytes of UTF-8)."""
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
    """The outcome for each partition if the append succeeds, and the records to append from `log_offset` on."""
    outcomes: list[Outcome] = []
    records: list[tuple[bytes, bytes]] = []
    screened = min(max_metadata, MAX_STRING_BYTES // 2)  # shorter by far: need not be looked at
    prefix_of: str | None = None
    prefix = b""  # of the keys of that topic's partitions
    for name, partition, place in accepted:
        metadata = partition.committed_metadata or ""
        if metadata and len(metadata) * 2 > screened and is_too_large(metadata, max_metadata):
            outcomes.append((name, partition.partition_index, _TOO_LARGE, None, place))
            continue
        committed = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch if expire_ms == NO_TIMESTAMP else -1,  # a record has room for one of them
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
        outcomes.append((name, index, _NONE, committed, place))
    return outcomes, records


class CommitOffsets(PendingAppend):
    """Committed offsets on their way to the disk."""

    __slots__ = ("outcomes", "ticket")

    form: ResponseTypes = OFFSET_COMMIT

    def __init__(self, ticket: Ticket, outcomes: list[Outcome]) -> None:
        self.ticket: Ticket | None = ticket
        self.outcomes = outcomes

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            group.is_recorded = True
            self.apply(group)
        if self.ticket is not None:
            context.replies.append(Reply(self.ticket, answer(self.form, self.outcomes)))

    def apply(self, group: Group) -> None:
        store = group.shard.offsets
        group_id = group.group_id
        for topic, partition, _, committed, _ in self.outcomes:
            if committed is not None:
                store.put(group_id, topic, partition, committed)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.abandoned(client_error(error), context)
        group = self.group
        if group is not None and group.is_simple and not group.is_recorded and not group.in_flight:
            group.shard.forget(group)  # it was made for this commit, and nothing of it remains

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        ticket, self.ticket = self.ticket, None
        if ticket is not None:
            context.reply(ticket, answer(self.form, self.outcomes, int(error)))


class CommitPendingOffsets(CommitOffsets):
    """The same within a transaction: invisible until its marker."""

    __slots__ = ("producer_id",)

    form = TXN_OFFSET_COMMIT

    def __init__(self, ticket: Ticket, outcomes: list[Outcome], producer_id: int) -> None:
        super().__init__(ticket, outcomes)
        self.producer_id = producer_id

    def apply(self, group: Group) -> None:
        store = group.shard.offsets
        for topic, partition, _, committed, _ in self.outcomes:
            if committed is not None:
                store.put_pending(self.producer_id, group.group_id, topic, partition, committed)


def commit(
    registry: GroupRegistry,
    request: OffsetCommitRequest,
    exists: Callable[[str, int], bool] | None,
    ticket: Ticket,
    context: Context,
) -> None:
    """OffsetCommit. `exists` knows the topics; None takes any. A member's commit is a sign of life."""
    refused, accepted = split(request.topics, exists)
    if not accepted:
        context.reply(ticket, answer(OFFSET_COMMIT, refused))
        return
    group_id = request.group_id
    group = registry.groups.get(group_id)
    generation = request.generation_id_or_member_epoch
    if group is not None:
        error = check_offset_commit(group, request.member_id, request.group_instance_id, generation)
    else:
        error = registry.refusal(group_id)
        if error is ErrorCode.NONE and generation >= 0:
            error = ErrorCode.GROUP_ID_NOT_FOUND
    if error is not ErrorCode.NONE:
        context.reply(ticket, answer(OFFSET_COMMIT, refuse(refused, accepted, error)))
        return
    if group is not None and group.state is not EMPTY:  # Stable or preparing: nothing else passes the check
        member = group.members[request.member_id]
        restart_session(group, member, member.session_timeout_ms, context)
    retention_ms = request.retention_time_ms
    outcomes, records = offset_records(
        group_id,
        accepted,
        log_offset=registry.shard_of(group_id).next_offset if group is None else group.shard.next_offset,
        wall_ms=context.wall_ms,
        expire_ms=NO_TIMESTAMP if retention_ms == -1 else min(context.wall_ms + retention_ms, MAX_TIMESTAMP_MS),
        max_metadata=context.config.offset_metadata_max_bytes,
    )
    _append(registry, group_id, group, records, CommitOffsets(ticket, refused + outcomes), context)


def commit_pending(
    registry: GroupRegistry,
    request: TxnOffsetCommitRequest,
    exists: Callable[[str, int], bool] | None,
    ticket: Ticket,
    context: Context,
) -> None:
    """TxnOffsetCommit, once the producer and its transaction have been verified. Not a sign of life of anybody."""
    refused, accepted = split(request.topics, exists)
    if not accepted:
        context.reply(ticket, answer(TXN_OFFSET_COMMIT, refused))
        return
    group_id = request.group_id
    group = registry.groups.get(group_id)
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE if registry.is_down else ErrorCode.NONE
    if error is ErrorCode.NONE and group_id == "":
        error = ErrorCode.INVALID_GROUP_ID
    if error is ErrorCode.NONE:
        error = registry.refusal(group_id)
    if error is ErrorCode.NONE:
        if group is not None:
            error = check_txn_offset_commit(group, request.member_id, request.group_instance_id, request.generation_id)
        elif request.generation_id >= 0:
            error = ErrorCode.ILLEGAL_GENERATION
    if error is not ErrorCode.NONE:
        context.reply(ticket, answer(TXN_OFFSET_COMMIT, refuse(refused, accepted, error)))
        return
    outcomes, records = offset_records(
        group_id,
        accepted,
        log_offset=registry.shard_of(group_id).next_offset,
        wall_ms=context.wall_ms,
        expire_ms=NO_TIMESTAMP,
        max_metadata=context.config.offset_metadata_max_bytes,
    )
    then = CommitPendingOffsets(ticket, refused + outcomes, request.producer_id)
    producer = Producer(request.producer_id, request.producer_epoch)
    _append(registry, group_id, group, records, then, context, producer)


def _append(
    registry: GroupRegistry,
    group_id: str,
    group: Group | None,
    records: list[tuple[bytes, bytes]],
    then: CommitOffsets,
    context: Context,
    producer: Producer | None = None,
) -> None:
    """Hand the records over; a group that does not exist yet is made for them, but not for nothing."""
    if records and group is None:
        group = registry.create(group_id, context)
        if group is None:
            then.abandoned(ErrorCode.COORDINATOR_NOT_AVAILABLE, context)
            return
    if not records or group is None:
        ticket, then.ticket = then.ticket, None
        if ticket is not None:
            context.reply(ticket, answer(then.form, then.outcomes))
        return
    context.counters.offset_commits += len(records)
    context.append(group, tuple(records), then, producer)


class EndTransaction(PendingAppend):
    """The marker that ends a transaction is on its way to one partition."""

    __slots__ = ("is_commit", "producer_id", "shard")

    def __init__(self, shard: Shard, producer_id: int, *, is_commit: bool) -> None:
        self.group = None  # it belongs to no single one
        self.shard = shard
        self.producer_id = producer_id
        self.is_commit = is_commit

    def durable(self, context: Context) -> None:
        for group_id in self.shard.offsets.end_transaction(self.producer_id, commit=self.is_commit):
            if group_id not in self.shard.groups:
                # Its group was deleted while the transaction was open: the offsets need one to be found and to expire.
                group = Group(group_id, self.shard, context.wall_ms)
                group.is_recorded = True
                self.shard.add(group)
