"""MetricsData messages as clients make them."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData

DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def metrics_data(
    *,
    labels: Mapping[str, str] | None = None,
    gauges: Mapping[str, float] | None = None,
    sums: Mapping[str, int] | None = None,
    temporality: int = DELTA,
) -> MetricsData:
    """Return a message with one resource: its labels, gauges, and monotonic sums."""
    message = MetricsData()
    resource = message.resource_metrics.add()
    for name, value in (labels or {}).items():
        resource.resource.attributes.add(key=name).value.string_value = value
    scope = resource.scope_metrics.add()
    for name, number in (gauges or {}).items():
        scope.metrics.add(name=name).gauge.data_points.add().as_double = number
    for name, count in (sums or {}).items():
        data = scope.metrics.add(name=name).sum
        data.is_monotonic, data.aggregation_temporality = True, temporality
        data.data_points.add().as_int = count
    return message
