"""The records of KIP-848 groups and of share groups as columns: one row for each record, whatever its kind.

They are rare and nested, so they are decoded one by one. `kind` says which record a row is: "group" (its epoch),
"topics", "member", "target_epoch", "target", "current" or "regex"; of a share group it begins with "share_". `name` is
the member id or the regular expression. Topics are known by their ids here, as Kafka writes them (base64). A record
that cannot be decoded is left out.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from coordinator.columnar.batches import Batches
from coordinator.columnar.kernel import Records
from protocol.errors import DecodeError
from protocol.group_records import RecordKind, decode_record_key, decode_record_value

PARTITIONS: Final = pa.list_(pa.struct([("topic_id", pa.string()), ("partitions", pa.list_(pa.int32()))]))
CONSUMERS: Final = pa.schema(
    [
        pa.field("log_offset", pa.int64()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("batch_offset", pa.int64()),  # the records of one event are in one batch
        pa.field("group", pa.string()),
        pa.field("tombstone", pa.bool_()),
        pa.field("kind", pa.string()),
        pa.field("name", pa.string()),
        pa.field("epoch", pa.int32()),  # of the group, of its target, or of a member
        pa.field("previous_epoch", pa.int32()),  # of a member
        pa.field("state", pa.string()),  # of a member: stable, unrevoked, unreleased, unknown
        pa.field("group_instance_id", pa.string()),
        pa.field("rack_id", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("client_host", pa.string()),
        pa.field("rebalance_timeout_ms", pa.int32()),
        pa.field("topics", pa.list_(pa.string())),  # that a member subscribes to, or that match the expression
        pa.field("topic_regex", pa.string()),
        pa.field("assignor", pa.string()),
        pa.field("protocol", pa.string()),  # of a member: consumer, classic or share
        pa.field("assignment", PARTITIONS),  # the target of a member, or what it has
        pa.field("pending", PARTITIONS),  # what a member still has to give up
    ]
)
_STATES: Final = {0: "stable", 1: "unrevoked", 2: "unreleased"}
SHARE: Final = "share_"  # before the kind of a record of a share group


def consumers_table(batches: Batches, records: Records) -> pa.Table:
    """Return a row for each record of a KIP-848 or a share group, in log order."""
    source = np.frombuffer(records.data, np.uint8)
    rows = np.flatnonzero((records.key_len >= 4) & ~batches.is_control[records.batch])
    at = records.key_at[rows]
    kinds = source[at].astype(np.int32) << 8 | source[at + 1]
    rows = rows[np.isin(kinds, [int(kind) for kind in _KINDS])]

    def part(at: int, size: int) -> bytes:
        return source[at : at + size].tobytes()

    found = []
    for row in rows.tolist():
        value_size = int(records.value_len[row])
        value = None if value_size < 0 else part(int(records.value_at[row]), value_size)
        try:
            columns = _row(part(int(records.key_at[row]), int(records.key_len[row])), value)
        except DecodeError:
            continue
        columns["log_offset"] = int(records.offset[row])
        columns["timestamp_ms"] = int(records.timestamp[row])
        columns["batch_offset"] = int(batches.base_offset[records.batch[row]])
        found.append(columns)
    return pa.Table.from_pylist(found, CONSUMERS)


def _row(raw_key: bytes, value: bytes | None) -> dict[str, Any]:
    key = decode_record_key(raw_key)
    assert key is not None, "its kind is known"
    columns = {"group": key.group, "kind": _KINDS[key.kind], "name": key.second or None, "tombstone": value is None}
    return columns if value is None else columns | _VALUES[key.kind](decode_record_value(key.kind, value))


def _member(value: Any) -> dict[str, Any]:
    return {
        "group_instance_id": value.instance_id,
        "rack_id": value.rack_id,
        "client_id": value.client_id,
        "client_host": value.client_host,
        "rebalance_timeout_ms": value.rebalance_timeout_ms,
        "topics": value.subscribed_topic_names,
        "topic_regex": value.subscribed_topic_regex or None,
        "assignor": value.server_assignor,
        "protocol": "consumer" if value.classic_member_metadata is None else "classic",
    }


def _share_member(value: Any) -> dict[str, Any]:
    return {
        "rack_id": value.rack_id,
        "client_id": value.client_id,
        "client_host": value.client_host,
        "topics": value.subscribed_topic_names,
        "protocol": "share",
    }


def _current(value: Any) -> dict[str, Any]:
    return _share_current(value) | {"pending": _partitions(value.partitions_pending_revocation)}


def _share_current(value: Any) -> dict[str, Any]:
    return {
        "epoch": value.member_epoch,
        "previous_epoch": value.previous_member_epoch,
        "state": _STATES.get(value.state, "unknown"),
        "assignment": _partitions(value.assigned_partitions),
    }


def _epoch(value: Any) -> dict[str, Any]:
    return {"epoch": value.epoch}


def _target_epoch(value: Any) -> dict[str, Any]:
    return {"epoch": value.assignment_epoch}


def _target(value: Any) -> dict[str, Any]:
    return {"assignment": _partitions(value.topic_partitions)}


_VALUES: Final[dict[RecordKind, Callable[[Any], dict[str, Any]]]] = {
    RecordKind.CONSUMER_GROUP: _epoch,
    RecordKind.CONSUMER_TOPICS: lambda value: {"topics": [each.topic_name for each in value.topics]},
    RecordKind.CONSUMER_MEMBER: _member,
    RecordKind.CONSUMER_TARGET_EPOCH: _target_epoch,
    RecordKind.CONSUMER_TARGET: _target,
    RecordKind.CONSUMER_CURRENT: _current,
    RecordKind.CONSUMER_REGEX: lambda value: {"topics": value.topics},
    RecordKind.SHARE_GROUP: _epoch,
    RecordKind.SHARE_MEMBER: _share_member,
    RecordKind.SHARE_TARGET_EPOCH: _target_epoch,
    RecordKind.SHARE_TARGET: _target,
    RecordKind.SHARE_CURRENT: _share_current,
}
_KINDS: Final = {kind: kind.name.lower().removeprefix("consumer_") for kind in _VALUES}


def _partitions(parts: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"topic_id": topic_id_text(each.topic_id), "partitions": each.partitions} for each in parts]


@lru_cache(maxsize=4096)
def topic_id_text(topic_id: bytes) -> str:
    """Return the id of a topic as Kafka's tools write it."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
