"""Dirtiness of each log, from facts in memory, for the schedule and for every scrape.

Closed segments do not change, and a log's tuple of segments is replaced as a whole, so any thread may ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from coordinator.compaction.eligibility import Cleanable, Lags, LogName, cleanable, facts_of

if TYPE_CHECKING:
    from coordinator.compaction.daemon.counters import CompactionCounters
    from coordinator.config.config import Config
    from coordinator.storage.log.log import Log

SKIPPED_MS: Final = 3_600_000


def lags_of(config: Config, min_cleanable_ratio: float | None = None) -> Lags:
    """Return the settings that decide when compaction is due; a request may give another ratio."""
    ratio = config.log_cleaner_min_cleanable_ratio if min_cleanable_ratio is None else min_cleanable_ratio
    return Lags(
        min_cleanable_dirty_ratio=ratio,
        min_compaction_lag_ms=config.log_cleaner_min_compaction_lag_ms,
        max_compaction_lag_ms=config.log_cleaner_max_compaction_lag_ms,
    )


def scheduled(logs: Mapping[LogName, Log], counters: CompactionCounters, now_ms: int) -> Mapping[LogName, Log]:
    """Return all logs but those whose last compaction failed: most would fail again, and a job is expensive.

    Kafka skips such partitions until it is restarted; here they are skipped for an hour, or until a request.
    """
    failed = counters.uncleanable if now_ms < counters.last_failed_ms + SKIPPED_MS else ()
    return {name: log for name, log in logs.items() if name not in failed}


def dirtiness(
    logs: Mapping[LogName, Log], marks: Mapping[LogName, int], lags: Lags, now_ms: int
) -> dict[LogName, Cleanable]:
    """Return, by log, what could be compacted now. `marks` are the offsets where the last compactions ended."""
    found = {}
    for name, log in logs.items():
        facts = facts_of(name[1], log)
        found[name] = cleanable(
            facts.closed,
            active_base_offset=facts.active_base_offset,
            checkpoint=marks.get(name),
            lags=lags,
            now_ms=now_ms,
        )
    return found
