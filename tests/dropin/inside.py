"""One run of one project against one server, in a network namespace that has only loopback.

`python -m tests.dropin.inside PROJECT SERVER FOLDER OUTPUT` is started under `unshare --net`, so that port 9092 is free
and the code of the project reaches nothing outside. The result is one JSON file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.conformance.kafka import Kafka
from tests.dropin.model import ADDRESS
from tests.dropin.table import project_of
from tests.support.daemon import Daemon

PORT: Final = int(ADDRESS.rpartition(":")[2])
# What the images of Kafka for tests set, and what a Kafka has where the class `Kafka` has something smaller.
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "true",
    "num.network.threads": "3",
    "num.io.threads": "8",
    "log.cleaner.enable": "true",
}


def start(server: str, directory: Path, settings: dict[str, str]) -> Kafka | Daemon:
    """Return the server of that name, listening on port 9092."""
    if server == "kafka":
        kafka = Kafka(directory, settings=settings, heap="1g", is_brief=False)
        kafka.port = PORT
        return kafka.start()
    daemon = Daemon(directory, overrides=[f"{key}={value}" for key, value in settings.items()])
    daemon.port = PORT
    return daemon.start()


def main(name: str, server: str, folder: Path, output: Path) -> int:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    language, project = project_of(name)
    settings = {**SETTINGS, **project.settings}
    with tempfile.TemporaryDirectory() as directory:
        begun = time.monotonic()
        running = start(server, Path(directory), settings)
        started_s = time.monotonic() - begun
        try:
            for topic in project.topics:
                running.create_topic(topic, 1)
            verdicts = language.run(project, folder, output.with_suffix(".log"))
        finally:
            took_s = time.monotonic() - begun
            running.kill()
            output.with_suffix(".server.log").write_bytes(running.log_file.read_bytes())
    output.write_text(json.dumps({"started_s": started_s, "took_s": took_s, "verdicts": verdicts}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
