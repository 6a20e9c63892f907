"""The columnar readers of compaction and history: the records that the plain reader finds, or an error like its own.

The first byte of an input says what is put right before (as for `batches`), so that mutations get behind the checksum.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Final

from coordinator.columnar.batches import CorruptBatchError, read_batches
from coordinator.columnar.columns import offsets_table
from coordinator.columnar.kernel import read_records
from protocol import offsets_records as log
from protocol import record_batch
from protocol.compression import Codec
from protocol.errors import DecodeError
from protocol.messages.offsets_log import GroupValue, OffsetValue
from tests.fuzz.edits import edited
from tests.fuzz.targets import offsets_records
from tests.fuzz.targets.batches import FIX_BOTH, mended

INT64: Final = range(-(2**63), 2**63)


def check(data: bytes) -> None:
    segment = mended(data[0], data[1:]) if data else data
    try:
        batches, _ = read_batches(segment, path="segment")
    except CorruptBatchError as error:
        assert error.reason
        return
    plain: list[record_batch.Record] | None = []
    in_order = True  # within each batch: a start does not look at that, a compaction must
    for position in map(int, batches.position):
        header = record_batch.read_header(segment, position)
        record_batch.verify(segment, position, header)
        try:
            found = record_batch.read_records(segment, position, header)
        except DecodeError:
            plain = None
            break
        offsets = [header.base_offset - 1, *(each.offset for each in found), header.last_offset + 1]
        in_order = in_order and all(one < other for one, other in pairwise(offsets))
        plain += found
    try:
        records = read_records(segment, batches, path="segment")
    except CorruptBatchError as error:
        assert plain is None or not in_order, f"{error.reason}, and the plain reader finds {plain}"
        return
    assert plain is not None, f"{len(records)} records, and the plain reader finds damage"
    if any(each.offset not in INT64 or each.timestamp_ms not in INT64 for each in plain):
        return  # no such record was ever written
    assert records.offset.tolist() == [each.offset for each in plain]
    assert records.timestamp.tolist() == [each.timestamp_ms for each in plain]
    assert records.keys().to_pylist() == [each.key for each in plain]
    assert records.values().to_pylist() == [each.value for each in plain]
    table = offsets_table(batches, records, log_partition=0)
    assert table.num_rows == len(plain)


def _batch(pairs: list[tuple[bytes | None, bytes | None]], base_offset: int, codec: Codec = Codec.NONE) -> bytes:
    return bytes(record_batch.build_batch(pairs, base_offset=base_offset, timestamp_ms=1_000, codec=codec))


def seeds() -> list[bytes]:
    commit = log.encode_offset_key("g", "t", 1), log.encode_offset_value(OffsetValue(7, 3, "m", 1_000, -1))
    expiring = log.encode_offset_key("g", "t", 2), log.encode_offset_value(OffsetValue(7, -1, "m", 1_000, 2_000))
    group = log.encode_group_key("g"), log.encode_group_value(GroupValue(protocol_type="consumer", generation=3))
    whole = [commit, expiring, group, (commit[0], None)]
    marker = record_batch.build_control_batch(
        record_batch.ControlType.COMMIT, base_offset=9, timestamp_ms=5, producer_id=3, producer_epoch=1
    )
    return [
        *(FIX_BOTH + _batch(whole, 0, codec) for codec in Codec),
        *(FIX_BOTH + _batch([each], 5) for each in whole),
        b"\0" + _batch(whole, 0) + _batch([commit], 4) + bytes(marker),
        b"\0" + b"".join(_batch([commit], number) for number in range(8)),
    ]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.3 or len(data) < 2:
        keys = [offsets_records.mutate(b"", chance) for _ in range(chance.choice((1, 2, 5)))]
        pairs = [(key, chance.choice((None, b"", offsets_records.mutate(b"", chance)))) for key in keys]
        return FIX_BOTH + _batch(pairs, chance.randrange(100), chance.choice(list(Codec)))
    if kind < 0.4:
        data = chance.choice(seeds())
    return data[:1] + edited(data[1:], chance)
