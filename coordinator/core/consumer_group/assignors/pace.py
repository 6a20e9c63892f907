"""The pace of an assignor: when to let other events run, by a count of what was touched.

The core reads no clock, so a step is bounded by counting. An item is a member, a partition or a subscription. In a
large group it takes a fifth to a third of a microsecond, in a small one, which the processor has in its cache, a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from coordinator.core.consumer_group.assignors.interface import GroupSpec

_Item = TypeVar("_Item")

# These are not Final because tests change them: mypyc would compile them into the code.
ITEMS_PER_STEP = 3_000
ITEMS_PER_STEP_OF_SMALL_GROUP = 16_000
SMALL_GROUP: Final = 1_000  # members and partitions
MOST_AT_ONCE: Final = 1_000  # items that a loop handles before it asks whether the step is over


class Pace:
    """Counts the items of the present step."""

    __slots__ = ("_items", "_left")

    def __init__(self, spec: GroupSpec) -> None:
        self._items = ITEMS_PER_STEP_OF_SMALL_GROUP if _is_small(spec) else ITEMS_PER_STEP
        self._left = self._items

    def is_over(self, items: int) -> bool:
        """Count items. Return True if the step shall end here; the count then begins again."""
        self._left -= items
        if self._left > 0:
            return False
        self._left = self._items
        return True


def _is_small(spec: GroupSpec) -> bool:
    count = len(spec.members) + len(spec.topics)  # it is looked at first, because a sum over many topics takes long
    return count <= SMALL_GROUP and len(spec.members) + sum(spec.topics.values()) <= SMALL_GROUP


def pieces_of(partitions: Sequence[_Item]) -> Sequence[Sequence[_Item]]:
    """Return the partitions in pieces of at most MOST_AT_ONCE."""
    if len(partitions) <= MOST_AT_ONCE:
        return (partitions,)
    return [partitions[start : start + MOST_AT_ONCE] for start in range(0, len(partitions), MOST_AT_ONCE)]
