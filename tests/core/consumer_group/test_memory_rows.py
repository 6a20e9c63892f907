"""A compaction that lost or changed a record of a KIP-848 group is refused, because memory knows where each one is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.core.committed_rows import committed_rows
from coordinator.core.offsets.raw_records import CONSUMER_KEYS
from coordinator.core.offsets.replay import Replay
from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld
from tests.support.memory_rows import assert_rows_are_the_log, difference


@pytest.fixture
def world() -> ConsumerWorld:
    """Two members, one that matches topics, and one that has left."""
    world = ConsumerWorld({"t1": 3, "t2": 2})
    world.beat("a", 0, topics=["t1"])
    world.beat("b", 0, subscribed_topic_regex="t.*")
    world.advance("1s")
    world.beat("c", 0, topics=["t2"])
    world.beat("c", -1)
    world.beat("a", 1)
    return world


def compacted(world: ConsumerWorld) -> Replay:
    replay = Replay()
    for header, records in world.log.records(0):
        replay.add(header, records)
    return replay


def refused(world: ConsumerWorld, forge: Callable[[Replay], None]) -> str | None:
    replay = compacted(world)
    forge(replay)
    return difference(world, 0, replay, len(list(world.log.records(0))))


def test_each_record_has_a_row_that_says_where_it_is(world: ConsumerWorld) -> None:
    assert_rows_are_the_log(world)
    rows = [row for some in committed_rows(world.core.partition(0), 1 << 40) for row in some]
    places = {row[0]: row[1] for row in rows if len(row) == 3}
    living = compacted(world).living_consumer_groups()
    assert places == {key: log_offset for key, (_, log_offset) in living.items()}
    assert len(places) == 9, "the group, its target epoch, a regular expression, and three records of each member"


def test_the_loss_of_any_record_is_refused(world: ConsumerWorld) -> None:
    for key in compacted(world).consumer:
        found = refused(world, lambda replay, key=key: replay.consumer.pop(key))  # type: ignore[misc]
        assert found is not None and "of group 'g' at log offset" in found
        assert "is in memory and not in the result" in found


def test_another_value_of_any_record_is_refused(world: ConsumerWorld) -> None:
    for key, (value, log_offset) in compacted(world).consumer.items():
        other = value[:-1] + bytes([value[-1] ^ 1]), log_offset
        found = refused(world, lambda replay, key=key, other=other: replay.consumer.update({key: other}))  # type: ignore[misc]
        assert found is not None and "differs from what is in memory" in found


def test_an_older_record_of_any_key_is_refused(world: ConsumerWorld) -> None:
    for key, (value, log_offset) in compacted(world).consumer.items():
        older = value, log_offset - 1
        found = refused(world, lambda replay, key=key, older=older: replay.consumer.update({key: older}))  # type: ignore[misc]
        assert found is not None and f"at log offset {log_offset} is in memory and not in the result" in found


def test_a_member_that_comes_back_is_refused(world: ConsumerWorld) -> None:
    removed = {}
    for header, records in world.log.records(0):
        for record in records:
            if record.key is not None and record.key[:2] in CONSUMER_KEYS and record.value is not None:
                removed[record.key] = record.value, record.offset
        assert header.record_count
    gone = {key: raw for key, raw in removed.items() if key not in compacted(world).consumer}
    assert len(gone) == 3
    for key, raw in gone.items():
        found = refused(world, lambda replay, key=key, raw=raw: replay.consumer.update({key: raw}))  # type: ignore[misc]
        assert found is not None and "is in the result and not in memory" in found


def test_rows_are_right_after_a_start_a_failed_append_and_a_deletion(world: ConsumerWorld) -> None:
    world.crash_and_recover()
    assert_rows_are_the_log(world)
    world.failing_with = ErrorCode.KAFKA_STORAGE_ERROR
    world.beat("d", 0, topics=["t1"])
    world.failing_with = None
    assert_rows_are_the_log(world)
    for member_id in ("a", "b"):
        world.beat(member_id, -1)
        assert_rows_are_the_log(world)
    assert world.delete_groups("g").answer.results[0].error_code == 0
    assert_rows_are_the_log(world)
