"""The daemon's child process for compaction: `python -m coordinator.compaction.child plan|check|run`.

`plan` hashes closed segments. `check` reads them again, compares them with the result, and for the offsets log asks the
daemon for rows from memory; several children do it at once, each for some partitions. `run` starts a job and watches
it. In the daemon's own process even a thread would delay the event loop, because Python runs one thread at a time. The
child runs at a low priority (`nice`). It takes one order from stdin (`frames.py`) and writes one answer; in between it
reports progress, and `check` asks for rows.

It ends when its lifeline is cut, and ends the job that it started: a daemon that is killed leaves no processes. It
needs no package of the extras `[history]` and `[spark]`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from coordinator.compaction import swap_protocol
from coordinator.compaction.eligibility import LogFacts
from coordinator.compaction.log_tail import read_tail
from coordinator.compaction.memory_check import MemoryCheck
from coordinator.compaction.plan import JobDir, PartitionPlan, PartitionResult
from coordinator.compaction.planning import PlanningError, PlanOptions, make_plan
from coordinator.compaction.validate import LateError, RefusedError
from coordinator.core.offsets.replay import Replay
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.processes import child_entry, frames
from coordinator.processes.child_process import LIFELINE_VARIABLE
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import MarksError, mark_of
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.log.staging import SwapRefusedError
from coordinator.storage.log.swap import AtStep, no_step
from protocol.errors import ProtocolError

ROWS_TRIES: Final = 60  # one a second while the partition is being loaded
LINES_KEPT: Final = 20  # of a job's output, for the daemon's log
LINE_BYTES: Final = 500
TERM_S: Final = 3.0  # between SIGTERM and SIGKILL for a job

Order = Mapping[str, Any]
Answer = dict[str, Any]


def main(argv: list[str] | None = None, at_step: AtStep = no_step) -> int:
    """Read one order from stdin, write one answer to stdout. `at_step` is called before every change of the disk."""
    act = ACTS[(argv or sys.argv[1:])[0]]
    stdin, stdout = child_entry.begin(when_cut=end_job)
    order = frames.read(stdin)
    frames.write(stdout, act(order, stdin, stdout, at_step))
    return 0


def _heard(at_step: AtStep, stdout: IO[bytes]) -> AtStep:
    """Return an `at_step` that first reports to the daemon that this child makes progress."""

    def step(name: str) -> None:
        frames.write(stdout, frames.ALIVE)
        at_step(name)

    return step


# --- plan -------------------------------------------------------------------------------------------------------------


def plan(order: Order, stdin: IO[bytes], stdout: IO[bytes], at_step: AtStep) -> Answer:
    """Make a plan for what is due; the answer says why there is none."""
    options = msgspec.json.decode(order["options"], type=PlanOptions)
    logs = msgspec.json.decode(order["logs"], type=list[LogFacts])
    try:
        if order["history_dir"]:
            history_dir = Path(order["history_dir"])
            marks = {log.partition: mark_of(history_dir, log.partition) for log in logs}
            options = replace(options, not_beyond=marks)
        planned = make_plan(
            RealFileSystem(),
            Path(order["data_dir"]),
            logs,
            epoch=order["epoch"],
            now_ms=order["now_ms"],
            options=options,
            at_step=_heard(at_step, stdout),
        )
    except (PlanningError, MarksError) as error:
        return {"plan_id": "", "sentence": str(error)}
    except OSError as error:
        return {"plan_id": "", "sentence": f"no plan could be made ({error}); look at the disk, then try again"}
    made = planned.plan
    return {
        "plan_id": made.id if made else "",
        "expires_ms": made.expires_ms if made else 0,
        "partitions": [part.partition for part in sorted(made.partitions, key=_size, reverse=True)] if made else [],
        "left_bytes": made.left_bytes if made else 0,
        "sentence": planned.sentence(),
    }


def _size(part: PartitionPlan) -> int:
    return sum(segment.size_bytes for segment in part.inputs)


# --- check ------------------------------------------------------------------------------------------------------------


def check(order: Order, stdin: IO[bytes], stdout: IO[bytes], at_step: AtStep) -> Answer:
    """Check the result of a job for some partitions, and stage them for the swap.

    The answer has one of: `accepted` (plan and manifest as bytes), `refused` (a sentence, and whether it is evidence),
    `settled`, and `again` (a sentence: the cause is not the result).
    """
    fs, data_dir = RealFileSystem(), Path(order["data_dir"])
    rows = 0

    job = JobDir.of(data_dir, order["plan_id"])

    def progress() -> None:
        job.touch()  # extends the time limit of the waiting command
        frames.write(stdout, frames.ALIVE)

    try:
        found = swap_protocol.read_result(fs, data_dir, order["plan_id"], epoch=order["epoch"], now_ms=order["now_ms"])
        results = [result for result in found.results if result.partition in order["partitions"]]
        for result in results:
            if found.plan.topic == OFFSETS_TOPIC:
                left = swap_protocol.check(fs, data_dir, found, result, progress=progress)
                rows += check_memory(fs, data_dir, found, result, left, stdin, stdout)
            else:
                swap_protocol.check_against_inputs(fs, data_dir, found, result, progress=progress)
        swap_protocol.stage(
            fs,
            data_dir,
            found,
            results,
            index_interval_bytes=order["index_interval_bytes"],
            at_step=_heard(at_step, stdout),
        )
    except LateError as error:
        return {"refused": str(error), "evidence": False}
    except (RefusedError, SwapRefusedError) as error:
        return {"refused": str(error), "evidence": True}
    except swap_protocol.AlreadySettledError as error:
        return {"settled": str(error)}
    except (OSError, LogError, ProtocolError, _NotNowError) as error:
        return {"again": str(error)}
    return {"accepted": [found.plan.to_bytes(), found.manifest.to_bytes()], "rows": rows}


class _NotNowError(Exception):
    """Memory cannot be asked at the moment."""


def check_memory(
    fs: FileSystem,
    data_dir: Path,
    accepted: swap_protocol.Accepted,
    result: PartitionResult,
    left: Replay,
    stdin: IO[bytes],
    stdout: IO[bytes],
) -> int:
    """Compare what one partition's outputs leave with the daemon's memory; return the number of rows compared.

    RefusedError: they differ.
    """
    partition = result.partition
    part = accepted.plan.partition(partition)
    assert part is not None, "it was accepted"
    found = MemoryCheck(left)
    until = _ask_for_rows(partition, part.clean_up_to, found, stdin, stdout)
    for header, records in read_tail(fs, offsets_log_dir(data_dir, partition), part.clean_up_to, until):
        found.add_tail(header, records)
    if difference := found.difference():
        raise RefusedError(f"partition {partition}: {difference}")
    return found.rows


def _ask_for_rows(partition: int, below_offset: int, into: MemoryCheck, stdin: IO[bytes], stdout: IO[bytes]) -> int:
    """Add the daemon's rows to `into`; return the offset up to which the live log may explain differences."""
    for _ in range(ROWS_TRIES):
        into.begin_rows()
        frames.write(stdout, {"rows_of": partition, "below_offset": below_offset})
        while True:
            kind, content = frames.read(stdin)
            if kind == "rows":
                for row in content:
                    into.add_row(row)
            elif kind == "end":
                return int(content)
            else:
                break
        time.sleep(1)  # the partition is being loaded
    raise _NotNowError(f"partition {partition} has been loading for too long")


