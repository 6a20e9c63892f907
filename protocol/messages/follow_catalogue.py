"""FollowCatalogue, ours alone: a node tells what it knows of the cluster, and gets the controller's catalogue.

Not a part of Kafka's protocol: its key lies far outside Kafka's range, and ApiVersions does not tell of it. It travels
on the listener that clients use. The request is a long poll: the answer comes when there is a catalogue newer than
`revision`, or after `max_wait_ms`, or at once with the sentence that names what two nodes do not agree on.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, NULLABLE_BYTES, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class FollowCatalogueNode:
    """One entry of cluster.nodes."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)


@message(ApiKey.FOLLOW_CATALOGUE, versions=(0, 0), flexible_since=0)
class FollowCatalogueRequest:
    """`node_id` asks `asked_node_id`; `revision` is what it has, and -1 asks whether both know the same cluster."""

    node_id: int = field(INT32)
    asked_node_id: int = field(INT32)
    cluster_id: str = field(STRING)
    nodes: list[FollowCatalogueNode] = field(array(FollowCatalogueNode))
    offsets_partitions: int = field(INT32)
    lineage: str = field(STRING)
    revision: int = field(INT64, default=-1)
    max_wait_ms: int = field(INT32)


@message(ApiKey.FOLLOW_CATALOGUE, versions=(0, 0), flexible_since=0)
class FollowCatalogueResponse:
    """`document` is null when there is nothing newer. It is what the controller has in topics.json."""

    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    node_id: int = field(INT32)
    revision: int = field(INT64)
    document: bytes | None = field(NULLABLE_BYTES, default=None)
