"""Retention: the rule for segments, and the periodic scan that applies it by the current settings."""

from __future__ import annotations

import pytest

from coordinator.core.topics.effects import EnforceRetention
from coordinator.core.topics.retention import Policy, RetainedSegment, delete_up_to
from coordinator.core.topics.topics import SCAN_SLICE
from protocol.error_codes import ErrorCode
from tests.support.topics_wire import batch, fetch, produce, send_fetch
from tests.support.topics_world import TopicsWorld

NOW = 1_000_000
SIZE = len(batch())


def segments(*facts: tuple[int, int, int]) -> list[RetainedSegment]:
    return [RetainedSegment(*fact) for fact in facts]


# next offset, bytes, newest timestamp
THREE = segments((10, 100, NOW - 500), (20, 100, NOW - 300), (25, 50, NOW - 100))


@pytest.mark.parametrize(
    ("policy", "high_watermark", "expected"),
    [
        (Policy(-1, -1), 25, None),
        (Policy(500, -1), 25, None),
        (Policy(499, -1), 25, 10),
        (Policy(299, -1), 25, 20),
        (Policy(99, -1), 25, 25),
        (Policy(99, -1), 24, 20),
        (Policy(-1, 250), 25, None),
        (Policy(-1, 151), 25, None),
        (Policy(-1, 150), 25, 10),
        (Policy(-1, 50), 25, 20),
        (Policy(-1, 1), 25, 20),
        (Policy(-1, 0), 25, 25),
        (Policy(499, 50), 25, 20),
        (Policy(299, 150), 25, 20),
    ],
)
def test_segments_past_their_retention_are_dropped(policy: Policy, high_watermark: int, expected: int | None) -> None:
    assert delete_up_to(THREE, policy, high_watermark, NOW) == expected


def test_segments_are_dropped_from_the_start_without_a_gap() -> None:
    young_first = segments((10, 100, NOW), (20, 100, NOW - 900), (30, 10, NOW))
    assert delete_up_to(young_first, Policy(500, -1), 30, NOW) is None


def test_an_empty_newest_segment_stays() -> None:
    assert delete_up_to(segments((10, 100, 0), (10, 0, -1)), Policy(5, -1), 10, NOW) == 10
    assert delete_up_to(segments((10, 0, -1)), Policy(0, 0), 10, NOW) is None


def test_records_without_a_timestamp_have_no_age() -> None:
    assert delete_up_to(segments((10, 100, -1), (20, 10, NOW)), Policy(5, -1), 20, NOW) is None


@pytest.fixture
def world() -> TopicsWorld:
    return TopicsWorld(segment_bytes=2 * SIZE, log_retention_check_interval_ms=60_000, log_retention_ms=-1)


def test_old_records_are_dropped_by_time(world: TopicsWorld) -> None:
    world.create("orders", retention_ms="120000")
    for _ in range(5):
        produce(world, batch(timestamp=world.wall_ms))
    world.advance(60_000)
    produce(world, batch(timestamp=world.wall_ms))
    world.advance(60_000)
    assert fetch(world).log_start_offset == 0
    world.advance(60_000)
    assert fetch(world).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(world, 4).log_start_offset == 4, "whole segments: the third has a young record"
    world.advance(120_000)
    assert fetch(world, 6).log_start_offset == 6


def test_old_records_are_dropped_by_size(world: TopicsWorld) -> None:
    world.create("orders", retention_bytes=str(4 * SIZE))
    for _ in range(9):
        produce(world)
    world.advance(60_000)
    assert fetch(world, 8).log_start_offset == 4
    assert world.partition("orders").size_bytes == 5 * SIZE


def test_changed_setting_is_used_by_the_next_scan(world: TopicsWorld) -> None:
    world.create("orders")
    for _ in range(4):
        produce(world)
    world.advance(60_000)
    assert fetch(world).log_start_offset == 0
    world.topics.catalogue.configure(world.partition("orders").topic, {"retention.bytes": "1"})
    world.advance(60_000)
    assert fetch(world, 4).log_start_offset == 2


@pytest.mark.parametrize("policy", ["compact", ""])
def test_topic_without_delete_policy_keeps_all_records(world: TopicsWorld, policy: str) -> None:
    world.create("orders", cleanup_policy=policy, retention_bytes="1", retention_ms="1")
    for _ in range(4):
        produce(world)
    world.advance(600_000)
    assert fetch(world).log_start_offset == 0


def test_partitions_are_scanned_in_slices_one_job_at_a_time(world: TopicsWorld) -> None:
    world.create("orders", 2 * SCAN_SLICE + 1, retention_ms="1")
    for index in range(2 * SCAN_SLICE + 1):
        produce(world, batch(timestamp=1), partition=index)
    world.hold.add(EnforceRetention)
    world.advance(120_000)
    [job] = world.held
    assert len(job.items) == SCAN_SLICE
    world.hold.clear()
    world.release()
    world.advance(1_000)
    assert all(partition.log_start_offset == 1 for partition in world.partition("orders").topic.partitions)


def test_fetch_waiting_at_a_dropped_offset_gets_an_error(world: TopicsWorld) -> None:
    world.create("orders", retention_bytes="1")
    for _ in range(4):
        produce(world)
    ticket = send_fetch(world, 1, max_wait_ms=90_000, min_bytes=10_000)
    world.advance(60_000)
    answer = world.answers[ticket].responses[0].partitions[0]
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
