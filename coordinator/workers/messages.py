"""What a supervisor and its workers say to each other: JSON lines over the worker's stdin and stdout.

The first line tells the worker everything it needs (`WorkerOrder`). It answers `ready` once it serves; after that each
empty line on its stdin asks for its status, which is one line back. The end of its stdin means that the supervisor is
gone, in whatever way, and that it has to end too.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from coordinator.config.config import Config
from coordinator.metrics.health import HistogramSample, Sample, ServerStatus


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """How to run: the settings, the file descriptor of the bound socket, how much to log."""

    config: Config
    listen_fd: int
    log_level: str

    def line(self) -> bytes:
        facts = {"config": dataclasses.asdict(self.config), "listen_fd": self.listen_fd, "log_level": self.log_level}
        return json.dumps(facts).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> WorkerOrder:
        facts: dict[str, Any] = json.loads(line)
        return cls(Config(**facts["config"]), facts["listen_fd"], facts["log_level"])


READY: Final = b'"ready"\n'


def status_line(status: ServerStatus) -> bytes:
    """A status as one line."""
    metrics = [[type(each).__name__, each._asdict()] for each in status.metrics]
    return json.dumps({"ready": status.ready, "reason": status.reason, "metrics": metrics}).encode() + b"\n"


def parse_status(line: bytes, labels: Mapping[str, str]) -> ServerStatus:
    """The status of a worker, with labels that say whose figures these are."""
    facts = json.loads(line)
    metrics: list[Sample | HistogramSample] = []
    for kind, values in facts["metrics"]:
        values["labels"] = {**labels, **values["labels"]}
        if kind == "HistogramSample":
            values["buckets"] = [(bound, count) for bound, count in values["buckets"]]
            metrics.append(HistogramSample(**values))
        else:
            metrics.append(Sample(**values))
    return ServerStatus(facts["ready"], facts["reason"], metrics)
