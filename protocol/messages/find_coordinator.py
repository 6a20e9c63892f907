"""FindCoordinator: the node that coordinates a group or a transaction. Several keys at once from version 4 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible_since=3)
class FindCoordinatorRequest:
    """Ask which node coordinates a key, or each of several keys."""

    key: str = field(STRING, until=3)  # before v4; afterwards `coordinator_keys`
    key_type: int = field(INT8, since=1)
    coordinator_keys: list[str] = field(array(STRING), since=4)


@struct
class Coordinator:
    key: str = field(STRING)
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)


@message(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible_since=3)
class FindCoordinatorResponse:
    """The node for the key, or one entry for each key."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16, until=3)  # before v4; afterwards `coordinators`
    error_message: str | None = field(NULLABLE_STRING, since=1, until=3)
    node_id: int = field(INT32, until=3)
    host: str = field(STRING, until=3)
    port: int = field(INT32, until=3)
    coordinators: list[Coordinator] = field(array(Coordinator), since=4)
