"""Runs of a coordinator that end with SIGKILL: a small server that forks one process for each.

A line of JSON on stdin names a data directory and, for each run, the number of the step at which it is killed (null:
none); also a mutant, if the code is to leave a precaution out. A line on stdout says how each run ended, and which
steps the last one took. Forking from a process that has everything loaded makes a run cost milliseconds; this process
has one thread.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from coordinator.storage.log import swap
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from tests.compaction.swap_protocol_world import build, compact


class Killer:
    """Counts steps and ends the process at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self.kill_at = kill_at
        self.steps: list[str] = []

    def __call__(self, step: str) -> None:
        if len(self.steps) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps.append(step)


def without_intent(fs: FileSystem, directory: Path, at_step: swap.AtStep = swap.no_step) -> None:
    """A mutant that renames without a commit point, so that a crash may come between the renames."""
    fs.unlink(directory / swap.DRAFT_NAME)


def live(data_dir: Path, kill_at: int | None, mutant: str | None) -> dict[str, Any]:
    """Run a coordinator once; return how it ended, and its messages if it was not killed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        killer = Killer(kill_at)
        if mutant == "no commit point":
            swap.commit = without_intent
        try:
            said = compact(RealFileSystem(), data_dir, at_step=killer)
            answer = {"steps": killer.steps, "said": said}
        except BaseException as error:
            answer = {"error": repr(error)}
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer_text = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return {"killed": True}
    return {"killed": False, **json.loads(answer_text)}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        build(RealFileSystem(), Path(directory) / "data")
        compact(RealFileSystem(), Path(directory) / "data")  # what the job makes is remembered from now on
    for line in sys.stdin:
        case = json.loads(line)
        data_dir, mutant = Path(case["data_dir"]), case["mutant"]
        print(json.dumps([live(data_dir, kill_at, mutant) for kill_at in case["lives"]]), flush=True)


if __name__ == "__main__":
    main()
