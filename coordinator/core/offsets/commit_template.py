"""Commits that repeat an earlier one: the same member and partitions, other offsets.

A consumer commits the partitions it owns again and again. The connection recognises, by its bytes, a request that
differs from an earlier one in nothing but the offsets, and asks the `CommitTemplate` of that one. The template keeps
what does not change from commit to commit: which partitions exist, their keys, and the response to a success.
What may have changed is checked each time by the rule for every commit (`check_offset_commit`). If the check fails, the
template declines and the request takes the usual path. Records, timers and failures are handled as in
`coordinator.core.offsets.commit`. See docs/decisions/0012-commits-by-their-bytes.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from coordinator.core.effects import Reply
from coordinator.core.group.checks import check_offset_commit
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import EMPTY
from coordinator.core.offsets.commit import CommitOffsets, is_too_large, split
from coordinator.core.offsets.store import NO_TIMESTAMP, CommittedOffset
from protocol.error_codes import ErrorCode
from protocol.offsets_records import encode_offset_key, encode_offset_value

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.offsets.commit import Outcome
    from coordinator.core.registry import GroupRegistry
    from protocol.messages.offset_commit import OffsetCommitRequest

NONE: Final = ErrorCode.NONE
_VERSION_BYTES: Final = 2  # at the start of a record's value; the committed offset follows, the commit time is last
_LONG_BYTES: Final = 8


class TemplatePartition:
    """One partition of a repeated commit, and its record without the offset and the time."""

    __slots__ = ("before", "between", "index", "key", "leader_epoch", "metadata", "pack", "topic", "topic_index")

    def __init__(
        self, group_id: str, topic: str, index: int, leader_epoch: int, metadata: str, topic_index: int
    ) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.topic_index = topic_index  # index of its topic in the request
        self.key = encode_offset_key(group_id, topic, index)
        value = encode_offset_value(CommittedOffset(0, leader_epoch, metadata, 0, NO_TIMESTAMP, 0))  # type: ignore[arg-type]
        self.before = value[:_VERSION_BYTES]
        self.between = value[_VERSION_BYTES + _LONG_BYTES : -_LONG_BYTES]
        self.pack = struct.Struct(f">{_VERSION_BYTES}sq{len(self.between)}sq").pack  # packs the whole value


class CommitTemplate:
    """The checked parts of an accepted commit.

    It holds until the generation changes, its member leaves the group, or any topic is deleted.
    """

    __slots__ = ("_generation", "_instance_id", "_member_id", "_registry", "_topics_gone", "group", "partitions")

    def __init__(
        self, registry: GroupRegistry, group: Group, request: OffsetCommitRequest, partitions: list[TemplatePartition]
    ) -> None:
        self._registry = registry
        self._topics_gone = registry.topics_gone
        self._member_id = request.member_id
        self._instance_id = request.group_instance_id
        self._generation = request.generation_id_or_member_epoch
        self.group = group
        self.partitions = partitions

    @classmethod
    def of(
        cls,
        registry: GroupRegistry,
        request: OffsetCommitRequest,
        exists: Callable[[str, int], bool] | None,
        max_metadata: int,
    ) -> CommitTemplate | None:
        """Return a template of this commit; None unless all of it would be accepted now."""
        group = registry.groups.get(request.group_id)
        if group is None or request.retention_time_ms != -1:
            return None
        refused, accepted = split(request.topics, exists)
        if refused or not accepted:
            return None
        partitions = []
        for name, partition, topic_index in accepted:
            metadata = partition.committed_metadata or ""
            if is_too_large(metadata, max_metadata):
                return None
            epoch = partition.committed_leader_epoch
            partitions.append(
                TemplatePartition(group.group_id, name, partition.partition_index, epoch, metadata, topic_index)
            )
        template = cls(registry, group, request, partitions)
        return template if template.holds() else None

    def holds(self) -> bool:
        """Return True if the commit would be accepted now as it was then."""
        return (
            self._registry.topics_gone == self._topics_gone
            and check_offset_commit(self.group, self._member_id, self._instance_id, self._generation, False) is NONE
        )

    def outcomes(self, error: int) -> list[Outcome]:
        """Return the same error for every partition."""
        return [(partition.topic, partition.index, error, None, partition.topic_index) for partition in self.partitions]

    def restart_session(self, context: Context) -> None:
        """Restart the session timer of the member that commits."""
        if self.group.state is not EMPTY:
            member = self.group.members[self._member_id]
            restart_session(self.group, member, member.session_timeout_ms, context)


class RepeatedCommit:
    """The request: a template that `holds`, the offsets to commit, and the response to send when they are durable.

    The core does not read `response`, which the connection has encoded, and `topic_ids`, which an error needs.
    """

    __slots__ = ("offsets", "response", "template", "topic_ids")

    def __init__(
        self, template: CommitTemplate, offsets: tuple[int, ...], response: bytes, topic_ids: Mapping[str, bytes]
    ) -> None:
        self.template = template
        self.offsets = offsets  # in the order of the template's partitions
        self.response = response
        self.topic_ids = topic_ids

    @property
    def group_id(self) -> str:
        return self.template.group.group_id


class CommitRepeatedOffsets(CommitOffsets):
    """Pending append of a repeated commit."""

    __slots__ = ("committed", "request")

    def __init__(self, ticket: Ticket, request: RepeatedCommit, committed: list[CommittedOffset]) -> None:
        # Without a call of the base class, which takes longer than all of this.
        self.ticket = ticket
        self.outcomes = []
        self.request = request
        self.committed = committed

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            group.is_recorded = True
            store = group.shard.offsets
            group_id = group.group_id
            for partition, committed in zip(self.request.template.partitions, self.committed, strict=True):
                store.put(group_id, partition.topic, partition.index, committed)
        if self.ticket is not None:
            context.replies.append(Reply(self.ticket, self.request.response))

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self.outcomes = self.request.template.outcomes(int(NONE))
        super().abandoned(error, context)


def commit_repeated(request: RepeatedCommit, ticket: Ticket, context: Context) -> None:
    """Handle an OffsetCommit that its template has checked."""
    template = request.template
    template.restart_session(context)
    group = template.group
    wall_ms = context.wall_ms
    log_offset = group.shard.next_offset
    records: list[tuple[bytes, bytes | None]] = []
    committed: list[CommittedOffset] = []
    for partition, offset in zip(template.partitions, request.offsets, strict=True):
        records.append((partition.key, partition.pack(partition.before, offset, partition.between, wall_ms)))
        committed.append(
            CommittedOffset(offset, partition.leader_epoch, partition.metadata, wall_ms, NO_TIMESTAMP, log_offset)
        )
        log_offset += 1
    context.counters.offset_commits += len(records)
    context.append(group, tuple(records), CommitRepeatedOffsets(ticket, request, committed))
