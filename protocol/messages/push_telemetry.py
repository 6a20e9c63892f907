"""PushTelemetry: send client metrics to the cluster (KIP-714)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, BYTES, INT8, INT16, INT32, UUID, field, message


@message(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible_since=0)
class PushTelemetryRequest:
    """Report metrics."""

    client_instance_id: bytes = field(UUID)
    subscription_id: int = field(INT32)
    terminating: bool = field(BOOL)
    compression_type: int = field(INT8)
    metrics: bytes = field(BYTES)


@message(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible_since=0)
class PushTelemetryResponse:
    """The outcome."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
