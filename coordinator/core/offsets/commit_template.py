"""A commit like the one before: the same member, the same partitions, other offsets.

A consumer commits the partitions it owns again and again. Whoever knows that a request differs from an earlier one in
nothing but the offsets (the connection, by its bytes) asks the `CommitTemplate` of that one: it keeps what a commit
would find out anew each time, which partitions exist, what their keys are, and what the answer says when all is well.
What may have changed since is looked at each time, by the rule that every commit obeys (`check_offset_commit`); in
doubt the memo declines, and the request takes the usual way. Records, timers and the handling of failures are those of
`coordinator.core.offsets.commit`. Decision 12.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
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
_VERSION_BYTES: Final = 2  # of a record's value: then comes the committed offset, and last the time of the commit
_LONG_BYTES: Final = 8


class TemplatePartition:
    """One partition of such a commit, and its record but for the offset and the time."""

    __slots__ = ("before", "between", "index", "key", "leader_epoch", "metadata", "pack", "topic", "topic_index")

    def __init__(
        self, group_id: str, topic: str, index: int, leader_epoch: int, metadata: str, topic_index: int
    ) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.topic_index = topic_index  # the how manieth of the request's topics it is of
        self.key = encode_offset_key(group_id, topic, index)
        value = encode_offset_value(CommittedOffset(0, leader_epoch, metadata, 0, NO_TIMESTAMP, 0))  # type: ignore[arg-type]
        self.before = value[:_VERSION_BYTES]
        self.between = value[_VERSION_BYTES + _LONG_BYTES : -_LONG_BYTES]
        self.pack = struct.Struct(f">{_VERSION_BYTES}sq{len(self.between)}sq").pack  # all of the value


class CommitTemplate:
    """What a commit has found out. Dies with its generation, its member's place in the group, and with any topic."""

    __slots__ = ("_generation", "_instance_id", "_member_id", "_registry", "_topics_gone", "group", "places")

    def __init__(
        self, registry: GroupRegistry, group: Group, request: OffsetCommitRequest, places: list[TemplatePartition]
    ) -> None:
        self._registry = registry
        self._topics_gone = registry.topics_gone
        self._member_id = request.member_id
        self._instance_id = request.group_instance_id
        self._generation = request.generation_id_or_member_epoch
        self.group = group
        self.places = places

    @classmethod
    def of(
        cls,
        registry: GroupRegistry,
        request: OffsetCommitRequest,
        exists: Callable[[str, int], bool] | None,
        max_metadata: int,
    ) -> CommitTemplate | None:
        """A memo of this commit, if all of it would be accepted now."""
        group = registry.groups.get(request.group_id)
        if group is None or request.retention_time_ms != -1:
            return None
        refused, accepted = split(request.topics, exists)
        if refused or not accepted:
            return None
        places = []
        for name, partition, topic_index in accepted:
            metadata = partition.committed_metadata or ""
            if is_too_large(metadata, max_metadata):
                return None
            epoch = partition.committed_leader_epoch
            places.append(
                TemplatePartition(group.group_id, name, partition.partition_index, epoch, metadata, topic_index)
            )
        template = cls(registry, group, request, places)
        return template if template.holds() else None

    def holds(self) -> bool:
        """Whether the commit would be accepted now as it was then."""
        return (
            self._registry.topics_gone == self._topics_gone
            and check_offset_commit(self.group, self._member_id, self._instance_id, self._generation) is NONE
        )

    def outcomes(self, error: int) -> list[Outcome]:
        """The same error for every partition."""
        return [(partition.topic, partition.index, error, None, partition.topic_index) for partition in self.places]

    def restart_session(self, context: Context) -> None:
        """A member's commit is a sign of life."""
        if self.group.state is not EMPTY:
            member = self.group.members[self._member_id]
            restart_session(self.group, member, member.session_timeout_ms, context)


class RepeatedCommit:
    """The request: to a memo that `holds`, what is committed now, and what to answer when that is durable."""

    __slots__ = ("answer", "offsets", "template")

    def __init__(self, template: CommitTemplate, offsets: tuple[int, ...], answer: bytes) -> None:
        self.template = template
        self.offsets = offsets  # in the order of the memo's places
        self.answer = answer  # of no concern to the core

    @property
    def group_id(self) -> str:
        return self.template.group.group_id


class CommitRepeatedOffsets(CommitOffsets):
    """Its offsets on their way to the disk."""

    __slots__ = ("committed", "request")

    def __init__(self, ticket: Ticket, request: RepeatedCommit, committed: list[CommittedOffset]) -> None:
        super().__init__(ticket, [])
        self.request = request
        self.committed = committed

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            group.is_recorded = True
            store = group.shard.offsets
            group_id = group.group_id
            for partition, committed in zip(self.request.template.places, self.committed, strict=True):
                store.put(group_id, partition.topic, partition.index, committed)
        if self.ticket is not None:
            context.replies.append(Reply(self.ticket, self.request.answer))

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self.outcomes = self.request.template.outcomes(int(NONE))
        super().abandoned(error, context)


def commit_repeated(request: RepeatedCommit, ticket: Ticket, context: Context) -> None:
    """OffsetCommit, the short way."""
    template = request.template
    template.restart_session(context)
    group = template.group
    wall_ms = context.wall_ms
    log_offset = group.shard.next_offset
    records: list[tuple[bytes, bytes | None]] = []
    committed: list[CommittedOffset] = []
    for partition, offset in zip(template.places, request.offsets, strict=True):
        records.append((partition.key, partition.pack(partition.before, offset, partition.between, wall_ms)))
        committed.append(
            CommittedOffset(offset, partition.leader_epoch, partition.metadata, wall_ms, NO_TIMESTAMP, log_offset)
        )
        log_offset += 1
    context.counters.offset_commits += len(records)
    context.append(group, tuple(records), CommitRepeatedOffsets(ticket, request, committed))
