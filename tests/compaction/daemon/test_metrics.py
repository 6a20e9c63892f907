"""The metrics of compaction, and the schedule that follows from failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.compaction.daemon.counters import CompactionCounters
from coordinator.compaction.daemon.dirtiness import SKIPPED_MS, lags_of, scheduled
from coordinator.compaction.daemon.metrics import samples
from coordinator.compaction.daemon.plans import FIRST_RETRY_MS, LAST_RETRY_MS, OpenPlan
from coordinator.config.config import Config
from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch

OFFSETS, TRANSACTIONS = (OFFSETS_TOPIC, 0), (TRANSACTIONS_TOPIC, 0)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Three closed segments of 100 records each, and an active one."""
    opened = Log.open(tmp_path / "__consumer_offsets-0", LogConfig(), RealFileSystem())
    for number in range(3):
        batch = build_batch([(b"k", b"v")] * 100, base_offset=100 * number, timestamp_ms=1_000_000)
        opened.append(batch, 100 * number + 99, 1_000_000)
        opened.flush()
        opened.high_watermark = opened.log_end_offset
        opened.roll()
    yield opened
    opened.close()


def test_metrics_have_the_meaning_of_kafkas_cleaner(log: Log) -> None:
    counters = CompactionCounters(plans=4, swaps=3, refusals=1, bytes_before=1000, bytes_after=10)
    counters.marks = {OFFSETS: 100}
    counters.uncleanable = {OFFSETS: "damaged", (OFFSETS_TOPIC, 5): "not here any more"}
    counters.last_look_ms = 1_500_000
    counters.last_stall_s = 0.002
    config = Config(log_cleaner_max_compaction_lag_ms=600_000)
    found = {
        (sample.name, sample.labels.get("partition", "")): sample.value
        for sample in samples({OFFSETS: log}, counters, lags_of(config), now_ms=2_000_000)
    }
    size = log.segments[0].size_bytes
    assert found["coordinator_compaction_dirty_ratio", "0"] == pytest.approx(2 / 3)
    assert found["kafka_log_cleaner_manager_max_dirty_percent", ""] == 66
    assert found["kafka_log_cleaner_manager_time_since_last_run_seconds", ""] == 500
    assert found["kafka_log_cleaner_manager_uncleanable_partitions", ""] == 1
    assert found["kafka_log_cleaner_manager_uncleanable_bytes", ""] == 2 * size
    assert found["kafka_log_cleaner_max_compaction_delay_secs", ""] == 400
    assert found["coordinator_compaction_swap_stall_seconds", ""] == 0.002
    assert found["coordinator_compaction_plans_total", ""] == 4
    assert found["coordinator_compaction_refused_plans_total", ""] == 1
    assert found["coordinator_compaction_before_bytes_total", ""] == 1000


def test_schedule_skips_a_partition_for_an_hour_after_its_compaction_failed(log: Log) -> None:
    counters, logs = CompactionCounters(), {OFFSETS: log, TRANSACTIONS: log}
    assert scheduled(logs, counters, 1000).keys() == {OFFSETS, TRANSACTIONS}
    counters.uncleanable[TRANSACTIONS], counters.last_failed_ms = "damaged", 1000
    assert scheduled(logs, counters, 1000 + SKIPPED_MS - 1).keys() == {OFFSETS}
    assert scheduled(logs, counters, 1000 + SKIPPED_MS).keys() == {OFFSETS, TRANSACTIONS}


def test_log_that_was_never_compacted_is_all_dirty_in_the_metrics(log: Log) -> None:
    found = {
        sample.name: sample.value
        for sample in samples({OFFSETS: log}, CompactionCounters(), lags_of(Config()), 2_000_000)
    }
    assert found["kafka_log_cleaner_manager_max_dirty_percent"] == 100
    assert found["kafka_log_cleaner_manager_time_since_last_run_seconds"] == 0
    assert found["kafka_log_cleaner_max_compaction_delay_secs"] == 0


def test_failed_attempts_are_repeated_at_growing_intervals() -> None:
    plan = OpenPlan("p", 0, 10**9, (0,), OFFSETS_TOPIC)
    assert plan.retry_ms == 0
    waits = []
    for _ in range(10):
        plan.try_again_later("the disk is full", 1000)
        waits.append(plan.retry_ms - 1000)
    assert waits[:3] == [FIRST_RETRY_MS, 2 * FIRST_RETRY_MS, 4 * FIRST_RETRY_MS]
    assert waits[-1] == LAST_RETRY_MS
    assert plan.trouble == "the disk is full"


def test_each_log_has_a_dirty_ratio_of_its_own(log: Log) -> None:
    counters = CompactionCounters(marks={OFFSETS: 200, TRANSACTIONS: 300})
    found = {
        sample.labels["topic"]: (sample.labels["partition"], sample.value)
        for sample in samples({OFFSETS: log, TRANSACTIONS: log}, counters, lags_of(Config()), 2_000_000)
        if sample.name == "coordinator_compaction_dirty_ratio"
    }
    assert found == {OFFSETS_TOPIC: ("0", pytest.approx(1 / 3)), TRANSACTIONS_TOPIC: ("0", 0.0)}
