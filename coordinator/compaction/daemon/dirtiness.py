"""How dirty each partition of the offsets log is, from what is in memory: the schedule asks, and every scrape does.

Segments that are closed do not change, and a log's tuple of segments is replaced, never changed, so this may be asked
in any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from coordinator.compaction.eligibility import Cleanable, ClosedSegment, Lags, cleanable
from coordinator.compaction.planning import view_of

if TYPE_CHECKING:
    from coordinator.compaction.daemon.counters import CompactionCounters
    from coordinator.config.config import Config
    from coordinator.storage.log.log import Log

LEFT_ALONE_MS: Final = 3_600_000


def lags_of(config: Config, min_cleanable_ratio: float | None = None) -> Lags:
    """The settings that say when cleaning is due; the ratio may be another for once."""
    ratio = config.log_cleaner_min_cleanable_ratio if min_cleanable_ratio is None else min_cleanable_ratio
    return Lags(
        min_cleanable_dirty_ratio=ratio,
        min_compaction_lag_ms=config.log_cleaner_min_compaction_lag_ms,
        max_compaction_lag_ms=config.log_cleaner_max_compaction_lag_ms,
    )


def scheduled(logs: Mapping[int, Log], counters: CompactionCounters, now_ms: int) -> Mapping[int, Log]:
    """All but those whose last cleaning failed: what failed once mostly fails again, and a job is not cheap.

    Kafka leaves such partitions alone until it is restarted; here it is for an hour, or until somebody asks.
    """
    failed = counters.uncleanable if now_ms < counters.last_failed_ms + LEFT_ALONE_MS else ()
    return {partition: log for partition, log in logs.items() if partition not in failed}


def dirtiness(logs: Mapping[int, Log], marks: Mapping[int, int], lags: Lags, now_ms: int) -> dict[int, Cleanable]:
    """By partition: what could be cleaned now. `marks` are where the last cleanings ended."""
    found = {}
    for partition, log in logs.items():
        view = view_of(partition, log)
        found[partition] = cleanable(
            [
                ClosedSegment(one.base_offset, one.size_bytes, one.max_timestamp_ms, one.first_timestamp_ms)
                for one in view.closed
            ],
            active_base_offset=view.active_base_offset,
            checkpoint=marks.get(partition),
            lags=lags,
            now_ms=now_ms,
        )
    return found
