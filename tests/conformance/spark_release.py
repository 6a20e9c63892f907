"""A release of Spark for which there are packages of Delta and Iceberg: fetched once by pip into a cache.

`python -m tests.conformance.spark_release` fetches it, and prints the directory for `PYTHONPATH`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.conformance.kafka import KafkaFetchError, cache_dir

VERSION: Final = "4.1.4"


def spark_dir() -> Path:
    """Return the directory of the release; what it needs beside it is that of the other Spark."""
    folder = cache_dir() / f"pyspark-{VERSION}"
    if folder.is_dir():
        return folder
    cache_dir().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache_dir()) as name:  # beside it first: another run may do the same
        fresh = Path(name) / "packages"
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(fresh)]
        done = subprocess.run([*command, f"pyspark=={VERSION}"], capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise KafkaFetchError(f"pip could not fetch Spark {VERSION}: {done.stderr[-600:]}")
        if not folder.is_dir():
            fresh.rename(folder)
    return folder


if __name__ == "__main__":
    print(spark_dir())
