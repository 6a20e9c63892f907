"""Reader of the logs that a server wrote: records of its transaction log, markers, and offsets of groups.

`logs_of` reads the segments of a data directory that is not in use. Values are shown as they were written, in hex, and
also field by field. Producer ids and the starts of transactions are named as they come: P1, S1. Other times are T.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from protocol.record_batch import BatchHeader, Record, iter_batches, read_records

Logs: TypeAlias = dict[str, list[dict[str, Any]]]

TRANSACTION_LOG: Final = "__transaction_state"
STATES: Final = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
}
_CASE: Final = re.compile(rb"([a-z]\.)([a-z0-9-]+)\.")
_MASK: Final = (1 << 64) - 1
_OFFSET_TAIL: Final = re.compile("[0-9a-f]{16}(010010)[0-9a-f]{32}$")  # of an offset: its time, a tag with the topic
_CONTROL: Final = {0: "ABORT", 1: "COMMIT"}


class _Reader:
    """Reads a value field by field."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, form: str) -> Any:
        (found,) = struct.unpack_from(">" + form, self._data, self.position)
        self.position += struct.calcsize(form)
        return found

    def varint(self) -> int:
        found, shift = 0, 0
        while True:
            byte = int(self.take("B"))
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def text(self, size: int) -> str:
        self.position += size
        return self._data[self.position - size : self.position].decode()

    @property
    def rest(self) -> bytes:
        return self._data[self.position :]


def value_of(data: bytes) -> dict[str, Any]:
    """Return the fields of a value of the transaction log, version 0 or 1, in the order in which they are written."""
    reader = _Reader(data)
    version = reader.take("h")
    found: dict[str, Any] = {
        "version": version,
        "producer_id": reader.take("q"),
        "producer_epoch": reader.take("h"),
        "timeout_ms": reader.take("i"),
        "status": STATES[reader.take("b")],
        "partitions": _partitions(reader, is_flexible=version >= 1),
        "update_ms": reader.take("q"),
        "start_ms": reader.take("q"),
    }
    if version >= 1:
        found["tags"] = dict(_tags(reader))
    assert not reader.rest, data.hex()
    return found


def _partitions(reader: _Reader, *, is_flexible: bool) -> dict[str, list[int]] | None:
    count = _count(reader, is_flexible=is_flexible, form="i")
    if count < 0:
        return None
    found = {}
    for _ in range(count):
        topic = reader.text(_count(reader, is_flexible=is_flexible, form="h"))
        found[topic] = [reader.take("i") for _ in range(_count(reader, is_flexible=is_flexible, form="i"))]
        if is_flexible:
            assert reader.varint() == 0
    return found


def _count(reader: _Reader, *, is_flexible: bool, form: str) -> int:
    return reader.varint() - 1 if is_flexible else int(reader.take(form))


def _tags(reader: _Reader) -> Iterator[tuple[str, Any]]:
    forms = {
        0: ("previous_producer_id", "q"),
        1: ("next_producer_id", "q"),
        2: ("client_transaction_version", "h"),
        3: ("next_producer_epoch", "h"),
    }
    for _ in range(reader.varint()):
        tag, _size = reader.varint(), reader.varint()
        name, form = forms[tag]
        yield name, reader.take(form)


def logs_of(data_dir: Path, run: str) -> Logs:
    """Return what a server wrote for each case of a run, by the key of the case."""
    found: Logs = {}
    for key, row in [*_transactions(data_dir, run), *_markers(data_dir, run), *_offsets(data_dir, run)]:
        found.setdefault(key, []).append(row)
    return {key: _named(rows) for key, rows in found.items()}


def _records(folder: Path) -> Iterator[tuple[BatchHeader, Record]]:
    for segment in sorted(folder.glob("*.log")):
        data = segment.read_bytes()
        for position, header in iter_batches(data):
            for record in read_records(data, position, header):
                yield header, record


