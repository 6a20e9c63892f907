"""Heartbeat: a member keeps its session alive, and learns when a rebalance has begun."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, NULLABLE_STRING, STRING, field, message


@message(ApiKey.HEARTBEAT, versions=(0, 4), flexible_since=4)
class HeartbeatRequest:
    """Keep the session of a member alive."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)


@message(ApiKey.HEARTBEAT, versions=(0, 4), flexible_since=4)
class HeartbeatResponse:
    """The outcome: no error while the member may continue in its generation."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
