"""Committed offsets of one partition of the offsets log, in memory.

They change only by records that are durable: live, when an append's outcome is known (`coordinator.offsets.commit`,
`coordinator.offsets.deletion`), and at recovery, through the same methods. So a live server and a restarted one cannot
disagree. Offsets of an open transaction are pending: kept by producer until its marker, invisible until then.

Nested dicts, group -> topic -> partition: smaller than tuple keys and quick to walk for one group.
Sources: spec 7.6, 12.4, 12.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

NO_TIMESTAMP: Final = -1


class CommittedOffset(NamedTuple):
    """What is known of one committed offset. -1 stands for an absent leader epoch or expiry."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    log_offset: int  # where its record stands: of two commits the newer record wins, not the newer marker


TopicOffsets = dict[int, CommittedOffset]
GroupOffsets = dict[str, TopicOffsets]
_NOTHING: Final[GroupOffsets] = {}


class OffsetStore:
    """The offsets of the groups of one partition."""

    __slots__ = ("_committed", "_pending", "_pending_counts", "count")

    def __init__(self) -> None:
        self.count = 0  # committed offsets of all groups
        self._committed: dict[str, GroupOffsets] = {}
        # producer id -> group -> (topic, partition) -> offset
        self._pending: dict[int, dict[str, dict[tuple[str, int], CommittedOffset]]] = {}
        # group -> (topic, partition) -> how many open transactions have an offset for it
        self._pending_counts: dict[str, dict[tuple[str, int], int]] = {}

    # -- committed -----------------------------------------------------------------------------------------------

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """A commit became durable."""
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        if partition not in partitions:
            self.count += 1
        partitions[partition] = committed

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._committed.get(group_id, _NOTHING).get(topic, {}).get(partition)

    def of_group(self, group_id: str) -> GroupOffsets:
        """Topic -> partition -> offset of one group; not to be changed by the caller."""
        return self._committed.get(group_id, _NOTHING)

    def group_ids(self) -> list[str]:
        """The groups that have committed offsets, as of now."""
        return list(self._committed)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """A tombstone became durable: the committed offset is gone, and so is what open transactions have for it."""
        topics = self._committed.get(group_id)
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

    def groups_of_transaction(self, producer_id: int) -> list[str]:
        return list(self._pending.get(producer_id, ()))

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
