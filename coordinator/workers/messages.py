"""Messages between a supervisor and its workers: JSON lines over the worker's stdin and stdout.

The first line configures the worker (`WorkerOrder`). The worker answers `ready` once it serves; after that, each empty
line on its stdin asks for its status, which it answers with one line. At the end of its stdin, when the supervisor has
ended for any reason, the worker ends too.

The standard library encodes them: msgspec has no JSON form of infinity, the last bound of each histogram.
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
    """The settings of a worker, the file descriptor of its bound socket, its log level, and the supervisor's HTTP."""

    config: Config
    listen_fd: int
    log_level: str
    http_address: str = ""  # empty: there is none

    def line(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> WorkerOrder:
        facts: dict[str, Any] = json.loads(line)
        return cls(**{**facts, "config": Config(**facts["config"])})


READY: Final = b'"ready"\n'


def status_line(status: ServerStatus) -> bytes:
    """Encode a status as one line."""
    metrics = [[type(each).__name__, each._asdict()] for each in status.metrics]
    return json.dumps({"ready": status.ready, "reason": status.reason, "metrics": metrics}).encode() + b"\n"


def parse_status(line: bytes, labels: Mapping[str, str]) -> ServerStatus:
    """Decode the status of a worker, adding `labels` to each metric."""
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
