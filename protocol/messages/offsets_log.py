"""The values of records in `__consumer_offsets`, as Kafka writes them there (spec/classic-groups 12.2 and 12.3).

Writers use version 3, and version 1 where an offset has an expiry of its own; readers take every version, also the
flexible version 4 that nobody writes yet. The keys, which never had anything optional, are in
`protocol.offsets_records`, which is also the way to use these classes. Names carry the unit that Kafka's leave out.
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
    rebalance_timeout_ms: int = field(INT32, since=1, default=-1)  # -1: the session timeout serves for both
    session_timeout_ms: int = field(INT32)
    subscription: bytes = field(BYTES)  # the metadata of the selected protocol
    assignment: bytes = field(BYTES)


@record(versions=(0, 4), flexible_since=4)
class GroupValue:
    """A generation of a group: what a restarted coordinator knows of it."""

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(NULLABLE_STRING)
    leader: str | None = field(NULLABLE_STRING)
    current_state_timestamp_ms: int = field(INT64, since=2, default=-1)
    members: list[MemberValue] = field(array(MemberValue))
