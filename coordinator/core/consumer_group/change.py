"""The change of a KIP-848 group by one event: memory now, the log as one batch, and the way back.

Methods change the group and add the record; the order of the calls is the order of the records, which is Kafka's.
`roll_back` undoes all of it when the event is refused. `append` hands the records to the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group import records
from coordinator.core.consumer_group.append import ConsumerGroupAppend
from coordinator.core.consumer_group.held_heartbeat import release_changed
from coordinator.core.consumer_group.notes import note_of
from coordinator.core.consumer_group.undo import (
    ASSIGNMENT_EPOCH,
    CLASSIC,
    CREATION,
    DOWNGRADE,
    EPOCH,
    HOMOGENEOUS,
    MEMBER,
    OLD_TOPICS,
    REGEX,
    TARGET,
    Inverse,
    undo,
)
from coordinator.core.events.model import ChangeKind
from protocol.group_records import RecordKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ConsumerGroup, ResolvedRegex
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.records import GroupRecord
    from coordinator.core.context import Context
    from coordinator.core.events.model import Cause
    from coordinator.core.group.group import Group


class ConsumerGroupChange:
    """The changes of one event in one group."""

    __slots__ = (
        "assignor",
        "cause",
        "classic",
        "group",
        "how",
        "inverses",
        "reasons",
        "records",
        "removed",
        "upgraded",
    )

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group
        self.records: list[GroupRecord] = []
        self.inverses: list[Inverse] = []
        self.removed: list[str] = []  # members
        self.classic: Group | None = None  # what the group has become
        # -- for the flight recorder --
        self.assignor = ""  # that has computed the target
        self.how = ChangeKind.LEFT  # how members go
        self.cause: Cause | None = None  # of a new epoch, if its members do not tell
        self.reasons: dict[str, str] = {}  # by member id, as given by the clients
        self.upgraded: Group | None = None  # in whose place the group comes, with its members

    # -- memory --------------------------------------------------------------------------------------------------

    def put(self, member: ConsumerMember) -> None:
        """Set the value of a member, in memory only."""
        former = self.group.put(member)
        self.inverses.append(Inverse(MEMBER, member.member_id, former))

    def begin_group(self, classic: Group | None) -> None:
        """Make a new group known, in the place of a classic one, whose tombstone is written and whose offsets stay."""
        shard = self.group.shard
        first = []
        if classic is not None:
            shard.forget(classic)
            shard.hand_over(classic, self.group)
            first.append(Inverse(CLASSIC, "", classic))
        shard.add_consumer_group(self.group)
        self.inverses[:0] = [*first, Inverse(CREATION, "", None)]  # undone last: first the creation

    def become_classic(self, classic: Group) -> None:
        """Put a classic group with the members in the place of the group (`GroupMetadataManager.convertToClassic`)."""
        group = self.group
        self.records += group.tombstones()
        group.shard.forget_consumer_group(group)
        self.inverses.append(Inverse(DOWNGRADE, "", classic))
        self.classic = classic
        group.shard.add(classic)
        group.shard.hand_over(group, classic)

    # -- memory and records --------------------------------------------------------------------------------------

    def write_member(self, member: ConsumerMember) -> None:
        self.write_members((member,))

    def write_members(self, members: Iterable[ConsumerMember]) -> None:
        self.records += [records.member_record(self.group.group_id, member) for member in members]
        self._note_subscriptions()

    def write_current(self, member: ConsumerMember) -> None:
        self.records.append(records.current_record(self.group.group_id, member))

    def set_epoch(self, epoch: int, metadata_hash: int) -> None:
        group = self.group
        self.inverses.append(Inverse(EPOCH, "", (group.epoch, group.metadata_hash)))
        group.epoch, group.metadata_hash = epoch, metadata_hash
        self.records.append(records.epoch_record(group.group_id, epoch, metadata_hash))

    def set_assignment_epoch(self, epoch: int, timestamp_ms: int) -> None:
        group = self.group
        self.inverses.append(Inverse(ASSIGNMENT_EPOCH, "", group.assignment_epoch))
        group.assignment_epoch = epoch
        self.records.append(records.target_epoch_record(group.group_id, epoch, timestamp_ms))

    def set_target(self, member_id: str, target: Assignment) -> None:
        group = self.group
        self.inverses.append(Inverse(TARGET, member_id, group.targets.get(member_id)))
        group.targets[member_id] = target
        self.records.append(records.target_record(group.group_id, member_id, target))

    def set_regex(self, regex: str, resolved: ResolvedRegex) -> None:
        group = self.group
        self.inverses.append(Inverse(REGEX, regex, group.put_regex(regex, resolved)))
        self.records.append(records.regex_record(group.group_id, regex, resolved))

    def drop_regex(self, regex: str) -> None:
        """Forget a regular expression that no member uses. Its tombstone is written even if it was not resolved."""
        group = self.group
        self.inverses.append(Inverse(REGEX, regex, group.put_regex(regex, None)))
        self.records.append(records.tombstone(RecordKind.CONSUMER_REGEX, group.group_id, regex))

    def drop_old_topics(self) -> None:
        """Write the tombstone of the topics that Kafka 4.0 has recorded, once."""
        group = self.group
        if group.has_old_topics:
            self.inverses.append(Inverse(OLD_TOPICS, "", True))
            group.has_old_topics = False
            self.records.append(records.tombstone(RecordKind.CONSUMER_TOPICS, group.group_id))

    def remove_member(self, member_id: str) -> ConsumerMember:
        """Remove a member, with the tombstones of its three records. Returns its value."""
        group = self.group
        former = group.remove(member_id)
        self.removed.append(member_id)
        self.inverses.append(Inverse(MEMBER, member_id, former))
        target = group.targets.pop(member_id, None)
        if target is not None:
            self.inverses.append(Inverse(TARGET, member_id, target))
        self._note_subscriptions()
        for kind in (RecordKind.CONSUMER_CURRENT, RecordKind.CONSUMER_TARGET, RecordKind.CONSUMER_MEMBER):
            self.records.append(records.tombstone(kind, group.group_id, member_id))
        return former

    def _note_subscriptions(self) -> None:
        """Note whether all members subscribe to the same topics, which Kafka looks at with each record of a member."""
        group = self.group
        self.inverses.append(Inverse(HOMOGENEOUS, "", group.was_homogeneous))
        group.was_homogeneous = group.is_homogeneous

    # -- the end -------------------------------------------------------------------------------------------------

    def roll_back(self) -> None:
        """Undo everything: the event is refused."""
        if self.inverses:
            undo(self.group, self.inverses)
        self.inverses, self.records = [], []

    def append(
        self, context: Context, on_failed: Callable[[Context], None] | None = None
    ) -> ConsumerGroupAppend | None:
        """Append the records. None if there are none."""
        if not self.records:
            return None
        group = self.group
        if group.held and not group.is_releasing:
            group.is_releasing = True
            context.timers.in_turns(release_changed(group, context), group.shard, context)
        note = note_of(self, context)
        records = tuple(self.records)
        append = ConsumerGroupAppend(group, records, self.inverses, self.removed, on_failed, self.classic, note)
        context.append(group, records, append)
        if context.too_large and context.too_large[-1] is append:
            append.undo()  # before the next event of this group; its answers follow at the end of this one
        else:
            group.last_append = append
        return append
