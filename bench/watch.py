"""Probe process that measures every millisecond for how long a server keeps one client waiting.

The process asks ApiVersions, which needs nothing but the event loop, waits for the answer, sleeps a millisecond, and
keeps the latencies by phase. `Watcher` starts it, names the phases, and reads what it found. It runs in a process of
its own because the benchmark's own work would otherwise hold it up; where it may, it takes precedence over that work,
which shares its core. Of each wait it also knows how long the server's loop was ready to run and had no core to run on
(the kernel's schedstat of its main thread): without that, a busy machine would look like a slow server.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import pinned
from bench.measure import BenchError
from bench.probe import API_VERSIONS, Probe

PAUSE_S: Final = 0.001
FINISH_S: Final = 60.0
END: Final = "."


class Watcher:
    """`with Watcher(port, core) as watcher`: name phases with `enter`; `finish` tells each one's latencies."""

    def __init__(self, port: int, core: set[int], pid: int) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), str(port), str(pid)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=pinned(core)
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "watching\n":
            self._process.kill()
            raise BenchError("the probe could not connect")

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def enter(self, phase: str) -> None:
        """Begin a phase; later measurements belong to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{phase}\n")
        self._process.stdin.flush()

    def finish(self) -> dict[str, dict[str, float]]:
        """Stop, and tell. BenchError when the server did not answer any more."""
        try:
            told, _ = self._process.communicate(f"{END}\n", timeout=FINISH_S)
        except subprocess.TimeoutExpired:
            raise BenchError(f"the probe got no answer within {FINISH_S:g} s") from None
        if self._process.returncode != 0:
            raise BenchError("the probe lost its connection")
        found: dict[str, dict[str, float]] = json.loads(told)
        return found


def without_core_ns(pid: int) -> int:
    """Return the ns for which the main thread was ready to run and had no core; 0 if the kernel does not tell."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def watch(port: int, pid: int) -> dict[str, dict[str, float]]:
    """Measure until stdin says so."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)  # only root may
    gc.disable()
    found: dict[str, list[tuple[float, float]]] = {}
    phase = "before"
    with Probe(port, within_s=FINISH_S) as probe:
        print("watching", flush=True)
        while True:
            if select.select([sys.stdin], [], [], 0)[0]:
                phase = sys.stdin.readline().strip()
                if phase in ("", END):
                    break
            waited_ns = without_core_ns(pid)
            _, ms = probe.exchange(API_VERSIONS)
            waited_ms = (without_core_ns(pid) - waited_ns) / 1e6
            found.setdefault(phase, []).append((ms, max(0.0, ms - waited_ms)))
            time.sleep(PAUSE_S)
    return {name: summary(each) for name, each in found.items()}


def summary(latencies: list[tuple[float, float]]) -> dict[str, float]:
    ordered = sorted(ms for ms, _ in latencies)
    return {
        "count": len(ordered),
        "p50_ms": ordered[len(ordered) // 2],
        "p99_ms": ordered[len(ordered) * 99 // 100],
        "longest_ms": ordered[-1],
        "longest_with_a_core_ms": max(with_a_core for _, with_a_core in latencies),
    }


if __name__ == "__main__":
    print(json.dumps(watch(int(sys.argv[1]), int(sys.argv[2]))))
