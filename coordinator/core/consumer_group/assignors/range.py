"""The assignor `range`: each topic is cut into contiguous ranges, one for each subscriber.

Static members come first, by instance id, then dynamic ones by member id, compared as UTF-16. The first members have
the extra partitions. Topics with equal numbers of partitions and equal subscribers are co-partitioned. The present
targets make no difference. Source: Kafka's `RangeAssignor`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.assignors.interface import AssignmentSteps, GroupSpec
from coordinator.core.consumer_group.assignors.ordering import sorted_in_steps
from coordinator.core.consumer_group.assignors.pace import MOST_AT_ONCE, Pace, pieces_of
from coordinator.core.consumer_group.assignors.subscribers import subscribers_of


class RangeAssignor:
    """Assigns ranges of each topic."""

    @property
    def name(self) -> str:
        return "range"

    @property
    def is_offloaded(self) -> bool:
        return False

    def steps(self, spec: GroupSpec) -> AssignmentSteps:
        """Compute the target assignment in steps, and return it."""
        pace = Pace(spec)
        members = yield from _ordered_members(spec, pace)
        subscribers = yield from subscribers_of(spec, members, pace)
        topic_ids = yield from sorted_in_steps(list(spec.topics), pace)
        shares: list[dict[bytes, tuple[int, ...]]] = []
        for start in range(0, len(members), MOST_AT_ONCE):
            shares.extend([{} for _ in members[start : start + MOST_AT_ONCE]])
            if pace.is_over(MOST_AT_ONCE):
                yield None
        known: dict[tuple[int, int], list[tuple[int, ...]]] = {}  # by numbers of partitions and of subscribers
        for topic_id in topic_ids:
            numbers = subscribers.pop(topic_id)
            shape = (spec.topics[topic_id], len(numbers))
            if shape not in known:
                known[shape] = yield from _ranges(*shape, pace)
            yield from _hand_out(topic_id, known[shape], numbers, shares, pace)
        while known:  # it is freed in steps
            _, ranges = known.popitem()
            if pace.is_over(1 + len(ranges) // 4):
                yield None
        return (yield from _result(spec, members, shares, pace))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _ordered_members(spec: GroupSpec, pace: Pace) -> Generator[None, None, list[str]]:
    static: dict[bytes, str] = {}  # member ids by what they are ordered by
    dynamic: dict[bytes, str] = {}
    for number, (member_id, member) in enumerate(spec.members.items(), 1):
        if member.instance_id is not None:
            static[_utf16(f"{member.instance_id}\0{member_id}")] = member_id
        else:
            dynamic[_utf16(member_id)] = member_id
        if number % MOST_AT_ONCE == 0 and pace.is_over(2 * MOST_AT_ONCE):
            yield None
    ordered: list[str] = []
    for by_key in (static, dynamic):
        keys = yield from sorted_in_steps(list(by_key), pace)
        for some in pieces_of(keys):
            ordered.extend([by_key[key] for key in some])
            if pace.is_over(len(some)):
                yield None
    return ordered


def _ranges(partitions: int, subscribers: int, pace: Pace) -> Generator[None, None, list[tuple[int, ...]]]:
    """Return the ranges of the subscribers in their order; those without a partition are left out."""
    if not subscribers:
        return []
    each, extra = divmod(partitions, subscribers)
    ranges: list[tuple[int, ...]] = []
    end = touched = 0
    for number in range(min(partitions, subscribers)):
        start, end = end, end + each + (number < extra)
        share: list[int] = []
        for begin in range(start, end, MOST_AT_ONCE):
            share.extend(range(begin, min(begin + MOST_AT_ONCE, end)))
            touched += min(MOST_AT_ONCE, end - begin) + 1
            if touched >= MOST_AT_ONCE:
                if pace.is_over(touched):
                    yield None
                touched = 0
        ranges.append(tuple(share))
    if pace.is_over(touched):
        yield None
    return ranges


def _hand_out(
    topic_id: bytes,
    ranges: Sequence[tuple[int, ...]],
    subscribers: Sequence[int],
    shares: Sequence[dict[bytes, tuple[int, ...]]],
    pace: Pace,
) -> Generator[None, None, None]:
    for start in range(0, len(ranges), MOST_AT_ONCE):
        some = ranges[start : start + MOST_AT_ONCE]
        for number, share in zip(subscribers[start : start + MOST_AT_ONCE], some, strict=False):
            shares[number][topic_id] = share
        if pace.is_over(2 * len(some)):
            yield None


def _result(
    spec: GroupSpec, members: Sequence[str], shares: list[dict[bytes, tuple[int, ...]]], pace: Pace
) -> AssignmentSteps:
    """Return the result for all members. A target that stays is the object that it was, so it is in memory once."""
    result: dict[str, Assignment] = {}
    for number, member_id in enumerate(members):
        share, target = shares[number], spec.members[member_id].target
        result[member_id] = (target if target == share else share) if share else NOTHING_ASSIGNED
        shares[number] = {}
        if pace.is_over(2 + len(share)):
            yield None
    return result
