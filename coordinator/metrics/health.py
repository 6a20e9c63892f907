"""Values that the HTTP port shows. The server fills them in; `coordinator.metrics.http_server` serves them.

Only the exposition depends on Prometheus; elsewhere a metric is a `Sample` or a `HistogramSample`. Samples of the same
name are one family and share help, kind and label names. The name of a counter ends in `_total`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

NO_LABELS: Final[Mapping[str, str]] = {}


class Sample(NamedTuple):
    """One value of a metric. `name` is complete: prefix, unit, and `_total` where `kind` is counter."""

    name: str
    help: str
    kind: Literal["gauge", "counter"]
    value: float
    labels: Mapping[str, str] = NO_LABELS


class HistogramSample(NamedTuple):
    """A histogram. `buckets` are (upper bound, cumulative count), ascending; the last bound is infinity, and its count
    the number of measurements."""

    name: str
    help: str
    buckets: Sequence[tuple[float, int]]
    sum: float
    labels: Mapping[str, str] = NO_LABELS


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of the daemon at one moment. `reason` says in a few words why it is not ready, or that it is."""

    ready: bool
    reason: str
    metrics: Sequence[Sample | HistogramSample] = field(default_factory=tuple)
