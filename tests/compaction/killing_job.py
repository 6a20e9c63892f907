"""A job whose executor is killed in the middle: `python -m tests.compaction.killing_job MASTER JOB_DIR MODE`.

The first task that has done its work kills its executor's JVM, once. Prints the manifest.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from coordinator.compaction import spark_compact, spark_tasks
from coordinator.compaction.plan import JobDir
from coordinator.compaction.spark_compact import Mode, run_job
from coordinator.spark.spark_session import SessionSettings, open_session

TASKS = {Mode.PARTITION: "compact", Mode.DISTRIBUTED: "rewrite"}


class KillingTasks:
    """`spark_tasks` with a task that kills. An object, because objects are sent to the workers by value."""

    def __init__(self, name: str, witness: Path) -> None:
        self.name = name
        self.witness = witness

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("name", "witness"):
            raise AttributeError(name)
        function = getattr(spark_tasks, name)
        if name != self.name:
            return function
        witness = self.witness

        def run(*given: Any) -> str:
            text: str = function(*given)
            try:
                os.close(os.open(witness, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return text
            forking_daemon = os.getppid()
            executor = int(Path(f"/proc/{forking_daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(60)  # until the process that watches this one notices
            return text

        return run

    def __reduce__(self) -> Any:
        return KillingTasks, (self.name, self.witness)


def main(master: str, job_path: str, mode: str) -> None:
    job = JobDir(Path(job_path))
    conf = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2"}
    spark = open_session(SessionSettings(master=master, driver_memory="512m", conf=conf))
    spark_compact.spark_tasks = KillingTasks(TASKS[Mode(mode)], job.path / "killed")  # type: ignore[assignment]
    report = run_job(job, mode=Mode(mode), spark=spark, now_ms=int(time.time() * 1000))
    spark.stop()
    sys.stdout.write(report.manifest.to_bytes().decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
