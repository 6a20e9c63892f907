"""Committed offsets by group: the last one of each partition, and when it was committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

TopicPartition: TypeAlias = tuple[str, int]
Committed: TypeAlias = tuple[int, int]  # offset, and milliseconds since the epoch

DELETED: Final = -1
NONE: Final[Mapping[TopicPartition, Committed]] = MappingProxyType({})


class LastCommit(NamedTuple):
    """When some partitions were committed last until a moment; -1: never."""

    at_ms: int
    is_exact: bool  # False: a partition was committed later, so that its last commit until then is not known any more


class CommittedOffsets:
    """The last commit of each partition of each group."""

    __slots__ = ("_groups", "_last_ms", "kept")

    def __init__(self) -> None:
        self._groups: dict[str, dict[TopicPartition, Committed]] = {}
        self._last_ms: dict[str, int] = {}
        self.kept = 0  # offsets, of all groups

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def groups(self) -> Iterable[str]:
        return self._groups.keys()

    def add(
        self,
        groups: Sequence[str],
        topics: Sequence[str],
        partitions: Sequence[int],
        offsets: Sequence[int],
        at_ms: Sequence[int],
    ) -> None:
        """Apply commits in the order of the log; the sequences are equally long. DELETED removes an offset."""
        of_group: dict[TopicPartition, Committed] = {}
        current: str | None = None
        count = last_ms = 0
        for group, topic, partition, offset, moment in zip(groups, topics, partitions, offsets, at_ms, strict=True):
            if group != current:
                if current is not None:
                    self._leave(current, of_group, count, last_ms)
                current = group
                found = self._groups.get(group)
                of_group = found if found is not None else self._groups.setdefault(group, {})
                count = len(of_group)
            last_ms = moment
            if offset == DELETED:
                of_group.pop((topic, partition), None)
            else:
                of_group[topic, partition] = (offset, moment)
        if current is not None:
            self._leave(current, of_group, count, last_ms)

    def _leave(self, group: str, of_group: dict[TopicPartition, Committed], before: int, last_ms: int) -> None:
        self.kept += len(of_group) - before
        if of_group:
            self._last_ms[group] = last_ms
        else:
            del self._groups[group]
            self._last_ms.pop(group, None)

    def of(self, group: str) -> Mapping[TopicPartition, Committed]:
        """Return the offsets of a group. The caller must not change them."""
        return self._groups.get(group, NONE)

    def last_ms(self, group: str) -> int:
        """Return when the group committed last; -1: it has no offsets."""
        return self._last_ms.get(group, -1)

    def last_of(self, group: str, partitions: Mapping[str, Iterable[int]], until_ms: int) -> LastCommit:
        """Return the last commit of some partitions until a moment."""
        of_group = self._groups.get(group)
        if not of_group:
            return LastCommit(-1, True)
        found = (of_group.get((topic, number)) for topic, numbers in partitions.items() for number in numbers)
        moments = [each[1] for each in found if each is not None]
        return LastCommit(
            max((moment for moment in moments if moment <= until_ms), default=-1),
            all(moment <= until_ms for moment in moments),
        )

    def forget(self, group: str) -> None:
        """Forget the offsets of a group."""
        self.kept -= len(self._groups.pop(group, ()))
        self._last_ms.pop(group, None)
