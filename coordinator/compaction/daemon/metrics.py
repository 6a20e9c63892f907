"""Metrics of compaction: those of Kafka's LogCleanerManager and LogCleaner with their meaning, and this package's.

Called from the HTTP thread. Source: org.apache.kafka.storage.internals.log.LogCleanerManager and LogCleaner; the names
follow theirs in Prometheus' spelling (`max-dirty-percent` is `kafka_log_cleaner_manager_max_dirty_percent`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from coordinator.compaction.daemon.dirtiness import dirtiness
from coordinator.metrics.health import Sample

if TYPE_CHECKING:
    from coordinator.compaction.daemon.counters import CompactionCounters
    from coordinator.compaction.eligibility import Lags, LogName
    from coordinator.storage.log.log import Log

MANAGER: Final = "kafka_log_cleaner_manager_"
CLEANER: Final = "kafka_log_cleaner_"
PREFIX: Final = "coordinator_compaction_"

# name, what it means, field of the counters
_COUNTERS: Final = (
    ("plans_total", "Plans made.", "plans"),
    ("swaps_total", "Partitions whose segments were swapped.", "swaps"),
    ("refused_plans_total", "Plans of which something or all was refused.", "refusals"),
    ("failures_total", "Attempts that failed and are repeated.", "failures"),
    ("before_bytes_total", "Bytes of the segments that were swapped out.", "bytes_before"),
    ("after_bytes_total", "Bytes of the segments that were swapped in.", "bytes_after"),
    ("before_records_total", "Records in the segments that were swapped out.", "records_before"),
    ("after_records_total", "Records in the segments that were swapped in.", "records_after"),
)
_GAUGES: Final = (
    ("last_job_seconds", "From the last plan to its manifest.", "last_job_s"),
    ("last_check_seconds", "From the last manifest to the swap of segments.", "last_check_s"),
    (
        "swap_stall_seconds",
        "The longest delay of the event loop while the last plan's segments were swapped.",
        "last_stall_s",
    ),
    ("longest_swap_stall_seconds", "The same, the longest since the start.", "longest_stall_s"),
    ("swap_writer_seconds", "How long a swap of the last plan occupied the writer thread.", "last_writer_s"),
    ("longest_swap_writer_seconds", "The same, the longest since the start.", "longest_writer_s"),
)


def samples(logs: Mapping[LogName, Log], counters: CompactionCounters, lags: Lags, now_ms: int) -> Iterator[Sample]:
    """Yield all samples of compaction."""
    found = dirtiness(logs, counters.marks, lags, now_ms)
    uncleanable = [found[name] for name in counters.uncleanable if name in found]
    clean_s = counters.last_job_s + counters.last_check_s
    since_ms = now_ms - counters.last_look_ms if counters.last_look_ms else 0
    delay_ms = max((each.delay_ms for each in found.values()), default=0)
    worst = max((each.ratio for each in found.values()), default=0.0)
    for name, help, value in (
        (MANAGER + "max_dirty_percent", "The dirty part of the dirtiest partition.", int(100 * worst)),
        (MANAGER + "time_since_last_run_seconds", "Since the dirtiness was last checked.", since_ms / 1000),
        (MANAGER + "uncleanable_partitions", "Partitions whose last compaction failed.", len(uncleanable)),
        (MANAGER + "uncleanable_bytes", "Their dirty bytes.", sum(each.dirty_bytes for each in uncleanable)),
        (CLEANER + "cleaner_recopy_percent", "Bytes written of bytes read, last job.", counters.last_recopy_percent),
        (CLEANER + "max_clean_time_secs", "The last compaction, from plan to swap.", int(clean_s)),
        (CLEANER + "max_compaction_delay_secs", "How long the oldest record has been overdue.", delay_ms // 1000),
    ):
        yield Sample(name, help, "gauge", value)
    for (topic, partition), each in sorted(found.items()):
        yield Sample(
            PREFIX + "dirty_ratio",
            "The dirty part of each partition's closed segments.",
            "gauge",
            each.ratio,
            {"topic": topic, "partition": str(partition)},
        )
    for name, help, field in _COUNTERS:
        yield Sample(PREFIX + name, help, "counter", getattr(counters, field))
    for name, help, field in _GAUGES:
        yield Sample(PREFIX + name, help, "gauge", getattr(counters, field))
    for name, help, moment_ms in (
        (
            "last_plan_timestamp_seconds",
            "When the last plan was made, since the epoch; 0: never.",
            counters.last_plan_ms,
        ),
        ("last_swap_timestamp_seconds", "When segments were last swapped; 0: never.", counters.last_swap_ms),
    ):
        yield Sample(PREFIX + name, help, "gauge", moment_ms / 1000)
