"""GetTelemetrySubscriptions: the client metrics that a cluster wants (KIP-714)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT8, INT16, INT32, STRING, UUID, array, field, message


@message(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible_since=0)
class GetTelemetrySubscriptionsRequest:
    """Ask for the metrics to report."""

    client_instance_id: bytes = field(UUID)


@message(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible_since=0)
class GetTelemetrySubscriptionsResponse:
    """The metrics to report, their interval and their largest size."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    client_instance_id: bytes = field(UUID)
    subscription_id: int = field(INT32)
    accepted_compression_types: list[int] = field(array(INT8))
    push_interval_ms: int = field(INT32)
    telemetry_max_bytes: int = field(INT32)
    delta_temporality: bool = field(BOOL)
    requested_metrics: list[str] = field(array(STRING))
