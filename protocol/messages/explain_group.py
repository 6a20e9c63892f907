"""ExplainGroup: all that the coordinator of a group knows of it, for `coordinator groups explain`.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, NULLABLE_BYTES, NULLABLE_STRING, STRING, field, message


@message(ApiKey.EXPLAIN_GROUP, versions=(0, 0), flexible_since=0)
class ExplainGroupRequest:
    """Ask the coordinator of `group_id`."""

    group_id: str = field(STRING)


@message(ApiKey.EXPLAIN_GROUP, versions=(0, 0), flexible_since=0)
class ExplainGroupResponse:
    """`story` is the JSON of a `coordinator.core.events.model.Story`."""

    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    story: bytes | None = field(NULLABLE_BYTES, default=None)
