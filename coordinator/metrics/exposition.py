"""The Prometheus exposition: a collector over plain samples, in a separate registry.

The default registry of prometheus_client is not used: it belongs to a program that embeds this package. Each scrape
reads a fresh `ServerStatus`, so no counter exists twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS_1
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector, CollectorRegistry

from coordinator.metrics.health import HistogramSample, Sample

TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text"
UNITS: Final = ("seconds", "bytes")


class SampleCollector(Collector):
    """Presents the samples of one scrape as metric families, in the order of their first appearance."""

    def __init__(self, samples: Sequence[Sample | HistogramSample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        families: dict[str, list[Sample | HistogramSample]] = {}
        for sample in self._samples:
            families.setdefault(sample.name, []).append(sample)
        for members in families.values():
            yield _family(members)


def _family(members: Sequence[Sample | HistogramSample]) -> Metric:
    first = members[0]
    labels = list(first.labels)
    unit = next((unit for unit in UNITS if first.name.removesuffix("_total").endswith(f"_{unit}")), "")
    if isinstance(first, HistogramSample):
        histogram = HistogramMetricFamily(first.name, first.help, labels=labels, unit=unit)
        for member in members:
            if isinstance(member, HistogramSample):
                buckets = [(_bound(bound), float(count)) for bound, count in member.buckets]
                histogram.add_metric([member.labels[label] for label in labels], buckets=buckets, sum_value=member.sum)
        return histogram
    family: CounterMetricFamily | GaugeMetricFamily
    if first.kind == "counter":
        family = CounterMetricFamily(first.name, first.help, labels=labels, unit=unit)
    else:
        family = GaugeMetricFamily(first.name, first.help, labels=labels, unit=unit)
    for member in members:
        if isinstance(member, Sample):
            family.add_metric([member.labels[label] for label in labels], member.value)
    return family


def _bound(bound: float) -> str:
    return "+Inf" if math.isinf(bound) else f"{bound:g}"


def expose(samples: Iterable[Sample | HistogramSample], accept: str) -> tuple[bytes, str]:
    """Return the body of a scrape and its content type: OpenMetrics 1.0 if `accept` names it, else the text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SampleCollector(list(samples)))
    if any(accepted.partition(";")[0].strip() == OPENMETRICS for accepted in accept.split(",")):
        body: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
        return body, OPENMETRICS_1
    return generate_latest(registry), TEXT_FORMAT
