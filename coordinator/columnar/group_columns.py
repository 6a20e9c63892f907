"""The metadata of groups as columns: generation, protocol, leader, and the members as a list of structs.

Group records are rare and nested, so they are decoded one by one and scattered over the table's rows. Subscription and
assignment of members are encoded in the consumer protocol, of which every version begins like the first; for another
protocol (Connect's workers), or malformed bytes, both are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from protocol.consumer import subscribed_topics
from protocol.errors import DecodeError
from protocol.generated.consumer_protocol import DECODE_ASSIGNMENT
from protocol.offsets_records import GroupValue, MemberValue

CONSUMER: Final = "consumer"

ASSIGNMENT: Final = pa.list_(pa.struct([("topic", pa.string()), ("partitions", pa.list_(pa.int32()))]))
MEMBERS: Final = pa.list_(
    pa.struct(
        [
            ("member_id", pa.string()),
            ("group_instance_id", pa.string()),
            ("client_id", pa.string()),
            ("client_host", pa.string()),
            ("session_timeout_ms", pa.int32()),
            ("rebalance_timeout_ms", pa.int32()),
            ("topics", pa.list_(pa.string())),  # of its subscription
            ("assignment", ASSIGNMENT),
        ]
    )
)
GROUP_FIELDS: Final = (
    pa.field("generation", pa.int32()),
    pa.field("protocol_type", pa.string()),
    pa.field("protocol", pa.string()),
    pa.field("leader", pa.string()),
    pa.field("since_ms", pa.int64()),  # when the group entered its state
    pa.field("members", MEMBERS),
)


def group_columns(values: Mapping[int, GroupValue], count: int) -> dict[str, pa.Array]:
    """Return a column of `count` rows for each of GROUP_FIELDS, null in rows that `values` does not have."""
    rows = [_row(value) for value in values.values()]
    columns = {
        field.name: scattered(list(values), [row[field.name] for row in rows], count, field.type)
        for field in GROUP_FIELDS[:-1]
    }
    columns["members"] = _members(values, count)
    return columns


def scattered(rows: list[int], values: list[Any], count: int, kind: pa.DataType) -> pa.Array:
    """Return a column with `values` in some rows, and nulls in the others."""
    if not rows:
        return pa.nulls(count, kind)
    places = np.zeros(count, np.int64)
    places[rows] = np.arange(len(rows))
    is_null = np.ones(count, np.bool_)
    is_null[rows] = False
    return pa.array(values, kind).take(pa.array(places, mask=is_null))


def _members(values: Mapping[int, GroupValue], count: int) -> pa.Array:
    """Return the column of members, built from one flat list and the position where each row's members begin."""
    size = np.zeros(count + 1, np.int32)
    is_null = np.ones(count, np.bool_)
    for row, value in values.items():
        size[row + 1] = len(value.members)
        is_null[row] = False
    found = [
        _member(each, is_consumer=value.protocol_type == CONSUMER)
        for _, value in sorted(values.items())
        for each in value.members
    ]
    begins = pa.array(np.cumsum(size, dtype=np.int32))
    return pa.ListArray.from_arrays(begins, pa.array(found, MEMBERS.value_type), type=MEMBERS, mask=pa.array(is_null))


def _row(value: GroupValue) -> dict[str, Any]:
    return {
        "generation": value.generation,
        "protocol_type": value.protocol_type,
        "protocol": value.protocol,
        "leader": value.leader,
        "since_ms": None if value.current_state_timestamp_ms < 0 else value.current_state_timestamp_ms,
    }


def _member(member: MemberValue, *, is_consumer: bool) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": None if member.rebalance_timeout_ms < 0 else member.rebalance_timeout_ms,
        "topics": _topics(member.subscription) if is_consumer else None,
        "assignment": _assignment(member.assignment) if is_consumer else None,
    }


@lru_cache(maxsize=4096)  # a member's subscription is the same in every generation
def _topics(subscription: bytes) -> list[str] | None:
    try:
        return subscribed_topics(subscription)
    except DecodeError:
        return None


@lru_cache(maxsize=4096)
def _assignment(assignment: bytes) -> list[dict[str, Any]] | None:
    if not assignment:
        return []
    try:
        decoded = DECODE_ASSIGNMENT[0](assignment, 2)
    except DecodeError:
        return None
    return [{"topic": each.topic, "partitions": each.partitions} for each in decoded.assigned_partitions]
