"""The pending offsets of a group, for `groups explain`: which open transactions have sent them, and since when."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from coordinator.core.events.model import NAMED_AT_MOST, PendingOffsets, shortened

if TYPE_CHECKING:
    from coordinator.core.offsets.store import OffsetStore


def pending_offsets(store: OffsetStore, group_id: str) -> list[PendingOffsets]:
    """Return the transactions with offsets of a group, NAMED_AT_MOST of them, the oldest first."""
    found = [
        PendingOffsets(
            producer_id=producer_id,
            count=len(offsets),
            partitions=[f"{shortened(topic)}-{index}" for topic, index in islice(offsets, NAMED_AT_MOST)],
            since_ms=min(offset.commit_timestamp_ms for offset in islice(offsets.values(), NAMED_AT_MOST)),
        )
        for producer_id, offsets in islice(store.pending_by_producer(group_id), NAMED_AT_MOST)
    ]
    return sorted(found, key=lambda each: each.since_ms)
