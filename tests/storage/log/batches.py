"""Helpers of the log's tests: batches to append, and functions that append them."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.storage.log.log import Log
from coordinator.storage.log.segment import Entry
from protocol.record_batch import build_batch


def entry(base_offset: int, *, count: int = 1, timestamp: int | None = None, value: bytes = b"value") -> Entry:
    """Return a batch of `count` records with the values that the log needs."""
    time = 1000 + base_offset if timestamp is None else timestamp
    records: list[tuple[bytes | None, bytes | None]] = [(b"k%d" % (base_offset + n), value) for n in range(count)]
    batch = build_batch(records, base_offset=base_offset, timestamp_ms=time)
    return Entry(bytes(batch), base_offset + count - 1, time)


def append(log: Log, entries: Iterable[Entry]) -> list[Entry]:
    """Append, flush and move the high watermark."""
    done = list(entries)
    log.append_all(done)
    log.flush()
    log.high_watermark = log.log_end_offset
    return done


def fill(log: Log, batches: int, *, count: int = 1, value: bytes = b"value") -> list[Entry]:
    """Append `batches` batches, each with a flush."""
    done = []
    for _ in range(batches):
        done += append(log, [entry(log.log_end_offset, count=count, value=value)])
    return done


def stored(log: Log) -> list[bytes]:
    """Return every batch in the log."""
    return [batch for _, batch in log.batches()]


def bytes_of(entries: Iterable[Entry]) -> list[bytes]:
    return [bytes(one.batch) for one in entries]
