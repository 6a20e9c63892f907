"""Releases of the client libraries of Python, brought from their package registry, and the commands that use them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

PROGRAMS: Final = Path(__file__).parent / "programs"
NEWEST: Final = {"kafka-python": "3.0.12", "aiokafka": "0.14.0", "confluent-kafka": "2.16.1"}

Prepare = Callable[[str, Path], tuple[str, ...]]


def release(client: str, version: str, build_directory: Path) -> Path:
    """Bring a release of a package, with what it depends on, unless it is there. Returns its directory."""
    directory = build_directory / f"{client}-{version}"
    if not directory.is_dir():
        unfinished = build_directory / f"{client}-{version}.{os.getpid()}"
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, "install", "--target", str(unfinished), f"{client}=={version}"], check=True)
        unfinished.rename(directory)
    return directory


def prepare(client: str, program: str, version: str, build_directory: Path) -> tuple[str, ...]:
    """Return the command that runs a program with a release of a client."""
    directory = release(client, version, build_directory)
    return ("env", f"PYTHONPATH={directory}", sys.executable, str(PROGRAMS / program))


PREPARE: Final[dict[str, Prepare]] = {
    "kafka-python": partial(prepare, "kafka-python", "kafka_python_app.py"),
    "aiokafka": partial(prepare, "aiokafka", "aiokafka_app.py"),
    "confluent-kafka": partial(prepare, "confluent-kafka", "confluent_app.py"),
}
