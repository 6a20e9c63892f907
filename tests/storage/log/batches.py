"""Small words for the log's tests: batches to append, and appending them."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.storage.log.log import Log
from coordinator.storage.log.segment import Entry
from protocol.record_batch import build_batch


def entry(base_offset: int, *, count: int = 1, timestamp: int | None = None, value: bytes = b"value") -> Entry:
    """A batch of `count` records, with what the log wants to know about it."""
    time = 1000 + base_offset if timestamp is None else timestamp
    records: list[tuple[bytes | None, bytes | None]] = [(b"k%d" % (base_offset + n), value) for n in range(count)]
    batch = build_batch(records, base_offset=base_offset, timestamp_ms=time)
    return Entry(bytes(batch), base_offset + count - 1, time)


def append(log: Log, entries: Iterable[Entry]) -> list[Entry]:
    """Append, flush and settle."""
    done = list(entries)
    log.append_all(done)
    log.flush()
    log.high_watermark = log.log_end_offset
    return done


def fill(log: Log, batches: int, *, count: int = 1, value: bytes = b"value") -> list[Entry]:
    """Append that many batches, one flush each."""
    done = []
    for _ in range(batches):
        done += append(log, [entry(log.log_end_offset, count=count, value=value)])
    return done


def stored(log: Log) -> list[bytes]:
    """Every batch the log holds."""
    return [batch for _, batch in log.batches()]


def bytes_of(entries: Iterable[Entry]) -> list[bytes]:
    return [bytes(one.batch) for one in entries]
