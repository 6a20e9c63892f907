"""Committed offsets of one partition of the offsets log, in memory.

They change only by durable records: live, when the outcome of an append is known (`commit.py`, `deletion.py` and
`deleted_topics.py` beside this file), and at recovery, through the same methods. A live server and a restarted one
therefore hold the same offsets. Offsets of an open transaction are pending: kept by producer until its end marker, and
invisible until then.

Nested dicts, group -> topic -> partition, take less memory than tuple keys and are quick to walk for one group. Groups
of a snapshot stay packed as bytes (`packed_groups.py`) until a request needs them; `peek`, `packed_age` and `may_have`
read a group and leave it packed. Source: Kafka's `OffsetMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from coordinator.core.offsets import packed_groups
from coordinator.core.offsets.committed import NO_TIMESTAMP, CommittedOffset, GroupOffsets, TopicOffsets

if TYPE_CHECKING:
    from coordinator.core.totals import Totals

__all__ = ["NO_TIMESTAMP", "CommittedOffset", "GroupOffsets", "OffsetStore", "TopicOffsets"]

PACKED_AT_MOST: Final = (
    4096  # offsets of one group: a larger one is unpacked while it is loaded, when no request waits for it
)
FREED_AT_ONCE: Final = 1000
LOOKED_AT: Final = 10_000  # transactions, for one answer about a group: a millisecond
_NOTHING: Final[GroupOffsets] = {}


class OffsetStore:
    """Holds the offsets of the groups of one partition."""

    __slots__ = ("_blocks", "_committed", "_packed", "_pending", "_pending_counts", "_readings", "count", "totals")

    def __init__(self, totals: Totals | None = None) -> None:
        self.count = 0  # committed offsets of all groups
        self.totals = totals  # None: it is not installed
        self._committed: dict[str, GroupOffsets] = {}
        self._packed: dict[str, int] = {}  # packed group -> position of its block in `_blocks`
        self._blocks = b""
        # producer id -> group -> (topic, partition) -> offset
        self._pending: dict[int, dict[str, dict[tuple[str, int], CommittedOffset]]] = {}
        self._readings: dict[str, list[GroupOffsets]] = {}  # of groups that are read in steps
        # group -> (topic, partition) -> how many open transactions have an offset for it
        self._pending_counts: dict[str, dict[tuple[str, int], int]] = {}

    # -- committed -----------------------------------------------------------------------------------------------

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """Apply a commit that became durable."""
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._unpack(group_id)
            if topics is None:
                topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        if self._readings:
            self._keep_for_readers(group_id, topic, partitions)
        if partition not in partitions:
            self._count(1)
        partitions[partition] = committed

    def _count(self, change: int) -> None:
        self.count += change
        if self.totals is not None:
            self.totals.offsets += change

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self.of_group(group_id).get(topic, {}).get(partition)

    def of_group(self, group_id: str) -> GroupOffsets:
        """Return topic -> partition -> offset of one group, which the caller must not change. Unpacks the group."""
        found = self._committed.get(group_id)
        if found is None:
            found = self._unpack(group_id)
        return _NOTHING if found is None else found

    def is_long(self, group_id: str, size: int) -> bool:
        """Return True if a group has more offsets than `size`. A packed one has few, and stays packed."""
        topics = self._committed.get(group_id)
        return topics is not None and sum(map(len, topics.values())) > size

    def group_ids(self) -> list[str]:
        """List the groups that have committed offsets."""
        return [*self._committed, *self._packed]

    def has(self, group_id: str) -> bool:
        """Return True if a group has committed offsets."""
        return group_id in self._committed or group_id in self._packed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Apply a tombstone that became durable: drop the committed offset, and those of open transactions for it."""
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._unpack(group_id)
        if topics is not None:
            partitions = topics.get(topic)
            if self._readings and partitions is not None:
                self._keep_for_readers(group_id, topic, partitions)
            if partitions is not None and partitions.pop(partition, None) is not None:
                self._count(-1)
                if not partitions:
                    del topics[topic]
                    if not topics:
                        del self._committed[group_id]
        if self.is_pending(group_id, topic, partition):
            for producer_id in list(self._pending):
                self._drop_pending(producer_id, group_id, (topic, partition))

    # -- reading in steps ----------------------------------------------------------------------------------------

    def begin_reading(self, group_id: str) -> GroupOffsets:
        """Return the offsets of a group as they are now, which do not change until `end_reading`.

        A topic is copied when one of its offsets changes: copying a million offsets at once takes too long.
        """
        reading = self.of_group(group_id).copy()
        self._readings.setdefault(group_id, []).append(reading)
        return reading

    def end_reading(self, group_id: str, reading: GroupOffsets) -> None:
        """End what `begin_reading` began."""
        left = [each for each in self._readings.pop(group_id, ()) if each is not reading]
        if left:
            self._readings[group_id] = left

    def _keep_for_readers(self, group_id: str, topic: str, partitions: TopicOffsets) -> None:
        for reading in self._readings.get(group_id, ()):
            if reading.get(topic) is partitions:
                reading[topic] = partitions.copy()

    def free(self) -> Generator[None, None, None]:
        """Forget everything in steps: a million objects that are freed at once stop the process for half a second.

        A group that is read in steps is left to its reader.
        """
        freed = 0
        self._packed.clear()
        while self._committed:
            group_id, topics = self._committed.popitem()
            size = 0 if group_id in self._readings else sum(map(len, topics.values()))
            freed += size
            while size > FREED_AT_ONCE and topics:
                partitions = topics[next(iter(topics))]
                for _ in range(min(FREED_AT_ONCE, len(partitions))):
                    partitions.popitem()
                if not partitions:
                    del topics[next(iter(topics))]
                yield
            del topics
            if freed >= FREED_AT_ONCE:
                freed = 0
                yield

    # -- packed groups -------------------------------------------------------------------------------------------

    def adopt(self, blocks: bytes, positions: dict[str, int], count: int) -> None:
        """Take over packed groups, in a store that has none yet. `count` is the number of their offsets."""
        self._blocks, self._packed = blocks, positions
        self.count += count

    def _unpack(self, group_id: str) -> GroupOffsets | None:
        """Make objects of a packed group. None if there is none of this name."""
        position = self._packed.pop(group_id, None)
        if position is None:
            return None
        topics = self._committed[group_id] = packed_groups.decode_offsets(self._blocks, position)
        if not self._packed:
            self._blocks = b""
        return topics

    def packed_block(self, group_id: str) -> int:
        """Return the position of a packed group's block; -1 if the group is not packed."""
        return self._packed.get(group_id, -1)

    def peek(self, group_id: str) -> GroupOffsets:
        """Return the same as `of_group`, but leave a packed group packed."""
        position = self._packed.get(group_id)
        if position is None:
            return self._committed.get(group_id, _NOTHING)
        return packed_groups.decode_offsets(self._blocks, position)

    def packed_age(self, group_id: str) -> packed_groups.Age | None:
        """Return when the offsets of a packed group were committed; None if the group is not packed."""
        position = self._packed.get(group_id)
        return None if position is None else packed_groups.age_of(self._blocks, position)

    def may_have(self, group_id: str, topic: str) -> bool:
        """Return False if a group has no committed offsets of a topic. True may be wrong for a packed group."""
        position = self._packed.get(group_id)
        if position is None:
            return topic in self._committed.get(group_id, _NOTHING)
        return packed_groups.mentions(self._blocks, position, topic.encode())

    # -- pending -------------------------------------------------------------------------------------------------

    def put_pending(
        self, producer_id: int, group_id: str, topic: str, partition: int, committed: CommittedOffset
    ) -> None:
        """Apply a transactional commit that became durable. It stays pending until the transaction ends."""
        key = (topic, partition)
        pending = self._pending.setdefault(producer_id, {}).setdefault(group_id, {})
        if key not in pending:
            counts = self._pending_counts.setdefault(group_id, {})
            counts[key] = counts.get(key, 0) + 1
        pending[key] = committed

    def end_transaction(self, producer_id: int, *, commit: bool) -> list[str]:
        """Apply an end marker that became durable. Return the groups whose pending offsets it committed."""
        groups = self._pending.get(producer_id)
        if groups is None:
            return []
        touched = []
        for group_id, pending in list(groups.items()):
            for (topic, partition), committed in list(pending.items()):
                self._drop_pending(producer_id, group_id, (topic, partition))
                if commit:
                    present = self.get(group_id, topic, partition)
                    if present is None or present.log_offset < committed.log_offset:
                        self.put(group_id, topic, partition, committed)
            if commit:
                touched.append(group_id)
        return touched

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        counts = self._pending_counts.get(group_id)
        return counts is not None and (topic, partition) in counts

    def has_pending(self, group_id: str) -> bool:
        """Return True if an open transaction has offsets for this group."""
        return group_id in self._pending_counts

    def pending_of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Iterate over the (topic, partition) pairs for which open transactions have offsets."""
        return iter(list(self._pending_counts.get(group_id, ())))

    def pending_by_producer(self, group_id: str) -> Iterator[tuple[int, dict[tuple[str, int], CommittedOffset]]]:
        """Iterate over the producers whose open transactions have offsets for a group, and over these offsets.

        At most LOOKED_AT of all open transactions are looked at.
        """
        if group_id in self._pending_counts:
            for producer_id, groups in islice(self._pending.items(), LOOKED_AT):
                if group_id in groups:
                    yield producer_id, groups[group_id]

    def _drop_pending(self, producer_id: int, group_id: str, key: tuple[str, int]) -> None:
        groups = self._pending[producer_id]
        pending = groups.get(group_id)
        if pending is None or pending.pop(key, None) is None:
            return
        if not pending:
            del groups[group_id]
            if not groups:
                del self._pending[producer_id]
        counts = self._pending_counts[group_id]
        counts[key] -= 1
        if not counts[key]:
            del counts[key]
            if not counts:
                del self._pending_counts[group_id]

    def __repr__(self) -> str:
        groups, open_transactions = len(self._committed), len(self._pending)
        return f"<OffsetStore {self.count} offsets of {groups} groups, {open_transactions} open transactions>"
