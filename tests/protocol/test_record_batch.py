"""Record batches: those of other implementations, those built here, and damaged ones."""

from __future__ import annotations

import struct
import warnings
from typing import Any

import cramjam
import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec, compress, decompress
from protocol.errors import CorruptBatchError, DecodeError, ProtocolError
from protocol.record_batch import (
    HEADER_BYTES,
    ControlType,
    Record,
    build_batch,
    build_control_batch,
    control_type,
    iter_batches,
    read_header,
    read_records,
    verify,
    with_append_time,
)
from tests.protocol.vectors import data_of, vectors

NOW = 1700000000000
BATCHES = [each for each in vectors()["record_batches"] if each["header"]["magic"] == 2]
PARAMS = [pytest.param(each, id=each["id"]) for each in BATCHES]
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
RECORDS = [(b"key", b"value"), (None, b""), (b"", None), (b"k" * 200, b"v" * 9000)]


def record_of(fields: dict[str, Any]) -> Record:
    def blob(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    headers = tuple((key, blob(value)) for key, value in fields["headers"])
    return Record(fields["offset"], fields["timestamp"], blob(fields["key"]), blob(fields["value"]), headers)


def read(data: bytes) -> list[Record]:
    header = read_header(data)
    verify(data, 0, header)
    return read_records(data, 0, header)


@pytest.mark.parametrize("vector", PARAMS)
def test_a_batch_of_another_implementation_is_read_in_full(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    header = read_header(data)
    assert header._asdict() == vector["header"]
    assert header.size_bytes == len(data)
    verify(data, 0, header)
    if not header.is_control:
        assert read(data) == [record_of(each) for each in vector["records"]]
    assert header.is_transactional == (vector["id"].endswith("txn") or header.is_control)


@pytest.mark.parametrize("vector", [each for each in vectors()["record_batches"] if each["header"]["magic"] < 2])
def test_an_old_message_set_is_not_read_as_a_batch(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    with pytest.raises(DecodeError):
        verify(data, 0, read_header(data))


def test_a_control_batch_is_the_one_of_the_vectors() -> None:
    (vector,) = (each for each in BATCHES if each["id"] == "batch-control-commit")
    data = data_of(vector)
    built = build_control_batch(
        ControlType.COMMIT, timestamp_ms=NOW, leader_epoch=-1, producer_id=1000, producer_epoch=3, coordinator_epoch=5
    )
    assert bytes(built) == data
    assert read_header(data).is_control
    assert control_type(read(data)[0]) is ControlType.COMMIT


def test_the_kinds_of_control_records() -> None:
    abort = build_control_batch(ControlType.ABORT, timestamp_ms=NOW, producer_id=1, producer_epoch=0)
    assert control_type(read(bytes(abort))[0]) is ControlType.ABORT
    assert control_type(Record(0, 0, b"\x00\x00\x00\x02", None)) is ControlType.UNKNOWN
    for key in (None, b"\x00\x00\x00"):
        with pytest.raises(CorruptBatchError):
            control_type(Record(0, 0, key, None))


def test_a_batch_of_kafka_python_is_built_byte_for_byte() -> None:
    # The same records with one timestamp, encoded here and by kafka-python.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it reads its schemas in a deprecated way
        from kafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

    theirs = DefaultRecordBatchBuilder(2, 0, 1, 1000, 3, 12, 1 << 20)
    records = [(b"key", b"value"), (None, b""), (b"", None)]
    headers = ((("h1", b"x"), ("h2", None)), (), ())
    for offset, (key, value) in enumerate(records):
        theirs.append(offset, timestamp=NOW, key=key, value=value, headers=list(headers[offset]))
    ours = build_batch(
        records,
        timestamp_ms=NOW,
        producer_id=1000,
        producer_epoch=3,
        base_sequence=12,
        is_transactional=True,
        headers=headers,
    )
    assert ours[:12] == theirs.build()[:12]
    assert ours[16:] == theirs.build()[16:]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_round_trips_in_every_codec(codec: Codec) -> None:
    headers = ((("h", b"1"), ("h", None)), (), (("", b""),), ())
    data = bytes(build_batch(RECORDS, base_offset=40, timestamp_ms=NOW, leader_epoch=9, codec=codec, headers=headers))
    header = read_header(data)
    assert header.codec is codec or header.codec == codec
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (40, 43, 9)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert read(data) == [
        Record(40 + delta, NOW, key, value, headers[delta]) for delta, (key, value) in enumerate(RECORDS)
    ]


BLOB = st.none() | st.binary(max_size=12)
HEADERS = st.lists(st.tuples(st.text(max_size=3), BLOB), max_size=2).map(tuple)


@given(st.lists(st.tuples(BLOB, BLOB, HEADERS), min_size=1, max_size=5), st.sampled_from(Codec), st.integers(0, 2**62))
def test_any_records_round_trip(records: list[Any], codec: Codec, base_offset: int) -> None:
    data = bytes(
        build_batch(
            [(key, value) for key, value, _ in records],
            base_offset=base_offset,
            timestamp_ms=NOW,
            codec=codec,
            headers=[headers for _, _, headers in records],
        )
    )
    expected = [Record(base_offset + delta, NOW, *record) for delta, record in enumerate(records)]
    assert read(data) == expected


def test_a_batch_of_more_records_than_the_tables_have_round_trips() -> None:
    records = [(b"%d" % number, None) for number in range(9000)]
    found = read(bytes(build_batch(records, timestamp_ms=NOW)))
    assert [(record.key, record.value) for record in found] == records
    assert [record.offset for record in found] == list(range(9000))


def test_each_record_may_have_a_later_timestamp() -> None:
    data = bytes(build_batch(RECORDS, timestamp_ms=NOW, later_ms=[70, 0, 10_000_000_000, 5][: len(RECORDS)]))
    header = read_header(data)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 10_000_000_000)
    assert [record.timestamp_ms - NOW for record in read(data)] == [70, 0, 10_000_000_000, 5]
    assert [(record.key, record.value) for record in read(data)] == list(RECORDS)


def test_an_empty_batch_is_not_built() -> None:
    with pytest.raises(ProtocolError):
        build_batch([], timestamp_ms=NOW)


def test_base_offset_and_leader_epoch_change_without_a_new_checksum() -> None:
    batch = build_batch(RECORDS, timestamp_ms=NOW)
    struct.pack_into(">q", batch, 0, 1 << 40)
    struct.pack_into(">i", batch, 12, 17)
    header = read_header(batch)
    assert (header.base_offset, header.partition_leader_epoch, header.last_offset) == (1 << 40, 17, (1 << 40) + 3)
    verify(bytes(batch), 0, header)


def test_log_append_time_replaces_the_time_of_every_record() -> None:
    batch = build_batch(RECORDS, timestamp_ms=NOW)
    struct.pack_into(">h", batch, 21, 0x08)
    struct.pack_into(">q", batch, 35, NOW + 5)
    header = read_header(batch)
    assert header.has_log_append_time
    assert {record.timestamp_ms for record in read_records(bytes(batch), 0, header)} == {NOW + 5}


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_gets_the_time_of_its_append(codec: Codec) -> None:
    sent = bytes(build_batch(RECORDS, timestamp_ms=NOW, codec=codec, producer_id=3, producer_epoch=1, base_sequence=9))
    header, stored = with_append_time(sent, read_header(sent), NOW + 5)
    assert header == read_header(stored)
    verify(stored, 0, header)
    assert (header.codec, header.base_timestamp, header.max_timestamp) == (codec, NOW, NOW + 5)
    assert [each._replace(timestamp_ms=NOW) for each in read_records(stored, 0, header)] == read_records(
        sent, 0, read_header(sent)
    )
    assert {each.timestamp_ms for each in read_records(stored, 0, header)} == {NOW + 5}


def test_batches_of_a_log_are_found_in_order_up_to_an_incomplete_one() -> None:
    batches = [bytes(build_batch(RECORDS[:count], base_offset=10 * count, timestamp_ms=NOW)) for count in (1, 2, 3)]
    log = b"".join(batches)
    found = [(position, header.base_offset) for position, header in iter_batches(log)]
    assert found == [(0, 10), (len(batches[0]), 20), (len(batches[0] + batches[1]), 30)]
    for length in range(len(log)):
        whole = sum(length >= sum(map(len, batches[: count + 1])) for count in range(3))
        assert len(list(iter_batches(log[:length]))) == whole


@pytest.mark.parametrize("length", [48, 0, -1, -12, -(2**31)])
def test_a_batch_too_short_for_its_header_ends_the_search(length: int) -> None:
    batch = build_batch(RECORDS, timestamp_ms=NOW)
    struct.pack_into(">i", batch, 8, length)
    data = bytes(batch)
    with pytest.raises(CorruptBatchError):
        list(iter_batches(data))
    for check in (verify, read_records):
        with pytest.raises(CorruptBatchError):
            check(data, 0, read_header(data))


def test_every_bit_after_the_leader_epoch_is_covered_by_the_checksum() -> None:
    batch = bytes(build_batch(RECORDS[:3], timestamp_ms=NOW))
    for at in range(16, len(batch)):
        for bit in range(8):
            data = batch[:at] + bytes([batch[at] ^ 1 << bit]) + batch[at + 1 :]
            with pytest.raises(CorruptBatchError):
                verify(data, 0, read_header(data))


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_cut_at_any_byte_is_a_decode_error(codec: Codec) -> None:
    batch = bytes(build_batch(RECORDS[:3], timestamp_ms=NOW, codec=codec))
    whole = read_header(batch)
    for length in range(len(batch)):
        with pytest.raises(DecodeError):
            read_header(batch[:length])
            verify(batch[:length], 0, whole)
        with pytest.raises(DecodeError):
            read_records(batch[:length], 0, whole)


@pytest.mark.parametrize("codec", Codec)
def test_damage_with_a_right_checksum_is_a_corrupt_batch(codec: Codec) -> None:
    batch = bytes(build_batch(RECORDS[:3], timestamp_ms=NOW, codec=codec))
    for at in range(HEADER_BYTES, len(batch)):
        for lie in (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xfe\xff\xff\xff\x0f"):
            data = batch[:at] + lie + batch[at + len(lie) :]
            try:
                read_records(data, 0, read_header(batch))
            except CorruptBatchError:
                continue


@pytest.mark.parametrize(
    ("count", "message"), [(2, "behind"), (4, "damaged|in|longer"), (2**31 - 1, "records in"), (-1, "records in")]
)
def test_a_wrong_count_of_records_is_a_corrupt_batch(count: int, message: str) -> None:
    batch = bytes(build_batch(RECORDS[:3], timestamp_ms=NOW))
    with pytest.raises(CorruptBatchError, match=message):
        read_records(batch, 0, read_header(batch)._replace(record_count=count))


def test_a_record_must_fill_its_length() -> None:
    batch = bytes(build_batch([(b"k", b"v")], timestamp_ms=NOW))
    longer = batch[:HEADER_BYTES] + bytes([batch[HEADER_BYTES] + 2]) + batch[HEADER_BYTES + 1 :] + b"\0"
    header = read_header(batch)._replace(batch_length=len(longer) - 12)
    with pytest.raises(CorruptBatchError, match="fill its length"):
        read_records(longer, 0, header)


def test_an_unknown_format_or_negative_count_is_a_corrupt_batch() -> None:
    batch = bytes(build_batch(RECORDS, timestamp_ms=NOW))
    header = read_header(batch)
    for wrong in (header._replace(magic=1), header._replace(record_count=-1), header._replace(last_offset_delta=-1)):
        with pytest.raises(CorruptBatchError):
            verify(batch, 0, wrong)
    with pytest.raises(CorruptBatchError, match="codec 7"):
        read_records(batch, 0, header._replace(attributes=7))


def test_the_checksum_is_castagnolis_over_everything_from_the_attributes_on() -> None:
    batch = bytes(build_batch(RECORDS, timestamp_ms=NOW))
    assert read_header(batch).crc == google_crc32c.value(batch[21:])


# --- compression ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [0, 1, 100, 32 * 1024, 32 * 1024 + 1, 300_000])
def test_compressed_data_round_trips(codec: Codec, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    packed = compress(codec, data)
    assert type(packed) is bytes
    assert decompress(codec, packed) == data


def test_snappy_is_written_as_a_stream_and_read_as_a_stream_or_a_block() -> None:
    data = b"some records " * 100
    assert compress(Codec.SNAPPY, data).startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_lz4_is_written_in_independent_blocks_as_kafka_requires() -> None:
    data = b"".join(b"%d" % number for number in range(60_000))
    packed = compress(Codec.LZ4, data)
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0b1110_0000 == 0b0110_0000, (
        "version 1, independent blocks: Lz4BlockInputStream accepts no others"
    )
    assert decompress(Codec.LZ4, packed) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_data_that_expands_beyond_the_limit_is_refused(codec: Codec) -> None:
    bomb = compress(codec, bytes(1_000_000))
    assert len(bomb) < 60_000
    assert len(decompress(codec, bomb, 1_000_000)) == 1_000_000
    with pytest.raises(CorruptBatchError, match="expand beyond 999999 bytes"):
        decompress(codec, bomb, 999_999)


def test_a_raw_snappy_block_that_declares_too_much_is_not_expanded() -> None:
    with pytest.raises(CorruptBatchError, match="expand beyond"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"x")


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize(
    "data", [b"", b"garbage that is no archive", b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xffx"]
)
def test_data_that_is_not_compressed_is_a_corrupt_batch(codec: Codec, data: bytes) -> None:
    with pytest.raises(CorruptBatchError):
        decompress(codec, data)
