"""A real daemon that compacts: helpers to ask it for a plan, run the job, and wait for the outcome.

`SteppingDaemon` is the real daemon too, started by `stepping_daemon.py`, which scans for requests ten times as often
and can end the daemon with SIGKILL at a named step of the swap, in whatever process that step runs.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from coordinator.compaction.plan import JobDir, Manifest
from coordinator.compaction.request import PlanOutcome, Request, RequestError, outcome_of, wait_for_answer
from coordinator.core.topics.names import OFFSETS_TOPIC
from tests.clients.promises import Promises
from tests.compaction.plain_job import do_job
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets
from tests.support.wire import ConnectionEnded

SMALL_SEGMENTS = "offsets.topic.segment.bytes=16384"
_SWAPPED = re.compile(r"compaction swapped .* stall_ms=([\d.]+) \(before: ([\d.]+)\) writer_ms=([\d.]+)")


class SteppingDaemon(Daemon):
    """Dies at the `number`th time (from 0) that `step` is taken; empty: never."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        super().__init__(directory, **settings)
        self.full_disk = directory / "free-bytes"  # if it exists: the number of free bytes that staging sees
        self._environment |= {"FREE_BYTES_FILE": str(self.full_disk)}
        self.die_at("")

    def die_at(self, step: str, number: int = 0, by: signal.Signals = signal.SIGKILL) -> None:
        """Set the step at which the daemon is killed, from its next start on."""
        self._environment |= {"STEP_TO_DIE_AT": step, "STEP_NUMBER": str(number), "STEP_SIGNAL": by.name}

    def command(self) -> list[str]:
        _, _, _, *arguments = super().command()
        return [sys.executable, "-m", "tests.compaction.stepping_daemon", *arguments]

    @property
    def is_dead(self) -> bool:
        return self.process.poll() is not None

    def children(self, act: str) -> list[int]:
        """Return the pids of the running children of one kind: "plan", "check" or "run"."""
        found = []
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):
                for pid in (task / "children").read_text().split():
                    with contextlib.suppress(FileNotFoundError):
                        if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[-2:-1] == [act.encode()]:
                            found.append(int(pid))
        return found


class Died(Exception):  # noqa: N818 - what happened, and not always an error
    """The daemon was killed before it answered."""


def ask(daemon: Daemon, *, roll: bool = True, ratio: float | None = 0.0, topic: str = OFFSETS_TOPIC) -> str:
    """Ask for a plan of all partitions and return its id. Fails if none is made; raises Died."""

    def sleep(seconds: float) -> None:
        if daemon.process.poll() is not None:
            raise Died
        time.sleep(seconds)

    request = Request.new(roll=roll, min_cleanable_ratio=ratio, topic=topic)
    try:
        answer = wait_for_answer(daemon.data_dir, request, sleep=sleep)
    except RequestError as silence:
        daemon.process.send_signal(signal.SIGUSR2)  # where its threads stand: stepping_daemon.py
        time.sleep(1)
        raise AssertionError(f"{silence}; the log: {daemon.log_text()[-9000:]}") from None
    assert answer.plan_ids, f"{answer.reason}; the log: {daemon.log_tail()}"
    return answer.plan_ids[0]


def outcome(daemon: Daemon, plan_id: str, within_s: float = 60.0) -> PlanOutcome:
    """Wait for the outcome of a plan."""
    job = JobDir.of(daemon.data_dir, plan_id)
    try:
        return eventually(lambda: outcome_of(job), f"the plan {plan_id} is settled", within_s=within_s)
    except AssertionError as failure:
        raise AssertionError(f"{failure}; the log: {daemon.log_tail()}") from None


def compact(daemon: Daemon, job: Callable[[Path, str], Manifest] = do_job, *, topic: str = OFFSETS_TOPIC) -> Manifest:
    """Run one whole round, which must succeed and make the log smaller."""
    plan_id = ask(daemon, topic=topic)
    manifest = job(daemon.data_dir, plan_id)
    found = outcome(daemon, plan_id)
    assert found.is_done, f"{found.sentence}; the log: {daemon.log_tail()}"
    assert not [result.error for result in manifest.partitions if result.error]
    stats = [result.stats for result in manifest.partitions]
    assert sum(one.bytes_after for one in stats) < sum(one.bytes_before for one in stats)
    return manifest


def stalls(daemon: Daemon) -> list[tuple[float, float, float]]:
    """Return, for each swap in ms, the longest delay of the event loop during and before it, and the writer's time."""
    found = [_SWAPPED.search(line) for line in daemon.log_lines()]
    return [(float(one[1]), float(one[2]), float(one[3])) for one in found if one]


def report_stalls(daemon: Daemon, what: str, swaps: int = 1) -> None:
    """Print the stalls, once so many swaps have been logged."""
    eventually(lambda: len(stalls(daemon)) >= swaps, "the daemon has logged its last swap")
    found = stalls(daemon)
    during, before, writer = (max(each) for each in zip(*found, strict=True))
    print(
        f"{what}: {len(found)} swaps; the event loop was late by {during:.1f} ms at most meanwhile, by {before:.1f} ms "
        f"at most just before; the writer thread was occupied for {writer:.1f} ms at most"
    )


class SimpleCommitter:
    """Commits rising offsets for groups without members, over raw connections, and reconnects to the daemon."""

    def __init__(self, daemon: Daemon, groups: Sequence[str], topic: str, partitions: int) -> None:
        self.count = 0  # acknowledged commits
        self.promises = {group: Promises() for group in groups}
        self._daemon = daemon
        self._topic = topic
        self._partitions = partitions
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> SimpleCommitter:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stopping.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            for group, promises in self.promises.items():
                number += 1
                offsets = {(self._topic, number % self._partitions): number}
                promises.send(offsets)
                try:
                    commit_offsets(self._daemon.port, group, offsets)
                except (OSError, ConnectionEnded, AssertionError):
                    self._stopping.wait(0.01)  # the daemon is dead, or is loading: no promise
                    continue
                promises.acknowledge(offsets)
                self.count += 1


GROUPS = [f"group-{number}" for number in range(6)]


@contextlib.contextmanager
def starting(directory: Path) -> Iterator[Callable[..., SteppingDaemon]]:
    """Yield a function that starts daemons with additional settings; they are stopped at the end."""
    running: list[SteppingDaemon] = []
    always = (SMALL_SEGMENTS, "offsets.topic.num.partitions=2", "log.cleaner.delete.retention.ms=0")

    def start(*overrides: str, arguments: tuple[str, ...] = ()) -> SteppingDaemon:
        made = SteppingDaemon(directory, overrides=(*always, *overrides), topics=("t:3",), arguments=arguments)
        running.append(made)
        made.start()
        return made

    yield start
    for each in running:
        each.stop()


def fill(daemon: SteppingDaemon, first: int = 0) -> None:
    """Commit some hundred offsets: three partitions of each group, up to `first` + 39."""
    for number in range(first, first + 40):
        for group in GROUPS:
            commit_offsets(daemon.port, group, {("t", partition): number for partition in range(3)})


def expect(daemon: SteppingDaemon, offset: int, groups: list[str] = GROUPS) -> None:
    """Assert that each of these groups has committed this for each partition."""
    for group in groups:
        assert committed_offsets(daemon.port, group) == {("t", partition): offset for partition in range(3)}


def expect_for_good(daemon: SteppingDaemon, offset: int, groups: list[str] = GROUPS) -> None:
    """Assert the committed offsets now, and after a restart."""
    expect(daemon, offset, groups)
    daemon.restart()
    expect(daemon, offset, groups)
