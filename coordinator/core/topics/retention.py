"""Retention: which segments of a partition are past their retention time or size. The executor drops them.

The rules are Kafka's. By time, a segment is dropped when its newest record is older than `retention.ms`. By size, the
oldest segments are dropped as long as the rest is still at least `retention.bytes`. Segments are dropped from the start
without a gap, never above the high watermark; an empty active segment stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from coordinator.core.topics.settings import TopicSettings


class Policy(NamedTuple):
    """The retention limits of a partition; -1 is no limit."""

    retention_ms: int
    retention_bytes: int

    @classmethod
    def of(cls, settings: TopicSettings) -> Policy | None:
        """Return the policy of a topic; None if nothing is ever deleted."""
        if not settings.deletes or (settings.retention_ms < 0 and settings.retention_bytes < 0):
            return None
        return cls(settings.retention_ms, settings.retention_bytes)


class RetainedSegment(NamedTuple):
    """The facts about a segment that retention needs. `next_offset` is the start of the next one, or the log's end."""

    next_offset: int
    size_bytes: int
    max_timestamp_ms: int  # -1 if no record has one: such a segment has no age


def delete_up_to(segments: Sequence[RetainedSegment], policy: Policy, high_watermark: int, wall_ms: int) -> int | None:
    """Return the new start offset of the log without its expired segments; None if all segments stay."""
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
