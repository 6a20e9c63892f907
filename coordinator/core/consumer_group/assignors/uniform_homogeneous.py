"""The uniform assignment of a group whose members all subscribe to the same topics.

Each member has a quota, equal within 1. Members with the most partitions come first, then those with the lowest member
id; the first ones have the extra partition. A member keeps what it has up to its quota and gives up its highest topics
and partitions. All free partitions then fill the other members, one after the other, in the same order. The order is
this program's choice: where Kafka has the order of a hash map, this one moves the fewest partitions. Source: Kafka's
`UniformHomogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.assignors.interface import AssignmentSteps, GroupSpec
from coordinator.core.consumer_group.assignors.ordering import sorted_in_steps
from coordinator.core.consumer_group.assignors.pace import MOST_AT_ONCE, Pace, pieces_of

_Piece = tuple[bytes, Sequence[int]]  # a topic and at most MOST_AT_ONCE of its partitions, ascending


def assign_homogeneous(spec: GroupSpec, pace: Pace) -> AssignmentSteps:
    """Compute the target assignment in steps, and return it."""
    return (yield from _Homogeneous(spec, pace).steps())


class _Homogeneous:
    """The state of one computation. Large parts of it are freed in steps as well."""

    __slots__ = ("kept", "order", "pace", "spec", "taken", "topic_ids", "unfilled")

    def __init__(self, spec: GroupSpec, pace: Pace) -> None:
        self.spec = spec
        self.pace = pace
        self.topic_ids: list[bytes] = []  # ascending
        self.taken: dict[bytes, bytearray] = {}  # for each partition of a topic: 1 if a member keeps it
        self.kept: dict[str, list[_Piece]] = {}  # member id -> its partitions, ascending
        self.order: list[tuple[str, int]] = []  # the members and how many partitions they have
        self.unfilled: list[tuple[str, int]] = []  # members and what their quotas leave

    def steps(self) -> AssignmentSteps:
        if not self.spec.members:
            return {}
        self.topic_ids = yield from sorted_in_steps(list(self.spec.topics), self.pace)
        for number, topic_id in enumerate(self.topic_ids, 1):
            self.taken[topic_id] = bytearray(self.spec.topics[topic_id])
            if number % MOST_AT_ONCE == 0 and self.pace.is_over(MOST_AT_ONCE):
                yield None
        yield from self._take_present_targets()
        yield from self._cut_to_quotas()
        free = yield from self._free_partitions()
        yield from self._fill(free)
        return (yield from self._result())

    def _take_present_targets(self) -> Generator[None, None, None]:
        """Take what each member has and may keep, and order the members."""
        by_count: dict[int, list[str]] = {}
        members = yield from sorted_in_steps(list(self.spec.members), self.pace)
        for member_id in members:
            target = self.spec.members[member_id].target
            kept: list[_Piece] = []
            count = 0
            topic_ids = yield from sorted_in_steps(list(target), self.pace)
            for topic_id in topic_ids:
                taken = self.taken.get(topic_id)
                if taken is None:
                    continue
                for piece in pieces_of(target[topic_id]):
                    mine = _take(taken, piece)
                    if mine:
                        kept.append((topic_id, mine))
                        count += len(mine)
                    if self.pace.is_over(2 + len(piece)):
                        yield None
            self.kept[member_id] = kept
            by_count.setdefault(count, []).append(member_id)
            if self.pace.is_over(2):
                yield None
        for count in sorted(by_count, reverse=True):
            for some in pieces_of(by_count[count]):
                self.order.extend([(member_id, count) for member_id in some])
                if self.pace.is_over(len(some)):
                    yield None

    def _cut_to_quotas(self) -> Generator[None, None, None]:
        each, extra = divmod(sum(self.spec.topics.values()), len(self.order))
        for number, (member_id, count) in enumerate(self.order):
            rest = each + (number < extra) - count
            if rest > 0:
                self.unfilled.append((member_id, rest))
            kept = self.kept[member_id]
            while rest < 0:
                topic_id, piece = kept.pop()
                left, given_up = piece[:rest], piece[rest:]
                if left:
                    kept.append((topic_id, left))
                taken = self.taken[topic_id]
                for partition in given_up:
                    taken[partition] = 0
                rest += len(given_up)
                if self.pace.is_over(1 + len(given_up)):
                    yield None
            if self.pace.is_over(1):
                yield None

    def _free_partitions(self) -> Generator[None, None, list[_Piece]]:
        """Return the partitions that no member keeps, by topic and number."""
        free: list[_Piece] = []
        for topic_id in self.topic_ids:
            taken = self.taken.pop(topic_id)
            for start in range(0, len(taken), MOST_AT_ONCE):
                end = min(start + MOST_AT_ONCE, len(taken))
                if taken.find(0, start, end) >= 0:
                    free.append((topic_id, [partition for partition in range(start, end) if not taken[partition]]))
                if self.pace.is_over(3 + (end - start) // 2):
                    yield None
        return free

    def _fill(self, free: list[_Piece]) -> Generator[None, None, None]:
        """Hand the free partitions to the unfilled members. The quotas add up to all partitions, so none is left."""
        number = offset = 0
        for member_id, rest in self.unfilled:
            kept = self.kept[member_id]
            while rest > 0:
                topic_id, piece = free[number]
                added = tuple(piece[offset : offset + rest])
                kept.append((topic_id, added))
                rest -= len(added)
                offset += len(added)
                if offset == len(piece):
                    free[number] = (topic_id, ())
                    number, offset = number + 1, 0
                if self.pace.is_over(2 + len(added) // 8):
                    yield None

    def _result(self) -> AssignmentSteps:
        """Return the result for all members. A target that stays is the object that it was, so it is in memory once."""
        result: dict[str, Assignment] = {}
        for member_id, _ in self.order:
            pieces = self.kept.pop(member_id)
            target = self.spec.members[member_id].target
            assignment = yield from self._joined(pieces)
            result[member_id] = target if assignment == target else assignment
            if self.pace.is_over(2):
                yield None
        return result

    def _joined(self, pieces: list[_Piece]) -> Generator[None, None, Assignment]:
        """Return an assignment of all pieces."""
        if not pieces:
            return NOTHING_ASSIGNED
        found: dict[bytes, list[Sequence[int]]] = {}
        for topic_id, piece in pieces:
            found.setdefault(topic_id, []).append(piece)
            if self.pace.is_over(1):
                yield None
        topic_ids = yield from sorted_in_steps(list(found), self.pace)
        joined: dict[bytes, tuple[int, ...]] = {}
        for topic_id in topic_ids:
            joined[topic_id] = partitions = _in_order(found[topic_id])
            if self.pace.is_over(2 + len(partitions) // 8):
                yield None
        return joined


def _take(taken: bytearray, partitions: Sequence[int]) -> Sequence[int]:
    """Mark partitions as taken. Return them without those that are taken already or do not exist."""
    mine = []
    for partition in partitions:
        if partition < len(taken) and not taken[partition]:
            taken[partition] = 1
            mine.append(partition)
    return partitions if len(mine) == len(partitions) else tuple(mine)


def _in_order(pieces: Sequence[Sequence[int]]) -> tuple[int, ...]:
    if len(pieces) == 1:
        return tuple(pieces[0])
    partitions: list[int] = []
    for piece in pieces:
        partitions.extend(piece)
    partitions.sort()  # they are two ascending runs: what the member keeps, and what it gets
    return tuple(partitions)