# --- run --------------------------------------------------------------------------------------------------------------

_job: subprocess.Popen[bytes] | None = None


def run(order: Order, stdin: IO[bytes], stdout: IO[bytes], at_step: AtStep) -> Answer:
    """Start a job and wait for its end; the answer has its exit code and its last lines of output."""
    global _job
    environment = {name: value for name, value in os.environ.items() if name != LIFELINE_VARIABLE}
    try:
        job = _job = subprocess.Popen(
            order["command"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    except OSError as error:
        return {"code": 127, "lines": [f"{order['command'][0]} cannot be started ({error.strerror or error})"]}
    assert job.stdout is not None
    lines: deque[str] = deque(maxlen=LINES_KEPT)
    while piece := job.stdout.readline(LINE_BYTES):
        if text := piece.decode(errors="replace").strip():
            lines.append(text)
    return {"code": job.wait(), "lines": list(lines)}


def end_job() -> None:
    """Send SIGTERM to the job, then SIGKILL to the process group, this process included."""
    if _job is None:
        return
    with contextlib.suppress(OSError):
        _job.terminate()
    deadline = time.monotonic() + TERM_S
    while _job.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)


ACTS: Final[Mapping[str, Callable[[Order, IO[bytes], IO[bytes], AtStep], Answer]]] = {
    "plan": plan,
    "check": check,
    "run": run,
}

if __name__ == "__main__":
    sys.exit(main())
