"""Record batches: found, verified and read in bounded memory, or refused; the log's own scan agrees with `verify`.

The first byte of an input says what is put right before the check, so that mutations get behind the checksum.
"""

from __future__ import annotations

import struct
from random import Random
from typing import Final

import google_crc32c

from coordinator.storage.log.segment import fault_in_batch
from protocol.compression import Codec
from protocol.errors import CorruptBatchError, DecodeError
from protocol.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    ControlType,
    build_batch,
    build_control_batch,
    control_type,
    iter_batches,
    read_header,
    read_records,
    verify,
)
from tests.fuzz.edits import edited

LIMIT: Final = 50_000
FIX_LENGTH, FIX_CHECKSUM = 1, 2
FIX_BOTH: Final = bytes((FIX_LENGTH | FIX_CHECKSUM,))


def check(data: bytes) -> None:
    data = mended(data[0], data[1:]) if data else data
    try:
        found = list(iter_batches(data))
    except CorruptBatchError:
        found = []
    for position, header in found:
        try:
            verify(data, position, header)
        except CorruptBatchError:
            is_sound = False
        else:
            is_sound = True
            assert fault_in_batch(data, position, header.size_bytes, -(2**63)) is None
        try:
            records = read_records(data, position, header, max_decompressed_bytes=LIMIT)
        except CorruptBatchError:
            continue
        assert len(records) == header.record_count
        assert sum(len(each.key or b"") + len(each.value or b"") for each in records) <= max(LIMIT, len(data))
        if is_sound and header.is_control:
            for record in records:
                try:
                    assert control_type(record) in ControlType
                except CorruptBatchError:
                    continue
    try:
        read_header(data)
    except DecodeError:
        assert len(data) < HEADER_BYTES


def mended(what: int, data: bytes) -> bytes:
    """Return a batch with its length and checksum put right, as far as the bits of `what` ask for it."""
    if len(data) < HEADER_BYTES:
        return data
    changed = bytearray(data)
    if what & FIX_LENGTH:
        struct.pack_into(">i", changed, 8, len(changed) - LENGTH_END)
        changed[16] = 2
    if what & FIX_CHECKSUM:
        struct.pack_into(">I", changed, 17, google_crc32c.value(bytes(changed[21:])))
    return bytes(changed)


def seeds() -> list[bytes]:
    records = [(b"k", b"v"), (None, b"x" * 200), (b"k2", None)]
    headers = [(("h", b"1"), ("i", None)), (), ()]
    plain = [build_batch(records, timestamp_ms=5, codec=codec) for codec in Codec]
    rich = build_batch(records, timestamp_ms=5, producer_id=3, producer_epoch=1, base_sequence=7, headers=headers)
    later = build_batch(records, timestamp_ms=5, later_ms=[0, 90, 7_000], is_transactional=True)
    marker = build_control_batch(ControlType.COMMIT, timestamp_ms=5, producer_id=3, producer_epoch=1)
    return [FIX_BOTH + bytes(each) for each in (*plain, rich, later, marker)] + [b"\0" + bytes(rich + marker)]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.3 or len(data) < 2:
        records = [(_text(chance), _text(chance)) for _ in range(chance.choice((1, 1, 2, 5)))]
        codec = chance.choice(list(Codec))
        data = FIX_BOTH + bytes(build_batch(records, timestamp_ms=chance.getrandbits(40), codec=codec))
    elif kind < 0.4:
        return data + data[1:]
    first = chance.choice((FIX_BOTH, FIX_BOTH, FIX_BOTH, bytes((chance.randrange(4),))))
    return first + edited(data[1:], chance)


def _text(chance: Random) -> bytes | None:
    return chance.choice((None, b"", b"k", chance.randbytes(5), b"z" * 300))
