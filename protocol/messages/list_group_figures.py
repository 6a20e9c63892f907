"""ListGroupFigures: the groups that a node coordinates, with their figures, for the console.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BYTES, INT16, array, field, message


@message(ApiKey.LIST_GROUP_FIGURES, versions=(0, 0), flexible_since=0)
class ListGroupFiguresRequest:
    """Ask a node for all groups that it coordinates."""


@message(ApiKey.LIST_GROUP_FIGURES, versions=(0, 0), flexible_since=0)
class ListGroupFiguresResponse:
    """Each part is the JSON of a list of `coordinator.core.events.listed.ListedFigures`, in no particular order."""

    error_code: int = field(INT16)
    parts: list[bytes] = field(array(BYTES))
