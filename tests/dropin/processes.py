"""Commands of other projects: run to their end or killed with all their children after a time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

PREPARE_WITHIN_S: Final = 1_800
INTERRUPTED_WITHIN_S: Final = 30
# What concerns the tests of this repository, and not those of others.
OWN: Final = ("PYTHONPATH", "PYTHONHASHSEED", "PYTEST_ADDOPTS", "MAKEFLAGS", "MAKELEVEL", "VIRTUAL_ENV")


class PrepareError(Exception):
    """A project could not be fetched or built; the text ends with what the command printed."""


def surroundings(more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment for a command of another project."""
    return {**{name: value for name, value in os.environ.items() if name not in OWN}, **more}


def prepare(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command that fetches or builds; return its standard output.

    Raises PrepareError with the end of its output when it fails.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=surroundings(environment or {}),
        capture_output=True,
        text=True,
        timeout=PREPARE_WITHIN_S,
    )
    if done.returncode != 0:
        raise PrepareError(f"{' '.join(map(str, command))}: {(done.stdout + done.stderr)[-2_000:]}")
    return done.stdout


def run_tests(
    command: Sequence[str | Path], folder: Path, output: Path, environment: Mapping[str, str], within_s: int
) -> None:
    """Run the tests of a project; their exit code says no more than their verdicts, so it is not looked at."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env=surroundings(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            file.write(f"\ndrop-in: ended after {within_s} s\n".encode())
            file.flush()
            os.killpg(process.pid, signal.SIGINT)  # a runner that heeds it writes the verdicts it has
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=INTERRUPTED_WITHIN_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
