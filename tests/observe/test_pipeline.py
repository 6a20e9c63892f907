"""Batches on their way into mirror and state: slices of the event loop, positions, what counts as caught up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from coordinator.observe.mirror import Mirror
from coordinator.observe.pipeline import SLICE_RECORDS, Pipeline
from coordinator.observe.progress import FollowProgress, PartitionProgress
from coordinator.storage.log.fs import RealFileSystem
from tests.observe.world import NOW_MS, RememberingState, batch, commit, commits_from, group_record, part


class SlowState(RememberingState):
    """Takes half a millisecond for a record, and two for a slice of commits."""

    calls = 0

    def commits(self, *columns: list) -> None:  # type: ignore[override, type-arg]
        super().commits(*columns)
        self.calls += 1
        time.sleep(0.002)

    def record(self, at_ms: int, key: bytes, value: bytes | None) -> None:
        super().record(at_ms, key, value)
        self.calls += 1
        time.sleep(0.0005)


@pytest.fixture
async def pipeline(tmp_path: Path) -> AsyncIterator[Pipeline]:
    made = Pipeline(Mirror.open(tmp_path, 2, RealFileSystem()), SlowState(), FollowProgress())
    yield made
    await made.close()


async def test_the_event_loop_goes_on_while_the_state_takes_a_large_answer(pipeline: Pipeline) -> None:
    commits = b"".join(
        batch(first, *[commit(f"g{first + each}", 1) for each in range(100)]) for first in range(0, 30_000, 100)
    )
    others = batch(30_000, *[group_record(f"g{each}") for each in range(600)])
    taking = asyncio.create_task(pipeline.take([part(0, 0, commits + others)]))
    state, progress = pipeline._state, pipeline._progress
    assert isinstance(state, SlowState)
    most_calls = 0
    while not taking.done():
        calls = state.calls
        await asyncio.sleep(0)
        most_calls = max(most_calls, state.calls - calls)
    await taking
    assert (state.given, len(state.records), progress.records) == (30_000, 600, 30_600)
    assert most_calls <= SLICE_RECORDS + 5  # by calls, because the clock of a busy machine tells nothing


async def test_it_has_caught_up_when_every_partition_reached_the_end_of_its_start(pipeline: Pipeline) -> None:
    state, progress = pipeline._state, pipeline._progress
    assert isinstance(state, RememberingState)
    await pipeline.take([part(0, 0, commits_from(0, 3))])
    await pipeline.take([part(1, 0, commits_from(0, 3), 9)])
    assert (state.caught_up_times, progress.lag) == (0, 6)
    await pipeline.take([part(1, 3, commits_from(3, 3), 20)])
    assert state.caught_up_times == 0
    await pipeline.take([part(1, 6, commits_from(6, 3), 30)])
    assert (state.caught_up_times, progress.caught_up, progress.lag) == (1, True, 21)
    await pipeline.take([part(1, 9, commits_from(9, 3), 30)])
    assert state.caught_up_times == 1


def test_the_oldest_position_that_has_not_reached_its_end_tells_how_far_behind_it_is() -> None:
    progress = FollowProgress()
    assert progress.seconds_behind(NOW_MS) == 0.0
    progress.partitions = {
        0: PartitionProgress(10, 10, 10, NOW_MS - 90_000),  # idle, and read to its end
        1: PartitionProgress(10, 12, 10, NOW_MS - 2_500),
        2: PartitionProgress(10, 11, 10, NOW_MS - 1_000),
    }
    assert (progress.seconds_behind(NOW_MS), progress.lag) == (2.5, 3)


def test_a_problem_is_new_once() -> None:
    progress = FollowProgress()
    assert [progress.note_problem(each, NOW_MS) for each in ("a", "a", "b")] == [True, False, True]
    progress.clear_problem()
    assert progress.problem == ""
