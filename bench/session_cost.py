"""The cost of a command with all its processes, which are in a session of their own: time, CPU time and memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.measure import BenchError

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")
LOOK_S: Final = 0.05  # between two looks at the memory


class SessionCost(NamedTuple):
    """Seconds, CPU seconds of all processes, and the most memory that they had together."""

    seconds: float
    cpu_s: float
    peak_mb: float


def now(leader: int) -> tuple[float, float]:
    """Return the CPU seconds of the processes of a session, with those of their children that ended, and their MB."""
    cpu = pages = 0
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and os.getsid(int(path.name)) == leader:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                cpu += sum(map(int, fields[11:15]))
                pages += int((path / "statm").read_text().split()[1])
        except (OSError, ProcessLookupError):
            continue
    return cpu / TICKS, pages * PAGE / 1e6


def cost_of(command: Sequence[str], *, within_s: float = 900) -> SessionCost:
    """Run a command to its end. BenchError: it fails."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    cpu_s = peak_mb = 0.0
    while process.poll() is None and time.monotonic() - begun < within_s:
        now_s, now_mb = now(process.pid)
        cpu_s, peak_mb = max(cpu_s, now_s), max(peak_mb, now_mb)
        time.sleep(LOOK_S)
    process.kill()
    _, said = process.communicate()
    if process.returncode:
        raise BenchError(f"{' '.join(command[3:6])}: {said.decode().strip()[-300:]}")
    return SessionCost(time.monotonic() - begun, cpu_s, peak_mb)
