"""Writes an archive of Spark's classes, with which each JVM of the tests starts in half the time: `python -m ...`.

Class data sharing of the JVM: it notes the classes that a small job has loaded, when it ends. `.ci/run` writes the
archive once; without it the same tests run, more slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coordinator.spark.spark_session import SessionSettings, open_session
from tests.support.spark import ARCHIVE, JVM_OPTIONS, SMALL


def same(batches: Iterator[Any]) -> Iterator[Any]:
    """Return what comes."""
    yield from batches


def main() -> None:
    """Run a job as compaction does, and wait until its JVM has written the archive."""
    ARCHIVE.unlink(missing_ok=True)
    options = " ".join((*JVM_OPTIONS, f"-XX:ArchiveClassesAtExit={ARCHIVE}", "-Xlog:disable"))
    conf = SMALL | {"spark.driver.defaultJavaOptions": options}
    spark = open_session(SessionSettings(master="local[2]", driver_memory="1g", name="archive", conf=conf))
    process = spark.sparkContext._gateway.proc
    spark.range(0, 100, 1, 2).mapInArrow(same, "id long").groupBy("id").count().orderBy("id").toArrow()
    spark.stop()
    process.stdin.close()  # the JVM ends with its parent, which this tells it
    process.wait(300)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size >> 20} MB")


if __name__ == "__main__":
    main()
