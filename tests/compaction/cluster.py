"""A Spark standalone cluster on this machine: one master, two workers of one core each, ended by their process ids."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark

from tests.support.eventually import eventually
from tests.support.spark import FAST_JVMS, jvm_options

SPARK_HOME: Final = Path(pyspark.__file__).parent
WORKERS: Final = ("one", "two")


def environment(host: str, python: str = sys.executable) -> dict[str, str]:
    """Variables for every process of Spark: all of them stay on `host`, and executors run `python`."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": host,
        "SPARK_PUBLIC_DNS": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": jvm_options(),
        "PYSPARK_PYTHON": python,
        "PYSPARK_SUBMIT_ARGS": shlex.join((*FAST_JVMS, "pyspark-shell")),  # of a session that Python opens
    }


class Cluster:
    """The processes; `url` names the master once `start` has returned."""

    def __init__(self, directory: Path, host: str, *, memory: str = "600m") -> None:
        self.directory = directory
        self.host = host
        self.url = ""
        self._memory = memory
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> Cluster:
        deploy = "org.apache.spark.deploy"
        place = ["--host", self.host, "--port", "0", "--webui-port", "0"]
        self._spawn("master", f"{deploy}.master.Master", *place)
        self.url = eventually(self._master_url, "the master listens", within_s=60)
        for name in WORKERS:
            words = [*place, "--cores", "1", "--memory", self._memory, "--work-dir", str(self.work_dir(name))]
            self._spawn(name, f"{deploy}.worker.Worker", *words, self.url)
        log = self.directory / "master.log"
        eventually(lambda: log.read_text().count("Registering worker") >= 2, "both workers are there", within_s=60)
        return self

    def work_dir(self, worker: str) -> Path:
        return self.directory / f"work-{worker}"

    def executor_logs(self, worker: str) -> list[Path]:
        """Return the stderr of each executor of a worker."""
        return list(self.work_dir(worker).glob("app-*/*/stderr"))

    def _master_url(self) -> str:
        found = re.search(rf"spark://{re.escape(self.host)}:\d+", (self.directory / "master.log").read_text())
        return found[0] if found else ""

    def _spawn(self, name: str, *words: str) -> None:
        with (self.directory / f"{name}.log").open("wb") as log:
            command = [str(SPARK_HOME / "bin" / "spark-class"), *words]
            self._processes.append(
                subprocess.Popen(
                    command, stdout=log, stderr=subprocess.STDOUT, env=environment(self.host), cwd=self.directory
                )
            )

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
