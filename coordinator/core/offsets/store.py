"""Committed offsets of one partition of the offsets log, in memory.

They change only by records that are durable: live, when an append's outcome is known
(`coordinator.core.offsets.commit`, `coordinator.core.offsets.deletion`), and at recovery, through the same methods. So
a live server and a restarted one cannot disagree. Offsets of an open transaction are pending: kept by producer until
its marker, invisible until then.

Nested dicts, group -> topic -> partition: smaller than tuple keys and quick to walk for one group. What comes from a
snapshot stays there as bytes (`packed_groups.py`) until somebody asks for the group; a caller that only looks says so
(`peek`, `age`, `may_have`), and the group stays cold.
Sources: spec 7.6, 12.4, 12.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from coordinator.core.offsets import packed_groups
from coordinator.core.offsets.committed import NO_TIMESTAMP, CommittedOffset, GroupOffsets, TopicOffsets

__all__ = ["NO_TIMESTAMP", "CommittedOffset", "GroupOffsets", "OffsetStore", "TopicOffsets"]

PACKED_AT_MOST: Final = 4096  # offsets of one group: more of them are made objects while nobody waits
_NOTHING: Final[GroupOffsets] = {}


class OffsetStore:
    """The offsets of the groups of one partition."""

    __slots__ = ("_blocks", "_cold", "_committed", "_pending", "_pending_counts", "count")

    def __init__(self) -> None:
        self.count = 0  # committed offsets of all groups
        self._committed: dict[str, GroupOffsets] = {}
        self._cold: dict[str, int] = {}  # groups that are still bytes: where their block is
        self._blocks = b""
        # producer id -> group -> (topic, partition) -> offset
        self._pending: dict[int, dict[str, dict[tuple[str, int], CommittedOffset]]] = {}
        # group -> (topic, partition) -> how many open transactions have an offset for it
        self._pending_counts: dict[str, dict[tuple[str, int], int]] = {}

    # -- committed -----------------------------------------------------------------------------------------------

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """A commit became durable."""
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._wake(group_id)
            if topics is None:
                topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        if partition not in partitions:
            self.count += 1
        partitions[partition] = committed

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self.of_group(group_id).get(topic, {}).get(partition)

    def of_group(self, group_id: str) -> GroupOffsets:
        """Topic -> partition -> offset of one group; not to be changed by the caller."""
        found = self._committed.get(group_id)
        if found is None:
            found = self._wake(group_id)
        return _NOTHING if found is None else found

    def group_ids(self) -> list[str]:
        """The groups that have committed offsets, as of now."""
        return [*self._committed, *self._cold]

    def has(self, group_id: str) -> bool:
        """Whether a group has committed offsets."""
        return group_id in self._committed or group_id in self._cold

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """A tombstone became durable: the committed offset is gone, and so is what open transactions have for it."""
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._wake(group_id)
        if topics is not None:
            partitions = topics.get(topic)
            if partitions is not None and partitions.pop(partition, None) is not None:
                self.count -= 1
                if not partitions:
                    del topics[topic]
                    if not topics:
                        del self._committed[group_id]
        if self.is_pending(group_id, topic, partition):
            for producer_id in list(self._pending):
                self._drop_pending(producer_id, group_id, (topic, partition))

    # -- cold ----------------------------------------------------------------------------------------------------

    def adopt(self, blocks: bytes, positions: dict[str, int], count: int) -> None:
        """The groups of a snapshot, cold; into a store that has none yet. `count` is how many offsets they have."""
        self._blocks, self._cold = blocks, positions
        self.count += count

    def _wake(self, group_id: str) -> GroupOffsets | None:
        """Somebody asks for a group: it becomes objects. None if it has nothing here."""
        position = self._cold.pop(group_id, None)
        if position is None:
            return None
        topics = self._committed[group_id] = packed_groups.decode_offsets(self._blocks, position)
        if not self._cold:
            self._blocks = b""
        return topics

    @property
    def packed_count(self) -> int:
        """How many groups are still bytes."""
        return len(self._cold)

    def cold_block(self, group_id: str) -> int:
        """Where the block of a cold group begins; -1 if it is not cold."""
        return self._cold.get(group_id, -1)

    def peek(self, group_id: str) -> GroupOffsets:
        """As `of_group`, but a cold group stays cold."""
        position = self._cold.get(group_id)
        if position is None:
            return self._committed.get(group_id, _NOTHING)
        return packed_groups.decode_offsets(self._blocks, position)

    def age(self, group_id: str) -> packed_groups.Age | None:
        """When the offsets of a cold group were committed; None: it is not cold."""
        position = self._cold.get(group_id)
        return None if position is None else packed_groups.age_of(self._blocks, position)

    def may_have(self, group_id: str, topic: str) -> bool:
        """Whether a group has committed offsets of a topic. Of a cold one: unless it certainly has none."""
        position = self._cold.get(group_id)
        if position is None:
            return topic in self._committed.get(group_id, _NOTHING)
        return packed_groups.mentions(self._blocks, position, topic.encode())

    # -- pending -------------------------------------------------------------------------------------------------

    def put_pending(
        self, producer_id: int, group_id: str, topic: str, partition: int, committed: CommittedOffset
    ) -> None:
        """A transactional commit became durable; it waits for the transaction's end."""
        key = (topic, partition)
        pending = self._pending.setdefault(producer_id, {}).setdefault(group_id, {})
        if key not in pending:
            counts = self._pending_counts.setdefault(group_id, {})
            counts[key] = counts.get(key, 0) + 1
        pending[key] = committed

    def end_transaction(self, producer_id: int, *, commit: bool) -> list[str]:
        """A marker became durable. Returns the groups that have offsets from it now."""
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
        """Whether an open transaction has offsets for this group."""
        return group_id in self._pending_counts

    def pending_of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """The (topic, partition) pairs for which open transactions have offsets."""
        return iter(list(self._pending_counts.get(group_id, ())))

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
