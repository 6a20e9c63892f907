"""Compaction of a log that is being written: a real daemon, real clients that commit all the time, real SIGKILLs.

Held throughout: every acknowledged commit is there, nothing is there that was never sent, and at the end OffsetFetch
says what the clients wrote down, before and after a restart. How late the event loop was is in the output (`-s`).
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from coordinator.compaction import jobs, planning, swap_protocol
from coordinator.storage.log import swap
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value
from tests.clients.conftest import ABOUT_THE_LIBRARIES, Crew, collect_what_a_library_dropped
from tests.clients.members import LIBRARIES
from tests.clients.promises import Committer, Promises
from tests.compaction.live import (
    SMALL_SEGMENTS,
    Died,
    SimpleCommitter,
    SteppingDaemon,
    ask,
    compact,
    report_stalls,
)
from tests.compaction.plain_job import do_job
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets

pytestmark = [pytest.mark.integration, *(pytest.mark.filterwarnings(each) for each in ABOUT_THE_LIBRARIES)]
__all__ = ["collect_what_a_library_dropped"]

ROUNDS = 10
COMMITS_IN_A_ROUND = 40  # of each committer, before the next compaction
OVERRIDES = (
    SMALL_SEGMENTS,
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "log.cleaner.delete.retention.ms=1000",
    "offsets.topic.num.partitions=4",
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SteppingDaemon]:
    with SteppingDaemon(tmp_path / "daemon", overrides=OVERRIDES, topics=("t:6",)) as running:
        yield running


def check_all(daemon: Daemon, simple: SimpleCommitter) -> None:
    for group, promises in simple.promises.items():
        acknowledged = dict(promises.acknowledged)
        promises.check(committed_offsets(daemon.port, group), acknowledged)


def have_more(committers: list[Callable[[], int]], already: list[int], more: int) -> bool:
    return all(count() >= before + more for count, before in zip(committers, already, strict=True))


def go_on(*committers: Committer | SimpleCommitter, more: int = COMMITS_IN_A_ROUND) -> None:
    """Wait until each has had so many more commits acknowledged."""
    counts = [partial(getattr, each, "count") for each in committers]
    already = [count() for count in counts]
    eventually(lambda: have_more(counts, already, more), "all committers have committed", within_s=60)


@pytest.fixture
def crew(daemon: SteppingDaemon, caplog: pytest.LogCaptureFixture) -> Iterator[Crew]:
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    made = Crew(daemon)
    yield made
    made.close()


def test_clients_lose_nothing_over_ten_compactions_in_a_row(daemon: SteppingDaemon, crew: Crew) -> None:
    crew.topic(6)
    members = [crew.join(library, library, session_timeout_ms=15_000) for library in sorted(LIBRARIES)]
    crew.settles(*members)
    promises = Promises()
    simple = SimpleCommitter(daemon, [f"simple-{number}" for number in range(20)], "t", 6)
    with contextlib.ExitStack() as stack:
        committers = [stack.enter_context(Committer(member, promises)) for member in members]
        stack.enter_context(simple)
        for _ in range(ROUNDS):
            go_on(*committers, simple)
            compact(daemon)
            acknowledged = dict(promises.acknowledged)  # before it is asked what is there
            promises.check(committed_offsets(daemon.port, crew.group), acknowledged)
            check_all(daemon, simple)
    report_stalls(daemon, f"{ROUNDS} compactions while clients committed", ROUNDS)
    for _ in range(2):
        assert committed_offsets(daemon.port, crew.group) == promises.acknowledged
        for group, promised in simple.promises.items():
            assert committed_offsets(daemon.port, group) == promised.acknowledged
        daemon.restart()
    owned = crew.settles(*members)
    assert sorted(map(len, owned.values())) == [2, 2, 2], "the same consumers go on"


class OffsetsReader:
    """A consumer of another program that follows `__consumer_offsets` from its beginning."""

    def __init__(self, daemon: Daemon, partitions: int, slowly: float = 0.0) -> None:
        from kafka import KafkaConsumer  # here, because of its warnings (ABOUT_THE_LIBRARIES)
        from kafka.structs import TopicPartition as KafkaPartition

        self.newest: dict[tuple[str, str, int], int] = {}  # group, topic, partition -> committed offset
        self.read = 0
        self._slowly = slowly
        self._positions = dict.fromkeys(range(partitions), -1)
        self._consumer = KafkaConsumer(
            bootstrap_servers=daemon.address,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_poll_records=50,
        )
        self._partitions = [KafkaPartition("__consumer_offsets", number) for number in range(partitions)]
        self._consumer.assign(self._partitions)

    def follow(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            self.poll()
            stopping.wait(self._slowly)

    def poll(self) -> None:
        found = self._consumer.poll(timeout_ms=200)
        for records in found.values():
            for record in records:
                assert record.offset > self._positions[record.partition], "it was there before"
                self._positions[record.partition] = record.offset
                self.read += 1
                key = decode_key(record.key)
                if isinstance(key, OffsetKey) and record.value is not None:
                    self.newest[key.group, key.topic, key.partition] = decode_offset_value(record.value).offset

    def catch_up(self) -> None:
        """Read up to the ends that the log has now. A poll that finds nothing may only mean that an answer is late."""
        ends = self._consumer.end_offsets(self._partitions)

        def is_at_the_ends() -> bool:
            self.poll()
            return all(self._consumer.position(each) >= end for each, end in ends.items())

        eventually(is_at_the_ends, "the consumer has read up to the ends of the log", within_s=60)
        self._consumer.close()


def test_consumers_of_the_offsets_topic_read_on_during_compactions(daemon: SteppingDaemon) -> None:
    """One consumer keeps up, one lags and finds segments removed, one starts after the compactions."""
    stopping = threading.Event()
    readers = [OffsetsReader(daemon, 4), OffsetsReader(daemon, 4, slowly=0.5)]
    with ThreadPoolExecutor(len(readers)) as threads:
        following = [threads.submit(reader.follow, stopping) for reader in readers]
        try:
            with SimpleCommitter(daemon, [f"group-{number}" for number in range(10)], "t", 6) as simple:
                for _ in range(4):
                    go_on(simple, more=100)
                    compact(daemon)
        finally:
            stopping.set()
        for each in following:
            each.result(30)
    readers.append(OffsetsReader(daemon, 4))
    expected = {
        (group, topic, partition): offset
        for group, promises in simple.promises.items()
        for (topic, partition), offset in promises.acknowledged.items()
    }
    for reader in readers:
        reader.catch_up()
        assert reader.newest == expected
    assert readers[-1].read < readers[0].read, "who comes late has less to read"


# step -> how often it has to come before it counts; what the daemon died of before, so that the step comes at all
WALK: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    *((step, 0, ()) for step in planning.PlanningStep),
    (planning.PlanningStep.PIN, 5, ()),
    *((step, 0, ()) for step in swap.SwapStep if step is not swap.SwapStep.REMOVE_STRAY),
    *((step, 1, ()) for step in (swap.SwapStep.STAGE_COPY, swap.SwapStep.COMMIT_RENAME, swap.SwapStep.COMMIT_SYNC)),
    *((step, 2, ()) for step in (swap.SwapStep.APPLY_RENAME, swap.SwapStep.APPLY_REMOVE)),
    *((step, 0, ()) for step in swap_protocol.ProtocolStep),
    (jobs.JobStep.SETTLE, 0, ()),
    (jobs.JobStep.DROP_FILES, 0, ()),
    (swap.SwapStep.REMOVE_STRAY, 0, (swap.SwapStep.STAGE_SYNC_NAMES,)),
    (jobs.JobStep.REMOVE_JOB, 0, (planning.PlanningStep.HASH,)),
    (swap.SwapStep.APPLY_RENAME, 1, (swap.SwapStep.APPLY_RENAME,)),
    (swap.SwapStep.APPLY_REMOVE, 0, (swap.SwapStep.APPLY_REMOVE,)),
    (swap.SwapStep.FINISH_REMOVE, 0, (swap.SwapStep.APPLY_RENAME,)),
)


def fill_segments(daemon: SteppingDaemon) -> None:
    """Commit keys that all survive: about 30 KB in each of four partitions, more than one output segment holds."""
    for number in range(400):
        commit_offsets(daemon.port, f"{number:0200}", {("t", 0): number})


def die_at(daemon: SteppingDaemon, step: str, number: int, *, at_start: bool) -> None:
    """Restart the daemon so that it is killed at a step, and make it reach that step."""
    daemon.kill()
    daemon.die_at(step, number)
    if at_start:
        process = daemon.spawn()
        what = f"the daemon dies at the start, at: {step}"
        try:
            eventually(lambda: process.poll() is not None, what, within_s=30)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; the log: {daemon.log_tail()}") from None
        assert process.returncode == -signal.SIGKILL, daemon.log_tail()
        return
    daemon.start()
    with contextlib.suppress(Died):
        do_job(daemon.data_dir, ask(daemon))
    eventually(lambda: daemon.is_dead, f"the daemon dies at: {step} ({daemon.log_tail()})", within_s=30)


@pytest.mark.timeout(900)
def test_a_daemon_that_is_killed_at_any_step_of_a_compaction_loses_nothing(daemon: SteppingDaemon) -> None:
    """All steps use one directory."""
    reached = set()
    with SimpleCommitter(daemon, [f"group-{number}" for number in range(12)], "t", 6) as simple:
        for step, number, before in WALK:
            go_on(simple, more=100)
            if (
                before and number
            ):  # a start repeats the swap of one partition, which needs several segments for a second step
                fill_segments(daemon)
            for earlier in before:
                die_at(daemon, earlier, 0, at_start=False)
            die_at(daemon, step, number, at_start=bool(before))
            reached.add(step)
            acknowledged = {group: dict(promises.acknowledged) for group, promises in simple.promises.items()}
            daemon.die_at("")
            daemon.start()
            for group, promises in simple.promises.items():
                promises.check(committed_offsets(daemon.port, group), acknowledged[group])
        compact(daemon)
        check_all(daemon, simple)
    for group, promises in simple.promises.items():
        found = committed_offsets(daemon.port, group)
        promises.check(found, dict(promises.acknowledged))
    assert reached == set(swap_protocol.STEPS) - {jobs.JobStep.EVIDENCE}, "what is refused has a test of its own"
    report_stalls(daemon, f"{len(WALK)} deaths")
