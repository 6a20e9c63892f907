"""Client latency during a compaction: of a heartbeat-sized request and of durable commits, phase by phase.

A generated log is served by a real daemon. Two connections measure all the time, one request at a time: ApiVersions,
which needs nothing but the event loop, and OffsetCommit, which waits for the disk. Meanwhile the log is compacted once:
planned (a child hashes it), cleaned (one process, numpy, no Spark), checked (a child reads it all, the daemon gives
rows from memory), swapped. The start of the daemon is timed before and after.

    python bench/live_compaction.py --size 200MB --keys 100000

Other load falsifies the figures; the load average is printed beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.spark_logs import size_of, write_logs  # noqa: E402
from coordinator.compaction.plan import JobDir  # noqa: E402
from coordinator.compaction.request import Request, outcome_of, wait_for_answer  # noqa: E402
from protocol.messages.api_versions import ApiVersionsRequest  # noqa: E402
from protocol.messages.offset_commit import (  # noqa: E402
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.daemon import Daemon  # noqa: E402
from tests.support.wire import Wire  # noqa: E402

IDLE_S = 5.0
PAUSE_S = 0.002  # between two requests of one connection
JOB = """
import sys
from pathlib import Path
from coordinator.compaction import column_compaction
from coordinator.compaction.jobs import read_plan
from coordinator.compaction.plan import JobDir, Manifest
from coordinator.storage.log.fs import RealFileSystem, write_atomically
fs, job = RealFileSystem(), JobDir.of(Path(sys.argv[1]), sys.argv[2])
plan = read_plan(fs, job)
parts = [column_compaction.compact_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
         for part in plan.partitions]
manifest = Manifest(plan.id, plan.epoch, plan.sha256, "bench", "single", tuple(parts))
write_atomically(fs, job.manifest, manifest.to_bytes())
"""


class Meter:
    """Latencies in ms, by phase."""

    def __init__(self) -> None:
        self.phase = "idle"
        self.found: dict[tuple[str, str], list[float]] = {}
        self.seconds: dict[str, float] = {}
        self._begun = time.perf_counter()

    def enter(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + now - self._begun
        self.phase, self._begun = phase, now

    async def measure(self, what: str, ask: Callable[[], Awaitable[Any]], stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            phase, began = self.phase, time.perf_counter()
            await ask()
            self.found.setdefault((phase, what), []).append(1000 * (time.perf_counter() - began))
            await asyncio.sleep(PAUSE_S)

    def table(self) -> str:
        lines = [f"{'phase':<12}{'seconds':>9}  {'request':<13}{'count':>7}{'median':>9}{'p99':>9}{'max ms':>9}"]
        for (phase, what), values in self.found.items():
            values.sort()
            p99 = values[min(len(values) - 1, int(0.99 * len(values)))]
            lines.append(
                f"{phase:<12}{self.seconds.get(phase, 0.0):>9.1f}  {what:<13}{len(values):>7}"
                f"{statistics.median(values):>9.2f}{p99:>9.2f}{values[-1]:>9.2f}"
            )
        return "\n".join(lines)


def commit(group: str, offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="bench", partitions=[partition])
    return OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=[topic])


async def compact(daemon: Daemon, meter: Meter) -> str:
    """One compaction; the sentence that says what became of it."""
    meter.enter("plan")
    request = Request.new(roll=True, min_cleanable_ratio=0.0)
    answer = await asyncio.to_thread(wait_for_answer, daemon.data_dir, request, timeout_s=600)
    (plan_id,) = answer.plan_ids or (sys.exit(answer.reason),)
    meter.enter("job")
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", JOB, str(daemon.data_dir), plan_id], check=True, cwd=HERE.parent
    )
    meter.enter("check, swap")
    while (outcome := outcome_of(JobDir.of(daemon.data_dir, plan_id))) is None:  # noqa: ASYNC110 - it is a file
        await asyncio.sleep(0.05)
    return outcome.sentence


async def measure(daemon: Daemon, meter: Meter, idle_s: float) -> str:
    stopping = asyncio.Event()
    number = 0

    async def commit_next(wire: Wire) -> None:
        nonlocal number
        number += 1
        answer = await wire.send(commit(f"bench-{number % 8}", number), 8)
        assert not answer.topics[0].partitions[0].error_code, answer

    async with await Wire.connect(daemon.port) as one, await Wire.connect(daemon.port) as other:
        await one.send(ApiVersionsRequest(), 2)
        tasks = [
            asyncio.create_task(meter.measure("ApiVersions", lambda: one.send(ApiVersionsRequest(), 2), stopping)),
            asyncio.create_task(meter.measure("OffsetCommit", lambda: commit_next(other), stopping)),
        ]
        await asyncio.sleep(idle_s)
        sentence = await compact(daemon, meter)
        meter.enter("after")
        await asyncio.sleep(idle_s)
        meter.enter("")
        stopping.set()
        await asyncio.gather(*tasks)
    return sentence


def loaded_ms(daemon: Daemon) -> int:
    return int(re.findall(r"load_ms=(\d+)", daemon.log_text())[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="200MB", help="of the log; default: 200MB")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--segment-bytes", type=int, default=8_000_000)
    parser.add_argument("--idle", type=float, default=IDLE_S, help="seconds before and after")
    parser.add_argument("--work-dir", type=Path, help="where the log is written")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work_dir) as directory:
        overrides = (
            f"offsets.topic.segment.bytes={arguments.segment_bytes}",
            "node.id=0",
            "offsets.commit.topic.check=false",
            "offsets.retention.minutes=100000000",
        )
        daemon = Daemon(Path(directory), overrides=overrides)
        write_logs(
            daemon.data_dir,
            size_bytes=size_of(arguments.size),
            keys=arguments.keys,
            segment_bytes=arguments.segment_bytes,
        )
        with daemon:
            before_ms = loaded_ms(daemon)
            meter = Meter()
            sentence = asyncio.run(measure(daemon, meter, arguments.idle))
            daemon.restart()
            print(f"load average {os.getloadavg()[0]:.1f}; {sentence}")
            print(f"reading the log at start: {before_ms} ms before, {loaded_ms(daemon)} ms after")
            print(meter.table())
            with contextlib.suppress(IndexError):
                print([line for line in daemon.log_lines() if "compaction swapped" in line][-1].partition("INFO")[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
