"""The owners of partitions in the newest generations of each group, for the ownership ribbon of the console.

It keeps at most `per_group` generations of a group and `max_bytes` of all groups together; beyond that the oldest
generations of the least active group go. An assignment that a member keeps from one generation to the next is one
object and counts once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final

from coordinator.core.events.owners import GenerationOwners, Holder

HOLDER_BYTES: Final = 150  # of one holder, beside its assignment
GENERATION_BYTES: Final = 300


class _Group:
    __slots__ = ("assignments", "generations", "sizes")

    def __init__(self) -> None:
        self.generations: deque[GenerationOwners] = deque()
        self.sizes: deque[int] = deque()  # bytes of each generation
        self.assignments: dict[str, bytes] = {}  # of the newest generation, by key


class OwnerHistory:
    """The newest generations of each group."""

    __slots__ = ("_groups", "_kept_bytes", "_max_bytes", "_per_group")

    def __init__(self, per_group: int, max_bytes: int) -> None:
        self._per_group = per_group
        self._max_bytes = max_bytes
        self._kept_bytes = 0
        self._groups: OrderedDict[str, _Group] = OrderedDict()  # the least active group first

    def __repr__(self) -> str:
        return f"<OwnerHistory {self._kept_bytes} bytes of {len(self._groups)} groups>"

    @property
    def keeps_any(self) -> bool:
        """False if it may not take any memory (group.owners.max.bytes=0)."""
        return self._max_bytes > 0

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        return self._kept_bytes

    def add(
        self,
        group_id: str,
        at_ms: int,
        generation: int,
        gave_up: list[tuple[int, str]],
        holders: Iterable[tuple[str, str, str, bytes]],
    ) -> None:
        """Note the owners since `at_ms`; a holder is its key, client id, host and assignment."""
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = _Group()
        else:
            self._groups.move_to_end(group_id)
        before, group.assignments = group.assignments, {}
        size = GENERATION_BYTES + HOLDER_BYTES * len(gave_up)
        kept = []
        for key, client_id, host, assignment in holders:
            former = before.get(key)
            if former == assignment:
                assignment = former
            else:
                size += len(assignment)
            size += HOLDER_BYTES
            group.assignments[key] = assignment
            kept.append(Holder(key, client_id, host, assignment))
        group.generations.append(GenerationOwners(at_ms, generation, gave_up, kept))
        group.sizes.append(size)
        self._kept_bytes += size
        if len(group.generations) > self._per_group:
            self._drop_oldest(group)
        while self._kept_bytes > self._max_bytes:
            least_active_id, least_active = next(iter(self._groups.items()))
            self._drop_oldest(least_active)
            if not least_active.generations:
                del self._groups[least_active_id]

    def of(self, group_id: str, most_holders: int) -> list[GenerationOwners]:
        """Return the newest generations of a group, oldest first, with at most so many holders in all of them."""
        group = self._groups.get(group_id)
        found: list[GenerationOwners] = []
        for each in reversed(group.generations if group is not None else ()):
            most_holders -= len(each.holders)
            if most_holders < 0:
                break
            found.append(each)
        found.reverse()
        return found

    def _drop_oldest(self, group: _Group) -> None:
        group.generations.popleft()
        self._kept_bytes -= group.sizes.popleft()
