"""The consumer protocol: formats that consumers exchange through their coordinator, inside JoinGroup and SyncGroup.

The coordinator passes them on unchanged and reads only the topics of a subscription. They never became flexible. Every
version only appends fields to the one before.
"""

from __future__ import annotations

from protocol.schema import INT32, NULLABLE_BYTES, NULLABLE_STRING, STRING, array, field, record, struct


@struct
class TopicPartitions:
    """Some partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@record(versions=(0, 3))
class Subscription:
    """The topics that a member subscribes to: the `metadata` of its protocols in JoinGroup."""

    topics: list[str] = field(array(STRING))
    user_data: bytes | None = field(NULLABLE_BYTES, default=None)
    owned_partitions: list[TopicPartitions] = field(array(TopicPartitions), since=1)
    generation_id: int = field(INT32, since=2, default=-1)
    rack_id: str | None = field(NULLABLE_STRING, since=3, default=None)


@record(versions=(0, 3))
class Assignment:
    """The partitions that a member gets: the `assignment` in SyncGroup."""

    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    user_data: bytes | None = field(NULLABLE_BYTES, default=None)
