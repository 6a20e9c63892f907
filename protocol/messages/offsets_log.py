"""Values of records in `__consumer_offsets`: Kafka's `OffsetCommitValue` and `GroupMetadataValue`.

Version 3 is written, or version 1 for an offset with its own expiry; every version is read, also the flexible version
4, which Kafka does not write yet. Use these classes through `protocol.offsets_records`, which also has the keys. Names
carry the unit that Kafka's names leave out.
"""

from __future__ import annotations

from protocol.schema import BYTES, INT32, INT64, NULLABLE_STRING, STRING, array, field, record, struct


@record(versions=(0, 4), flexible_since=4)
class OffsetValue:
    """One committed offset."""

    offset: int = field(INT64)
    leader_epoch: int = field(INT32, since=3, default=-1)  # -1: none
    metadata: str = field(STRING)
    commit_timestamp_ms: int = field(INT64)
    expire_timestamp_ms: int = field(INT64, since=1, until=1, default=-1)  # -1: none


@struct
class MemberValue:
    """One member of a group, with its part of the assignment."""

    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout_ms: int = field(INT32, since=1, default=-1)  # -1: the session timeout serves as this one too
    session_timeout_ms: int = field(INT32)
    subscription: bytes = field(BYTES)  # the metadata of the selected protocol
    assignment: bytes = field(BYTES)


@record(versions=(0, 4), flexible_since=4)
class GroupValue:
    """A generation of a group, as a restarted coordinator restores it."""

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(NULLABLE_STRING)
    leader: str | None = field(NULLABLE_STRING)
    current_state_timestamp_ms: int = field(INT64, since=2, default=-1)
    members: list[MemberValue] = field(array(MemberValue))
