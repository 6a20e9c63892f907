"""FollowCatalogue: a node reports its view of the cluster and gets the controller's catalogue of topics and documents.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it. It uses the
listener for nodes. The request is a long poll: the response comes when there is a catalogue newer than `revision` or
another document, or after `max_wait_ms`, or at once with an error message that names the setting in which two nodes
differ. Documents and transaction partitions are in tag sections, because nodes of an older version do not have them.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BYTES,
    INT16,
    INT32,
    INT64,
    NULLABLE_BYTES,
    NULLABLE_STRING,
    STRING,
    array,
    field,
    message,
    struct,
)


@struct
class FollowCatalogueNode:
    """One entry of cluster.nodes."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)


@struct
class KnownDocument:
    """A document that the asking node follows, and the digest of what it has; empty if it has none."""

    name: str = field(STRING)
    digest: bytes = field(BYTES)


@struct
class NewDocument:
    """The content of a document of the controller; empty if it has none."""

    name: str = field(STRING)
    text: bytes = field(BYTES)


@message(ApiKey.FOLLOW_CATALOGUE, versions=(0, 0), flexible_since=0)
class FollowCatalogueRequest:
    """`node_id` asks `asked_node_id` for a catalogue newer than `revision`; -1 only compares their cluster settings."""

    node_id: int = field(INT32)
    asked_node_id: int = field(INT32)
    cluster_id: str = field(STRING)
    nodes: list[FollowCatalogueNode] = field(array(FollowCatalogueNode))
    offsets_partitions: int = field(INT32)
    lineage: str = field(STRING)
    revision: int = field(INT64, default=-1)
    max_wait_ms: int = field(INT32)
    documents: list[KnownDocument] = field(array(KnownDocument), tag=0)
    transaction_partitions: int = field(INT32, tag=1, default=-1)


@message(ApiKey.FOLLOW_CATALOGUE, versions=(0, 0), flexible_since=0)
class FollowCatalogueResponse:
    """`document` is the content of topics.json of the controller; null when there is nothing newer.

    `documents` are those whose digests differ from the ones in the request.
    """

    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    node_id: int = field(INT32)
    revision: int = field(INT64)
    document: bytes | None = field(NULLABLE_BYTES, default=None)
    documents: list[NewDocument] = field(array(NewDocument), tag=0)
