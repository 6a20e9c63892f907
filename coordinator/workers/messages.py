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
from dataclasses import dataclass, field
from typing import Any, Final

from coordinator.config.config import Config
from coordinator.metrics.health import HistogramSample, Sample, ServerStatus


@dataclass(frozen=True, slots=True)
class InternalOrder:
    """The listener of a worker for the other parts of the daemon, and those of all workers by node id."""

    fd: int
    secret: str = field(repr=False)
    addresses: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """The settings of a worker, the descriptors of its bound sockets, and what else its supervisor has."""

    config: Config
    listen_fds: tuple[int, ...]  # of all listeners, in their order
    log_level: str
    documents_dir: str  # of users, access rules and quotas
    http_address: str = ""  # of the supervisor; empty: there is none
    internal: InternalOrder | None = None  # None: all listeners are open to all

    @property
    def descriptors(self) -> tuple[int, ...]:
        return self.listen_fds if self.internal is None else (*self.listen_fds, self.internal.fd)

    def line(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> WorkerOrder:
        facts: dict[str, Any] = json.loads(line)
        config, internal = facts["config"], facts["internal"]
        config["listener_settings"] = tuple(map(tuple, config["listener_settings"]))
        if internal is not None:
            addresses = {int(node_id): address for node_id, address in internal["addresses"].items()}
            facts["internal"] = InternalOrder(**{**internal, "addresses": addresses})
        return cls(**{**facts, "config": Config(**config), "listen_fds": tuple(facts["listen_fds"])})


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
