"""The kernel reads the records that the plain reader reads, and refuses the batches that it refuses."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from coordinator.columnar import kernel
from coordinator.columnar.kernel import Batches, CorruptBatchError, Records, read_batches, read_records, read_segment
from protocol.compression import Codec
from protocol.errors import DecodeError
from protocol.record_batch import ControlType, Record, build_batch, build_control_batch, control_type
from tests.compaction.segments import (
    LOG_APPEND_TIME,
    BatchOf,
    RecordOf,
    in_order,
    plainly_read,
    random_batches,
    segment_of,
    with_payload,
)
from tests.conformance.exchange import KEPT_LOG

HERE = Path("00000000000000000000.log")
LOCK_STEP_ONLY, ONE_BY_ONE_ONLY = 0, 10**9


def as_plain(batches: Batches, records: Records) -> list[tuple[tuple[int, ...], list[Record]]]:
    """Return the columns as records of the plain reader, without headers."""
    found: list[tuple[tuple[int, ...], list[Record]]] = [(facts, []) for facts in facts_of(batches)]
    columns = zip(
        records.batch.tolist(),
        records.offset.tolist(),
        records.timestamp.tolist(),
        records.keys().to_pylist(),
        records.values().to_pylist(),
        strict=True,
    )
    for batch, offset, timestamp, key, value in columns:
        found[batch][1].append(Record(offset, timestamp, key, value))
    return found


def facts_of(batches: Batches) -> list[tuple[int, ...]]:
    return list(
        zip(
            batches.base_offset.tolist(),
            batches.size.tolist(),
            batches.leader_epoch.tolist(),
            batches.attributes.tolist(),
            batches.last_offset.tolist(),
            batches.base_timestamp.tolist(),
            batches.max_timestamp.tolist(),
            batches.producer_id.tolist(),
            batches.producer_epoch.tolist(),
            batches.base_sequence.tolist(),
            batches.count.tolist(),
            strict=True,
        )
    )


def plain(data: bytes, *, checked: bool = True) -> list[tuple[tuple[int, ...], list[Record]]]:
    found = []
    for header, records in plainly_read(data, checked=checked):
        facts = (
            header.base_offset,
            header.size_bytes,
            header.partition_leader_epoch,
            header.attributes,
            header.last_offset,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
        found.append((facts, [each._replace(headers=()) for each in records]))
    return found


def read(data: bytes, **options: bool) -> list[tuple[tuple[int, ...], list[Record]]]:
    batches, _ = read_batches(data, path=HERE, **options)
    return as_plain(batches, read_records(data, batches, path=HERE))


def small_segment() -> bytes:
    """Return a small segment with every kind of batch, to be damaged at every bit."""
    batches = [
        BatchOf([RecordOf(b"k1", b"v1"), RecordOf(b"k2", None, delay_ms=70, headers=(("h", b"x"),))]),
        BatchOf([RecordOf(b"k", b"v" * 40, gap=2)] * 2, codec=Codec.GZIP),
        BatchOf([RecordOf(None, b"")], attributes=LOG_APPEND_TIME, producer=(9, 1, 3)),
    ]
    return segment_of(batches).data


# --- what is sound --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [LOCK_STEP_ONLY, 3, ONE_BY_ONE_ONLY])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=random_batches())
def test_every_record_is_read_as_the_plain_reader_reads_it(batches: list[BatchOf], few: int) -> None:
    data = segment_of(batches).data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_FEW", few)
        patch.setattr(kernel, "_BLOCK", 50)
        assert read(data) == plain(data)


def test_start_and_size_are_those_of_the_record_in_the_segment() -> None:
    data = segment_of(
        [BatchOf([RecordOf(b"a", b"b"), RecordOf(b"c", None)]), BatchOf([RecordOf(b"d", b"e" * 90)])]
    ).data
    batches, _ = read_batches(data, path=HERE)
    records = read_records(data, batches, path=HERE)
    pieces = [data[at : at + size] for at, size in zip(records.start.tolist(), records.size.tolist(), strict=True)]
    for batch, (at, size) in enumerate(zip(batches.position.tolist(), batches.size.tolist(), strict=True)):
        joined = b"".join(piece for piece, of in zip(pieces, records.batch.tolist(), strict=True) if of == batch)
        assert joined == data[at + 61 : at + size]


def test_a_batch_of_many_records_is_read_beside_small_ones() -> None:
    huge = BatchOf([RecordOf(b"key %d" % number, b"v" * (number % 100)) for number in range(20_000)])
    small = [BatchOf([RecordOf(b"a", b"b")] * (1 + number % 19)) for number in range(200)]
    data = segment_of([*small, huge, *small]).data
    assert read(data) == plain(data)


def test_some_batches_can_be_read_without_the_others() -> None:
    data = segment_of([BatchOf([RecordOf(b"%d" % number, None)]) for number in range(9)]).data
    batches, _ = read_batches(data, path=HERE)
    assert read_records(data, batches[3:5], path=HERE).keys().to_pylist() == [b"3", b"4"]
    assert read_records(data, batches[batches.base_offset % 4 == 0], path=HERE).keys().to_pylist() == [b"0", b"4", b"8"]
    behind, _ = read_batches(data, path=HERE, start=int(batches.position[6]))
    assert behind.base_offset.tolist() == [6, 7, 8]


def test_keys_of_some_records_come_in_the_order_asked_for() -> None:
    compressed = BatchOf([RecordOf(b"x", b"1"), RecordOf(None, b"2")], codec=Codec.ZSTD)
    data = segment_of(
        [BatchOf([RecordOf(b"a", None), RecordOf(b"b", b"")]), compressed, BatchOf([RecordOf(b"c", b"3")])]
    )
    batches, _ = read_batches(data.data, path=HERE)
    records = read_records(data.data, batches, path=HERE)
    assert records.keys().to_pylist() == [b"a", b"b", b"x", None, b"c"]
    assert records.keys(np.array([4, 2, 0])).to_pylist() == [b"c", b"x", b"a"]
    assert records.values(np.array([1, 0, 3])).to_pylist() == [b"", None, b"2"]
    assert records.keys(np.array([], np.int64)).to_pylist() == []


def test_columns_of_more_than_an_arrow_array_can_address_are_made_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = segment_of([BatchOf([RecordOf(b"a", None), RecordOf(b"bc", b"d")])]).data
    batches, _ = read_batches(data, path=HERE)
    records = read_records(data, batches, path=HERE)
    monkeypatch.setattr(kernel, "MAX_EXPANDED_BYTES", 10)
    assert records.keys().to_pylist() == [b"a", b"bc"]
    assert records.values().to_pylist() == [None, b"d"]


def test_markers_are_recognised_and_read() -> None:
    data = bytes(
        build_batch([(b"k", b"v")], timestamp_ms=1, producer_id=7, producer_epoch=0, is_transactional=True)
        + build_control_batch(ControlType.ABORT, base_offset=1, timestamp_ms=2, producer_id=7, producer_epoch=0)
    )
    batches, _ = read_batches(data, path=HERE)
    assert batches.is_control.tolist() == [False, True]
    assert batches.is_transactional.tolist() == [True, True]
    records = read_records(data, batches, path=HERE)
    marker = Record(1, 2, records.keys()[1].as_py(), records.values()[1].as_py())
    assert control_type(marker) is ControlType.ABORT


def test_a_segment_that_kafka_wrote_is_read_as_the_plain_reader_reads_it() -> None:
    for path in KEPT_LOG.glob("*/*.log"):
        batches, records, damages = read_segment(path)
        assert as_plain(batches, records) == plain(path.read_bytes())
        assert len(records) > 20
        assert not damages


def test_an_empty_segment_and_space_allocated_ahead_hold_nothing(tmp_path: Path) -> None:
    for content in (b"", bytes(5000)):
        path = tmp_path / HERE
        path.write_bytes(content)
        batches, records, damages = read_segment(path)
        assert (len(batches), len(records), damages) == (0, 0, [])
    sound = small_segment()
    assert read(sound + bytes(4096)) == plain(sound)


# --- what is cut or damaged -----------------------------------------------------------------------------------------


def test_a_segment_cut_at_any_byte_is_refused_and_of_one_that_grows_the_whole_batches_are_read() -> None:
    data = small_segment()
    whole = plain(data)
    ends = {0: 0, **{sum(facts[1] for facts, _ in whole[: n + 1]): n + 1 for n in range(len(whole))}}
    for cut in range(len(data)):
        before = max(n for end, n in ends.items() if end <= cut)
        assert read(data[:cut], growing=True) == whole[:before]
        start = max(end for end in ends if end <= cut)
        if not any(data[start:cut]):  # nothing, or zeros as they stand where space was allocated ahead
            assert read(data[:cut]) == whole[:before]
            continue
        with pytest.raises(CorruptBatchError) as refused:
            read(data[:cut])
        assert refused.value.position == start
        batches, damages = read_batches(data[:cut], path=HERE, skip_corrupt=True)
        assert len(batches) == before
        assert [each.position + each.size for each in damages] == [cut]


def test_a_flipped_bit_is_refused_or_changes_what_the_plain_reader_reads_too() -> None:
    """The checksum does not cover base offset and leader epoch, so a change there may go unnoticed."""
    data = small_segment()
    unchanged = 0
    for checked in (True, False):
        for bit in range(len(data) * 8):
            broken = bytearray(data)
            broken[bit // 8] ^= 1 << bit % 8
            unchanged += _both_read(bytes(broken), checked=checked)
    assert unchanged > 50, "the test would say nothing if all were refused"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=random_batches(max_size=3), seed=st.integers(0, 2**32))
@example(batches=[BatchOf([RecordOf(b"k", b"v")] * 30)], seed=1)
def test_damage_under_a_right_checksum_is_refused(batches: list[BatchOf], seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(segment_of(batches).data)
    for _ in range(1 + chance.randrange(4)):
        if data:
            at = chance.randrange(len(data))
            data[at] = chance.choice((0, 1, 127, 128, 255, data[at] ^ 1 << chance.randrange(8)))
    for few in (LOCK_STEP_ONLY, ONE_BY_ONE_ONLY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "_FEW", few)
            _both_read(bytes(data), checked=False)


def _both_read(data: bytes, *, checked: bool) -> bool:
    """Return whether the kernel reads it. It must if the plain reader does and nothing contradicts the format."""
    try:
        expected = plain(data, checked=checked)
        is_sound = in_order(plainly_read(data, checked=checked)) and sum(facts[1] for facts, _ in expected) == len(data)
    except DecodeError:
        expected, is_sound = [], False
    batches, damages = read_batches(data, path=HERE, verify_crc=checked, skip_corrupt=True)
    assert sum(batches.size.tolist()) + sum(each.size for each in damages) <= len(data)
    try:
        found = read(data, verify_crc=checked)
    except CorruptBatchError as error:
        assert not is_sound, f"refused, although it is sound: {error}"
        return False
    assert found == expected
    return True


@pytest.mark.parametrize("few", [LOCK_STEP_ONLY, ONE_BY_ONE_ONLY])
@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (b"", 1),
        (b"\x0c\0\0\0\x01\x01", 1),  # one byte short of its length
        (b"\x0c\0\0\0\x01\x01\0", 2),  # two records where there is one
        (b"\x0c\0\0\0\x01\x01\0" * 2, 1),
        (b"\x0c\0\0\0\x01\x01\0", 2**31 - 1),
        (b"\xff" * 40, 1),
        (b"\xfe" + b"\xff" * 8 + b"\x01" + bytes(40), 3),  # a length of 2**63 - 1
        (b"\x0c\0\0\0\x0c\x01\0", 1),  # a key that reaches into nothing
        (b"\x0c\0\0\0\x01\x0c\0", 1),
        (b"\x0c\0\0\x02\x01\x01\0", 1),  # an offset beyond the batch's last
        (b"\x0c\0\0\x01\x01\x01\0", 1),  # and one before its first
        (b"\x0c\0\0\0\x01\x01\x02", 1),  # a header that is not there
        (b"\x1e\0" + b"\xff" * 9 + b"\x01\0\x01\x01\0", 1),  # a time before all times
        (b"\x1e\0" + b"\x80" * 9 + b"\x02\0\x01\x01\0", 1),  # a number of 65 bits, of which 64 are zero
        (b"\x05" + b"\x0c\0\0\0\x01\x01\0" * 4, 4),  # a length that leads back, into the header
    ],
)
def test_lengths_and_counts_that_promise_too_much_are_refused_though_the_checksum_is_right(
    payload: bytes, count: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_FEW", few)
    batch = BatchOf([], base_timestamp=-2)
    good = segment_of([BatchOf([RecordOf(b"a", b"b")])]).data
    data = good + with_payload(batch, 1, 0, payload, count) + with_payload(batch, 9, 0, b"\x0c\0\0\0\x01\x01\0", 1)
    with pytest.raises(CorruptBatchError) as refused:
        read(data)
    assert refused.value.position == len(good)
    assert f"byte {len(good)} " in str(refused.value)


@pytest.mark.parametrize("deltas", [b"\0\0", b"\2\2", b"\2\0"])
def test_offsets_that_do_not_grow_within_a_batch_are_refused(deltas: bytes) -> None:
    records = b"".join(b"\x0c\0\0%c\x01\x01\0" % delta for delta in deltas)
    assert len(read(with_payload(BatchOf([]), 0, 1, b"\x0c\0\0\0\x01\x01\0\x0c\0\0\2\x01\x01\0", 2))[0][1]) == 2
    with pytest.raises(CorruptBatchError):
        read(with_payload(BatchOf([]), 0, 1, records, 2))


def test_positions_of_nulls_are_ignored() -> None:
    data = segment_of([BatchOf([RecordOf(b"a", b"b"), RecordOf(b"c", b"d")])]).data
    batches, _ = read_batches(data, path=HERE)
    records = read_records(data, batches, path=HERE)
    nowhere = np.array([-5, 10**12])
    assert records.slices(nowhere, np.array([-1, -1], np.int32)).to_pylist() == [None, None]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_batches_that_do_not_decompress_or_expand_beyond_the_limit_are_refused(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = with_payload(BatchOf([], codec=codec), 0, 0, b"no such stream" * 3, 1)
    with pytest.raises(CorruptBatchError):
        read(garbage)
    bomb = segment_of([BatchOf([RecordOf(b"k", bytes(100_000))], codec=codec)]).data
    assert len(read(bomb)[0][1]) == 1
    monkeypatch.setattr(kernel, "MAX_EXPANDED_BYTES", 90_000)
    with pytest.raises(CorruptBatchError, match="expand beyond"):
        read(bomb)


def test_a_codec_that_does_not_exist_and_an_old_format_are_named() -> None:
    unknown = bytearray(with_payload(BatchOf([], attributes=5), 0, 0, b"", 0))
    with pytest.raises(CorruptBatchError, match="codec 5"):
        read_batches(bytes(unknown), path=HERE)
    old = struct.pack(">qiIbbqi", 0, 18, 0, 1, 0, 0, -1) + struct.pack(">i", -1) + bytes(40)
    with pytest.raises(CorruptBatchError, match="format 1"):
        read(old)


# --- skipping -------------------------------------------------------------------------------------------------------


def seven() -> tuple[bytes, list[int]]:
    made = segment_of([BatchOf([RecordOf(b"k", b"%d" % number * 30)] * 3) for number in range(7)])
    return made.data, made.starts


def kept(data: bytes, **options: bool) -> tuple[list[int], list[tuple[int, int]]]:
    batches, damages = read_batches(data, path=HERE, skip_corrupt=True, **options)
    return [int(each) // 3 for each in batches.base_offset], [(each.position, each.size) for each in damages]


def test_damaged_batches_are_skipped_and_reported_if_asked() -> None:
    data, starts = seven()
    size = starts[1]
    assert kept(data) == ([0, 1, 2, 3, 4, 5, 6], [])
    broken = bytearray(data)
    for batch in (0, 3, 4, 6):
        broken[starts[batch] + 70] ^= 1
    assert kept(bytes(broken)) == ([1, 2, 5], [(0, size), (starts[3], 2 * size), (starts[6], size)])


@pytest.mark.parametrize("length", [0, -1, 48, 60, 100, 500, 2**31 - 1])
def test_a_wrong_length_costs_its_own_batch_only(length: int) -> None:
    data, starts = seven()
    broken = bytearray(data)
    struct.pack_into(">i", broken, starts[2] + 8, length)
    assert kept(bytes(broken)) == ([0, 1, 3, 4, 5, 6], [(starts[2], starts[1])])
    with pytest.raises(CorruptBatchError) as refused:
        read(bytes(broken))
    assert refused.value.position == starts[2]


def test_behind_a_wrong_length_the_order_of_offsets_still_holds() -> None:
    data, starts = seven()
    broken = bytearray(data)
    struct.pack_into(">i", broken, starts[2] + 8, 0)
    struct.pack_into(">q", broken, starts[3], 1)
    assert kept(bytes(broken)) == ([0, 1, 4, 5, 6], [(starts[2], 2 * starts[1])])


@pytest.mark.parametrize("offset", [0, 2, 2**40])
def test_a_wrong_base_offset_costs_its_own_batch_only(offset: int) -> None:
    data, starts = seven()
    broken = bytearray(data)
    struct.pack_into(">q", broken, starts[4], offset)
    assert kept(bytes(broken)) == ([0, 1, 2, 3, 5, 6], [(starts[4], starts[1])])
    with pytest.raises(CorruptBatchError, match="out of order"):
        read(bytes(broken))


def test_a_batch_with_damaged_records_and_a_right_checksum_is_skipped_too(tmp_path: Path) -> None:
    made = segment_of([BatchOf([RecordOf(b"a", b"b")])])
    bad = with_payload(BatchOf([]), 1, 0, b"\x0c\0\0\0\x0c\x01\0", 1)
    good = with_payload(BatchOf([]), 2, 0, b"\x0c\0\0\0\x01\x01\0", 1)
    path = tmp_path / HERE
    path.write_bytes(made.data + bad + good)
    with pytest.raises(CorruptBatchError):
        read_segment(path)
    batches, records, damages = read_segment(path, skip_corrupt=True)
    assert batches.base_offset.tolist() == [0, 2] == records.offset.tolist()
    assert [(each.position, each.size) for each in damages] == [(len(made.data), len(bad))]


def test_of_a_segment_that_grows_an_unfinished_tail_is_no_damage_but_a_hole_is() -> None:
    data, starts = seven()
    unfinished = data[: starts[6]] + bytes(starts[1])
    assert kept(unfinished, growing=True) == ([0, 1, 2, 3, 4, 5], [])
    half_written = data[: starts[6] + 80] + bytes(starts[1] - 80)
    assert kept(half_written, growing=True) == ([0, 1, 2, 3, 4, 5], [])
    assert len(read(half_written, growing=True)) == 6
    hole = bytearray(data)
    hole[starts[3] + 8 : starts[3] + 20] = bytes(12)
    with pytest.raises(CorruptBatchError):
        read(bytes(hole), growing=True)
    assert kept(bytes(hole), growing=True) == ([0, 1, 2, 4, 5, 6], [(starts[3], starts[1])])
