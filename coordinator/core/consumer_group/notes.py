"""The note of one event in a KIP-848 group: what its append has changed, for the flight recorder.

A change that is appended leaves the inverses of all that it did, and a note is read off them: the members before and
after, and the epochs. A heartbeat that changes nothing appends nothing, so it has no note. The group's progress takes
the note when the append is durable; a failed append takes its note with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.states import EMPTY, STABLE_GROUP
from coordinator.core.consumer_group.undo import EPOCH, MEMBER
from coordinator.core.events.model import Cause, ChangeKind  # at run time: a compiled NamedTuple looks its types up

if TYPE_CHECKING:
    from coordinator.core.consumer_group.change import ConsumerGroupChange
    from coordinator.core.consumer_group.group import ConsumerGroup, ConsumerGroupState
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group


ENDED: Final = frozenset({EMPTY, STABLE_GROUP})


class MemberStep(NamedTuple):
    """A member before and after an event; None: it was no member."""

    before: ConsumerMember | None
    after: ConsumerMember | None

    @property
    def is_same_owner(self) -> bool:
        """True if the event did not touch the partitions of the member."""
        before, after = self.before, self.after
        return (
            before is not None
            and after is not None
            and before.assigned is after.assigned
            and before.pending is after.pending
        )


class Note(NamedTuple):
    """The facts of one event. States and numbers are those after it."""

    now_ms: int  # monotonic
    wall_ms: int
    steps: list[MemberStep]
    state: ConsumerGroupState
    members: int
    partitions: int  # that members have; -1: not counted, because no rebalance ends
    epoch: int
    former_epoch: int  # -1: it was not raised
    assignment_epoch: int
    assignor: str  # that has computed the target; empty: none has
    how: ChangeKind  # how members went, if any did
    cause: Cause | None  # of the new epoch, if the steps do not tell
    reasons: dict[str, str]  # by member id, as given by clients
    upgraded: Group | None  # the classic group in whose place the group came
    downgraded: Group | None  # the classic group that has taken its place


def note_of(change: ConsumerGroupChange, context: Context) -> Note:
    """Return the note of a change, whose records are about to be appended."""
    group = change.group
    befores: dict[str, ConsumerMember | None] = {}
    former_epoch = -1
    for what, key, value in change.inverses:
        if what == MEMBER:
            befores.setdefault(key, value)
        elif what == EPOCH:
            former_epoch = value[0]
    members = group.members
    steps = [MemberStep(before, members.get(member_id)) for member_id, before in befores.items()]
    count = len(members)
    if change.classic is not None:
        left = change.classic.members
        gone = [MemberStep(member, None) for member_id, member in members.items() if member_id not in left]
        steps += gone
        count -= len(gone)
    state = group.state
    return Note(
        context.now_ms,
        context.wall_ms,
        steps,
        state,
        count,
        partitions_of(group) if former_epoch >= 0 or state.value in ENDED else -1,
        group.epoch,
        former_epoch,
        group.assignment_epoch,
        change.assignor,
        change.how,
        change.cause,
        change.reasons,
        change.upgraded,
        change.classic,
    )


def partitions_of(group: ConsumerGroup) -> int:
    """Return the number of partitions that members have, those included that are still to be given up."""
    return sum(map(len, group.holders.values()))