def _transactions(data_dir: Path, run: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in sorted(data_dir.glob(f"{TRANSACTION_LOG}-*")):
        for header, record in _records(folder):
            match = _CASE.search(record.key or b"")
            if match and match[1].decode() == run:
                value = None if record.value is None else value_of(record.value)
                name = (record.key or b"")[4:].decode()
                yield (
                    match[2].decode(),
                    {
                        "transactional_id": name.partition(".")[2].partition(".")[2],
                        "key_version": int.from_bytes((record.key or b"")[:2]),
                        **({} if _is_plain(header) else {"batch": _batch(header)}),
                        "value": value,
                        "hex": None if record.value is None else record.value.hex(),
                    },
                )


def _markers(data_dir: Path, run: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in sorted(data_dir.glob(f"{run}*")):
        match = _CASE.match(folder.name.encode())
        for header, record in _records(folder):
            if match and header.is_control:
                partition = folder.name.removeprefix(match[0].decode())
                yield match[2].decode(), {"partition": partition, "offset": record.offset, **_marker(header, record)}


def _marker(header: BatchHeader, record: Record) -> dict[str, Any]:
    _, kind = struct.unpack(">hh", record.key or b"")
    return {
        "marker": _CONTROL[kind],
        "batch": _batch(header),
        "key": (record.key or b"").hex(),
        "value_hex": (record.value or b"").hex(),
    }


def _offsets(data_dir: Path, run: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield transactional batches of the offsets of groups, and the markers of their producers."""
    cases: dict[int, str] = {}
    for folder in sorted(data_dir.glob("__consumer_offsets-*")):
        for header, record in _records(folder):
            match = _CASE.search(record.key or b"")
            if header.is_control and header.producer_id in cases:
                yield cases[header.producer_id], {"partition": folder.name, **_marker(header, record)}
            elif header.is_transactional and match and match[1].decode() == run:
                key = cases[header.producer_id] = match[2].decode()
                group = (record.key or b"").hex()
                value = None if record.value is None else record.value.hex()
                yield key, {"partition": folder.name, "batch": _batch(header), "key": group, "value_hex": value}


def _batch(header: BatchHeader) -> dict[str, Any]:
    return {
        "attributes": f"{header.attributes:#06x}",
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "records": header.record_count,
    }


def _is_plain(header: BatchHeader) -> bool:
    return header.attributes == 0 and header.producer_id < 0 and header.record_count == 1


def _named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace producer ids, the starts of transactions and other times by names."""
    ids: dict[int, str] = {}
    starts: dict[int, str] = {}
    return [_named_row(row, ids, starts) for row in rows]


def _named_row(row: dict[str, Any], ids: dict[int, str], starts: dict[int, str]) -> dict[str, Any]:
    value = row.get("value")
    text = row.get("hex")
    shown = _with_ids(row, ids)
    if value is not None and text is not None:
        update, start = value["update_ms"], value["start_ms"]
        if start >= 0:
            shown["value"]["start_ms"] = starts.setdefault(start, f"S{len(starts) + 1}")
        shown["value"]["update_ms"] = "T"
        begun = f"<{starts[start]}>" if start >= 0 else f"{start & _MASK:016x}"
        text = text.replace(f"{update:016x}{start & _MASK:016x}", f"<T>{begun}")
        for producer_id, name in ids.items():
            text = text.replace(f"{producer_id:016x}", f"<{name}>")
        shown["hex"] = text
    if (offset := shown.get("value_hex")) and "key" in shown and "marker" not in shown:
        shown["value_hex"] = _OFFSET_TAIL.sub(r"<T>\1<topic id>", offset)
    return shown


def _with_ids(row: dict[str, Any], ids: dict[int, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found[key] = _with_ids(value, ids)
        elif key.endswith("producer_id") and value >= 0:
            found[key] = ids.setdefault(value, f"P{len(ids) + 1}")
        else:
            found[key] = value
    return found
