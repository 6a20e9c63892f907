"""Measurements of the machine for benchmarks: processes, CPU time, memory, foreign load, the disk, the C programs.

Everything comes from /proc and the process clocks, so that no server has to help. CPU time is user and system time of
a whole process tree, in nanoseconds. Memory is told as proportional set size, which counts a page that two workers
share once, and as resident set size, added up over the processes.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
BUILD: Final = HERE / "build"
QUIET_SHARE: Final = 0.08
CPU_CLOCK: Final = 2  # CPUCLOCK_SCHED in the kernel's clock ids: the nanoseconds a process ran


class BenchError(Exception):
    """A benchmark cannot run or has seen a wrong answer; the text says what to do or what was seen."""


def build_program(name: str, source: Path | None = None) -> Path:
    """The C program `name`, compiled when it is older than its source or a header beside it."""
    BUILD.mkdir(exist_ok=True)
    source, program = source or HERE / f"{name}.c", BUILD / name
    sources = [source, *source.parent.glob("*.h")]
    if program.exists() and all(program.stat().st_mtime >= each.stat().st_mtime for each in sources):
        return program
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise BenchError("no C compiler found; install one (Debian: apt-get install gcc libc6-dev)")
    partial = BUILD / f"{name}.{os.getpid()}"  # another benchmark may run the old one, or build the same
    subprocess.run([compiler, "-O2", "-Wall", "-o", str(partial), str(source), "-lm"], check=True)
    partial.replace(program)
    return program


def cores() -> tuple[set[int], set[int]]:
    """One core for the server, another for the load; the same one twice only where there is no second."""
    available = sorted(os.sched_getaffinity(0))
    return {available[0]}, {available[-1]}


def all_cores() -> set[int]:
    return set(os.sched_getaffinity(0))


def process_tree(root: int) -> list[int]:
    """`root` and its descendants, from /proc: `--workers` makes a tree, a JVM does not."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:  # gone since the listing
            continue
        parent = int(text.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(stat.parent.name))
    tree = [root]
    for pid in tree:
        tree.extend(children.get(pid, []))
    return tree


def cpu_ns(pids: list[int]) -> int:
    """CPU time that these processes have used since they started. OSError when one is gone."""
    return sum(time.clock_gettime_ns(~pid << 3 | CPU_CLOCK) for pid in pids)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process tree, in bytes. `peak_rss_bytes` adds each process's own peak."""

    rss_bytes: int
    pss_bytes: int
    peak_rss_bytes: int


def memory(pids: list[int]) -> Memory:
    """Return the memory that these processes hold now."""
    totals = {"Rss:": 0, "Pss:": 0, "VmHWM:": 0}
    for pid in pids:
        for name in ("smaps_rollup", "status"):
            for line in Path(f"/proc/{pid}/{name}").read_text().splitlines():
                word = line.partition(" ")[0]
                word = word.partition("\t")[0]
                if word in totals:
                    totals[word] += int(line.split()[1]) * 1024
    return Memory(totals["Rss:"], totals["Pss:"], totals["VmHWM:"])


def busy_share(seconds: float = 0.3) -> float:
    """Return the share of all cores that is in use now, by all processes."""

    def jiffies() -> tuple[int, int]:
        fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(fields) - fields[3] - fields[4], sum(fields)  # all but idle and iowait

    busy, total = jiffies()
    time.sleep(seconds)
    busy_after, total_after = jiffies()
    return (busy_after - busy) / max(1, total_after - total)


def wait_for_quiet(limit_s: float) -> bool:
    """Wait until the machine has nothing else to do; False if that did not come."""
    deadline = time.monotonic() + limit_s
    while busy_share() > QUIET_SHARE:
        if time.monotonic() > deadline:
            return False
    return True


def fdatasync_us(directory: Path, times: int = 100) -> list[float]:
    """Return the times in µs of appends of 4 kB with fdatasync on this disk."""
    path = directory / "fdatasync"
    durations = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        for _ in range(times):
            os.write(fd, b"x" * 4096)
            begun = time.perf_counter()
            os.fdatasync(fd)
            durations.append((time.perf_counter() - begun) * 1e6)
    finally:
        os.close(fd)
        path.unlink()
    return durations


def machine() -> dict[str, Any]:
    """Describe the machine that the figures were taken on."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
    }
