"""Retention: which segments of a partition have had their time. Pure; the executor lists the segments and drops them.

Kafka's rules. By time, a segment goes when its newest record is older than `retention.ms`. By size, the oldest segments
go as long as what remains is still at least `retention.bytes`. Segments go from the start without a gap, never beyond
the high watermark; an empty active segment stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from coordinator.core.topics.settings import TopicSettings


class Policy(NamedTuple):
    """What a partition may keep; -1 is no limit."""

    retention_ms: int
    retention_bytes: int

    @classmethod
    def of(cls, settings: TopicSettings) -> Policy | None:
        """The policy of a topic; None when nothing is ever deleted."""
        if not settings.deletes or (settings.retention_ms < 0 and settings.retention_bytes < 0):
            return None
        return cls(settings.retention_ms, settings.retention_bytes)


class RetainedSegment(NamedTuple):
    """One segment, as far as retention cares. `next_offset` is where the following one begins, or the log ends."""

    next_offset: int
    size_bytes: int
    max_timestamp_ms: int  # -1 when no record has one; such a segment has no age


def delete_up_to(segments: Sequence[RetainedSegment], policy: Policy, high_watermark: int, wall_ms: int) -> int | None:
    """The offset at which the log shall start, its oldest segments gone; None when all stay."""
    cut: int | None = None
    total = sum(segment.size_bytes for segment in segments)
    for position, segment in enumerate(segments):
        is_active = position == len(segments) - 1
        if segment.next_offset > high_watermark or (is_active and not segment.size_bytes):
            break
        newest_ms = segment.max_timestamp_ms
        too_old = policy.retention_ms >= 0 and newest_ms >= 0 and wall_ms - newest_ms > policy.retention_ms
        too_much = policy.retention_bytes >= 0 and total - segment.size_bytes >= policy.retention_bytes
        if not too_old and not too_much:
            break
        total -= segment.size_bytes
        cut = segment.next_offset
    return cut
