"""A segment that a start finds: opened with a sound beginning of what was there, or refused; and then read anywhere.

The first byte of an input says what is put right before (as for `batches`), so that mutations get behind the checksum.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.log import Log, LogConfig
from protocol.errors import ProtocolError
from protocol.record_batch import build_batch, iter_batches, read_records, verify
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with
from tests.fuzz.targets.batches import FIX_BOTH, mended

HERE: Final = Path("/t-0")
NAME: Final = "00000000000000000000.log"
CONFIG: Final = LogConfig(segment_bytes=2_000, index_interval_bytes=150)


def check(data: bytes) -> None:
    content = mended(data[0], data[1:]) if data else data
    fs = directory_with(HERE, {NAME: content})
    try:
        log = Log.open(HERE, CONFIG, fs)
    except CorruptLogError as error:
        assert error.reason
        return
    assert sum(cut.bytes for cut in log.recovery.cuts) == len(content) - log.size_bytes
    headers = [header for header, _ in log.batches()]
    at = 0
    for header, batch in log.batches():
        assert batch == content[at : at + header.size_bytes]
        if header.record_count >= 0:  # a start leaves the count to the reader of the records
            verify(batch, 0, header)
        at += header.size_bytes
    assert at == log.size_bytes
    end = log.log_end_offset
    assert end == (headers[-1].last_offset + 1 if headers else 0)
    for offset in {0, 1, end // 2, end - 1, *(header.base_offset for header in headers[:8])}:
        if not 0 <= offset < end:
            continue
        read = log.read(offset, 300)
        found = next(iter(iter_batches(read)), None)
        assert found is not None and found[1].last_offset >= offset
        try:
            read_records(read, *found, max_decompressed_bytes=50_000)
        except ProtocolError:
            continue
    log.append(build_batch([(b"k", b"v")], base_offset=end, timestamp_ms=9), end, 9)
    log.flush()
    log.close()
    again = Log.open(HERE, CONFIG, fs)
    assert (again.log_end_offset, again.recovery.cuts) == (end + 1, [])
    assert [header for header, _ in again.batches()][:-1] == headers


def _log(batches: int) -> bytes:
    return b"".join(
        build_batch([(b"k%d" % each, b"v" * 20)] * 2, base_offset=2 * each, timestamp_ms=1_000 + each)
        for each in range(batches)
    )


def seeds() -> list[bytes]:
    return [b"\0" + _log(count) for count in (0, 1, 5, 12)] + [FIX_BOTH + _log(1), b"\0" + _log(4)[:-7] + _log(6)[-99:]]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.3 or len(data) < 2:
        kind = chance.random()
        data = (b"\0" if kind < 0.7 else FIX_BOTH) + _log(chance.randint(1, 12) if kind < 0.7 else 1)
    return data[:1] + edited(data[1:], chance)
