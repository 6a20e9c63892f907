"""Inverses of the changes of a KIP-848 group: values that restore what was before.

Each change of `change.ConsumerGroupChange` leaves one. A failed append applies them, the newest first. `durable_view`
applies those of all appends in flight to a copy, which is the group as the log has it: a description shows that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ConsumerGroup, ResolvedRegex
    from coordinator.core.consumer_group.member import ConsumerMember

MEMBER: Final = 0
TARGET: Final = 1
EPOCH: Final = 2
ASSIGNMENT_EPOCH: Final = 3
REGEX: Final = 4
OLD_TOPICS: Final = 5
CREATION: Final = 6
DELETION: Final = 7
CLASSIC: Final = 8
FORGOTTEN: Final = 9
HOMOGENEOUS: Final = 10
DOWNGRADE: Final = 11


class Inverse(NamedTuple):
    """One value to be restored: that of `key` in `what`."""

    what: int
    key: str
    value: Any


def undo(group: ConsumerGroup, inverses: Sequence[Inverse]) -> None:
    """Restore the group as it was before the changes."""
    for what, key, value in reversed(inverses):
        if what == MEMBER:
            if value is None:
                group.remove(key)
                session = group.sessions.pop(key, None)
                if session is not None:
                    session.cancel()
            else:
                group.put(value)
        elif what == TARGET:
            if value is None:
                group.targets.pop(key, None)
            else:
                group.targets[key] = value
        elif what == EPOCH:
            group.epoch, group.metadata_hash = value
        elif what == ASSIGNMENT_EPOCH:
            group.assignment_epoch = value
        elif what == REGEX:
            group.put_regex(key, value)
        elif what == OLD_TOPICS:
            group.has_old_topics = value
        elif what == HOMOGENEOUS:
            group.was_homogeneous = value
        elif what == CREATION:
            group.shard.forget_consumer_group(group)
        elif what == CLASSIC:
            value.end_deletion()
        elif what == FORGOTTEN:
            group.shard.recall_consumer_group(group)
        elif what == DOWNGRADE:
            if not value.is_dead:  # else it was upgraded again, which is undone already
                group.shard.forget(value)
            elif (revived := group.shard.groups.get(group.group_id)) is not None:
                group.shard.forget(revived)
            group.shard.recall_consumer_group(group)
        else:
            group.is_deleted = False
    group.seen_topics_version = -1  # the comparison that this event made is void, too


class DurableView:
    """A group as the log has it."""

    __slots__ = ("assignment_epoch", "epoch", "is_recorded", "members", "regexes", "targets")

    def __init__(self, group: ConsumerGroup) -> None:
        self.epoch = group.epoch
        self.assignment_epoch = group.assignment_epoch
        self.members: dict[str, ConsumerMember] = dict(group.members)
        self.targets: dict[str, Assignment] = dict(group.targets)
        self.regexes: dict[str, ResolvedRegex] = dict(group.regexes)
        self.is_recorded = group.is_recorded

    def restore(self, inverse: Inverse) -> None:
        what, key, value = inverse
        if what == MEMBER:
            _restore(self.members, key, value)
        elif what == TARGET:
            _restore(self.targets, key, value)
        elif what == REGEX:
            _restore(self.regexes, key, value)
        elif what == EPOCH:
            self.epoch = value[0]
        elif what == ASSIGNMENT_EPOCH:
            self.assignment_epoch = value


def _restore(values: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
