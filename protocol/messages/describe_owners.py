"""DescribeOwners: who owned which partitions of a group, in its newest generations, for the console.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, NULLABLE_BYTES, STRING, field, message


@message(ApiKey.DESCRIBE_OWNERS, versions=(0, 0), flexible_since=0)
class DescribeOwnersRequest:
    """Ask the coordinator of `group_id`."""

    group_id: str = field(STRING)


@message(ApiKey.DESCRIBE_OWNERS, versions=(0, 0), flexible_since=0)
class DescribeOwnersResponse:
    """`owners` is the JSON of a `coordinator.core.events.owners.OwnersAnswer`."""

    error_code: int = field(INT16)
    owners: bytes | None = field(NULLABLE_BYTES, default=None)
