"""The records of the offsets log as one Arrow table, with the fields that `coordinator log dump` shows.

Nearly all records are commits. Their keys and values have a few numbers and texts at computable positions, so all of
them are decoded at once. Rare records are decoded one by one by `protocol.offsets_records`: group metadata, values of
the flexible version, malformed ones. A test compares both ways. A record that cannot be decoded stays, with the reason
in `problem`.

`kind` is "offset" or "group", "marker" for the end of a transaction, "unknown" for keys of other protocols (KIP-848,
share groups), "undecodable", or "record" for one without a key, or of any other topic. The last three keep `key` and
`value` as bytes. A `tombstone` is any record without a value. All times are int64 milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.columnar.batches import Batches, Bools, Int64s
from coordinator.columnar.group_columns import GROUP_FIELDS, group_columns, scattered
from coordinator.columnar.kernel import NULL, Records
from protocol.errors import DecodeError
from protocol.offsets_records import (
    GROUP_KEY_VERSION,
    GroupValue,
    OffsetValue,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from protocol.record_batch import ControlType

KINDS: Final = ("offset", "group", "marker", "unknown", "undecodable", "record")
OFFSET, GROUP, MARKER, UNKNOWN, UNDECODABLE, RECORD = range(len(KINDS))

SCHEMA: Final = pa.schema(
    [
        pa.field("log_partition", pa.int32()),
        pa.field("log_offset", pa.int64()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("batch_offset", pa.int64()),  # the base offset of the record's batch, which names it
        pa.field("batch_leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),  # -1: none
        pa.field("producer_epoch", pa.int16()),
        pa.field("base_sequence", pa.int32()),
        pa.field("transactional", pa.bool_()),
        pa.field("delete_horizon_ms", pa.int64()),  # null: no compaction has found a tombstone or marker here
        pa.field("kind", pa.string()),
        pa.field("marker", pa.string()),  # commit, abort, unknown
        pa.field("tombstone", pa.bool_()),
        pa.field("group", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("committed_offset", pa.int64()),
        pa.field("leader_epoch", pa.int32()),  # null: none
        pa.field("metadata", pa.string()),
        pa.field("committed_ms", pa.int64()),
        pa.field("expires_ms", pa.int64()),  # null: by the retention of all offsets
        *GROUP_FIELDS,
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("problem", pa.string()),
    ]
)

_KEY_HEAD: Final = 4  # version, length of the group
_MARKERS: Final = {int(each): each.name.lower() for each in (ControlType.ABORT, ControlType.COMMIT)}
_EPOCH_SINCE: Final = 3
_EXPIRY_IN: Final = 1
_LAST_INFLEXIBLE: Final = 3  # versions of an offset's value that are read in columns


def offsets_table(batches: Batches, records: Records, *, log_partition: int, is_offsets_log: bool = True) -> pa.Table:
    """Return one row per record, in log order. `is_offsets_log=False` decodes nothing: kinds "record" and "marker"."""
    table = _Table(batches, records)
    if is_offsets_log:
        table.decode_keys()
        table.decode_offsets()
        table.decode_groups()
    return table.assembled(log_partition)


class _Table:
    """The columns under construction. `kind` is first set by the key's version."""

    def __init__(self, batches: Batches, records: Records) -> None:
        self._batches = batches
        self._records = records
        self._source = np.frombuffer(records.data, np.uint8)
        self._count = len(records)
        self._kind = np.full(self._count, RECORD, np.int8)
        self._kind[batches.is_control[records.batch]] = MARKER
        self._columns: dict[str, Any] = {}
        self._problems: dict[int, str] = {}

    # --- keys --------------------------------------------------------------------------------------------------------

    def decode_keys(self) -> None:
        """Decode the kind of each record, its group, and the topic and partition of an offset."""
        records, kind = self._records, self._kind
        size, at = records.key_len, records.key_at
        has_key = (kind == RECORD) & (size >= 0)
        version = self._int16(at, has_key & (size >= 2), NULL)
        group_size = self._int16(at + 2, has_key & (size >= _KEY_HEAD), NULL)
        is_group = has_key & (version == GROUP_KEY_VERSION)
        is_offset = has_key & ((version == 0) | (version == 1))
        kind[has_key] = UNKNOWN
        kind[has_key & (is_group | is_offset | (size < 2))] = UNDECODABLE  # unless it is whole, see below
        whole = (group_size >= 0) & (_KEY_HEAD + group_size <= size)
        kind[is_group & whole] = GROUP

        topic_at = _KEY_HEAD + group_size
        topic_size = self._int16(at + topic_at, is_offset & whole & (topic_at + 2 <= size), NULL)
        partition_at = topic_at + 2 + topic_size
        whole &= (topic_size >= 0) & (partition_at + 4 <= size)
        kind[is_offset & whole] = OFFSET
        self._texts("group", at + _KEY_HEAD, np.where(kind <= GROUP, group_size, NULL))
        self._texts("topic", at + topic_at + 2, np.where(kind == OFFSET, topic_size, NULL))
        is_offset = kind == OFFSET
        self._ints("partition", self._window(at + partition_at, is_offset, ">i4").astype(np.int32), is_offset)
        for row in np.flatnonzero(kind == UNDECODABLE).tolist():
            self._problems[row] = _problem(self._bytes(row, records.key_at, records.key_len))

    def _texts(self, name: str, at: Int64s, size: npt.NDArray[Any]) -> None:
        """Add a column of names; a name that is not UTF-8 makes its record undecodable."""
        column = self._records.slices(at, size.astype(np.int32))
        try:
            self._columns[name] = column.cast(pa.string())
        except pa.ArrowInvalid:
            bad = [row for row, text in enumerate(column.to_pylist()) if text is not None and not _is_utf8(text)]
            self._kind[bad] = UNDECODABLE
            size = size.copy()
            size[bad] = NULL
            self._texts(name, at, size)

    # --- values ------------------------------------------------------------------------------------------------------

    def decode_offsets(self) -> None:
        """Decode the values of commits."""
        records = self._records
        size, at = records.value_len, records.value_at
        is_offset = (self._kind == OFFSET) & (size >= 0)
        version = self._int16(at, is_offset & (size >= 2), NULL)
        has_epoch = version >= _EPOCH_SINCE
        metadata_at = np.where(has_epoch, 16, 12)
        simple = is_offset & (version >= 0) & (version <= _LAST_INFLEXIBLE)
        metadata_size = self._int16(at + metadata_at - 2, simple & (metadata_at <= size), NULL)
        committed_at = metadata_at + metadata_size
        expires_at = committed_at + 8
        simple &= (metadata_size >= 0) & (expires_at + np.where(version == _EXPIRY_IN, 8, 0) <= size)

        metadata = records.slices(at + metadata_at, np.where(simple, metadata_size, NULL).astype(np.int32))
        try:
            metadata = metadata.cast(pa.string())
        except pa.ArrowInvalid:
            metadata = pa.array(
                [None if each is None else each.decode("utf-8", "replace") for each in metadata.to_pylist()]
            )
        offset = self._window(at + 2, simple, ">i8")
        epoch = self._window(at + 10, simple & has_epoch, ">i4", NULL)
        committed = self._window(at + committed_at, simple, ">i8")
        expires = self._window(at + expires_at, simple & (version == _EXPIRY_IN), ">i8", NULL)

        found: dict[int, OffsetValue] = {}
        for row in np.flatnonzero(is_offset & ~simple).tolist():
            value = self._decoded(row, decode_offset_value)
            if value is not None:
                found[row] = value
                offset[row], epoch[row] = value.offset, value.leader_epoch
                committed[row], expires[row] = value.commit_timestamp_ms, value.expire_timestamp_ms
                simple[row] = True
        if found:
            mask = np.zeros(self._count, np.bool_)
            mask[list(found)] = True
            metadata = pc.replace_with_mask(metadata, mask, pa.array([each.metadata for each in found.values()]))
        self._columns["metadata"] = metadata
        self._ints("committed_offset", offset.astype(np.int64), simple)
        self._ints("leader_epoch", epoch.astype(np.int32), simple & (epoch >= 0))
        self._ints("committed_ms", committed.astype(np.int64), simple)
        self._ints("expires_ms", expires.astype(np.int64), simple & (expires >= 0))

    def decode_groups(self) -> None:
        """Decode groups and their members."""
        values: dict[int, GroupValue] = {}
        for row in np.flatnonzero((self._kind == GROUP) & (self._records.value_len >= 0)).tolist():
            value = self._decoded(row, decode_group_value)
            if value is not None:
                values[row] = value
        self._columns |= group_columns(values, self._count)

    def _decoded(self, row: int, decode: Any) -> Any:
        """Decode one value; None, with the problem noted, if it cannot be decoded."""
        value = self._bytes(row, self._records.value_at, self._records.value_len)
        try:
            return decode(value)
        except DecodeError as error:
            self._kind[row] = UNDECODABLE
            self._problems[row] = str(error)
            return None

    # --- the table ---------------------------------------------------------------------------------------------------

    def assembled(self, log_partition: int) -> pa.Table:
        """Return all columns of SCHEMA; those that were not filled are null."""
        batches, records, count = self._batches, self._records, self._count
        of = records.batch
        is_raw = self._kind >= UNKNOWN
        markers = np.flatnonzero(self._kind == MARKER).tolist()
        kinds = pa.DictionaryArray.from_arrays(pa.array(self._kind), pa.array(KINDS))
        columns = {field.name: pa.nulls(count, field.type) for field in SCHEMA} | self._columns
        columns |= {
            "log_partition": pa.array(np.full(count, log_partition, np.int32)),
            "log_offset": pa.array(records.offset),
            "timestamp_ms": pa.array(records.timestamp),
            "batch_offset": pa.array(batches.base_offset[of]),
            "batch_leader_epoch": pa.array(batches.leader_epoch[of]),
            "producer_id": pa.array(batches.producer_id[of]),
            "producer_epoch": pa.array(batches.producer_epoch[of]),
            "base_sequence": pa.array(batches.base_sequence[of]),
            "transactional": pa.array(batches.is_transactional[of]),
            "delete_horizon_ms": pa.array(batches.base_timestamp[of], mask=~batches.has_delete_horizon[of]),
            "kind": kinds.cast(pa.string()),
            "marker": scattered(markers, [self._marker(row) for row in markers], count, pa.string()),
            "tombstone": pa.array((records.value_len < 0) & (self._kind != MARKER)),
            "key": records.slices(records.key_at, np.where(is_raw, records.key_len, np.int32(NULL))),
            "value": records.slices(records.value_at, np.where(is_raw, records.value_len, np.int32(NULL))),
            "problem": scattered(list(self._problems), list(self._problems.values()), count, pa.string()),
        }
        return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)

    def _marker(self, row: int) -> str:
        key = self._bytes(row, self._records.key_at, self._records.key_len)
        return _MARKERS.get(int.from_bytes(key[2:4], "big", signed=True), "unknown") if len(key) >= 4 else "unknown"

    # --- bytes -------------------------------------------------------------------------------------------------------

    def _bytes(self, row: int, at: Int64s, size: npt.NDArray[Any]) -> bytes:
        return self._source[at[row] : at[row] + max(int(size[row]), 0)].tobytes()

    def _int16(self, at: Int64s, where: Bools, otherwise: int) -> Int64s:
        """Read big-endian numbers as int64, so that sums of lengths do not overflow."""
        high = self._source.take(at, mode="clip").view(np.int8).astype(np.int64)
        return np.where(where, high << 8 | self._source.take(at + 1, mode="clip"), otherwise)

    def _window(self, at: Int64s, where: Bools, kind: str, otherwise: int = 0) -> npt.NDArray[Any]:
        """Read numbers of four or eight bytes, only at the positions in `where`."""
        size = np.dtype(kind).itemsize
        windows = np.ndarray((max(len(self._source) - size + 1, 0),), f"V{size}", self._source, strides=(1,))
        if where.all():
            return windows[at].view(kind)
        found = np.full(self._count, otherwise, np.int64)
        found[where] = windows[at[where]].view(kind)
        return found

    def _ints(self, name: str, values: npt.NDArray[Any], where: Bools) -> None:
        self._columns[name] = pa.array(values, mask=~where)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _problem(key: bytes) -> str:
    try:
        decode_key(key)
    except DecodeError as error:
        return str(error)
    return "a key that cannot be read"
