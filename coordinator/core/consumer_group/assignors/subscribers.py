"""The subscribers of each topic."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from coordinator.core.consumer_group.assignors.interface import GroupSpec
from coordinator.core.consumer_group.assignors.pace import MOST_AT_ONCE, Pace


def subscribers_of(
    spec: GroupSpec, members: Sequence[str], pace: Pace
) -> Generator[None, None, dict[bytes, Sequence[int]]]:
    """Return for each topic the numbers of its subscribers, ascending; a number is a place in `members`.

    The topics of a homogeneous group share one sequence, which has all members.
    """
    if spec.is_homogeneous:
        everyone = range(len(members))
        return dict.fromkeys(spec.topics, everyone)
    numbers: dict[bytes, list[int]] = {}
    for topic_id in spec.topics:
        numbers[topic_id] = []
        if len(numbers) % MOST_AT_ONCE == 0 and pace.is_over(MOST_AT_ONCE):
            yield None
    touched = 0
    for number, member_id in enumerate(members):
        touched += 1
        for topic_id in spec.members[member_id].topic_ids:
            numbers[topic_id].append(number)
            touched += 1
            if touched >= MOST_AT_ONCE:
                if pace.is_over(touched):
                    yield None
                touched = 0
    if pace.is_over(touched):
        yield None
    return dict(numbers)
