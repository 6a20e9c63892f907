"""ListGroupFigures: the groups that a node coordinates, with their figures, for the console.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, STRING, array, field, message, struct


@message(ApiKey.LIST_GROUP_FIGURES, versions=(0, 0), flexible_since=0)
class ListGroupFiguresRequest:
    """Ask a node for all groups that it coordinates."""


@struct
class ListedGroupFigures:
    """Figures of one group. Those of its lag are about a second old; -1: not known."""

    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING)
    members: int = field(INT32)
    generation: int = field(INT32)
    lag: int = field(INT64)
    unknown_partitions: int = field(INT32)
    rebalances: int = field(INT32)
    last_rebalance_ms: int = field(INT64)


@message(ApiKey.LIST_GROUP_FIGURES, versions=(0, 0), flexible_since=0)
class ListGroupFiguresResponse:
    """The groups, in no particular order."""

    error_code: int = field(INT16)
    groups: list[ListedGroupFigures] = field(array(ListedGroupFigures))
