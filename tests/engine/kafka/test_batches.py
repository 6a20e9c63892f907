"""Rows of batches become batches of the topic and come back byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.engine.kafka.batches import (
    STEP_RECORDS,
    ClaimRecord,
    RowPiece,
    claim_batch,
    joined_batch,
    original_batches,
    read_claim,
    read_piece,
    row_pieces,
)
from coordinator.engine.kafka.client import ProducerIdentity
from coordinator.storage.log.segment import Entry
from protocol.compression import Codec
from protocol.record_batch import (
    NO_PRODUCER,
    ControlType,
    build_batch,
    build_control_batch,
    read_header,
    read_records,
    verify,
)

PRODUCER = ProducerIdentity(7, 3)
NOW_MS = 1_700_000_000_000

RECORDS = st.lists(st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=9000)), min_size=1)
KINDS = st.sampled_from(["plain", "lz4", "transactional", "commit", "abort", "headers"])


def build(kind: str, records: list[tuple[bytes | None, bytes | None]], base_offset: int) -> Entry:
    at = {"base_offset": base_offset, "timestamp_ms": NOW_MS + base_offset}
    if kind in ("commit", "abort"):
        marker = ControlType.COMMIT if kind == "commit" else ControlType.ABORT
        return Entry(build_control_batch(marker, **at, producer_id=99, producer_epoch=4), base_offset, NOW_MS)
    if kind == "transactional":
        batch = build_batch(records, **at, producer_id=99, producer_epoch=4, is_transactional=True)
    elif kind == "headers":
        batch = build_batch(records, **at, headers=[(("name", b"value"),)] * len(records))
    else:
        batch = build_batch(records, **at, codec=Codec.LZ4 if kind == "lz4" else Codec.NONE)
    return Entry(batch, base_offset + len(records) - 1, NOW_MS)


def encoded(*row: Any) -> list[tuple[RowPiece, bytearray]]:
    """Do all steps of `row_pieces`."""
    steps = row_pieces(*row)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            pieces: list[tuple[RowPiece, bytearray]] = end.value
            return pieces


def through_the_topic(entries: Sequence[Entry], max_bytes: int) -> list[bytes]:
    """Encode a row, check what Kafka checks, and decode it again at other offsets."""
    base_offset = read_header(entries[0].batch).base_offset
    pieces = encoded(entries, PRODUCER, 10, max_bytes, NOW_MS)
    found: list[bytes] = []
    due = base_offset
    for piece, batch in pieces:
        stored = bytearray(batch)
        stored[:8] = (1000 + due).to_bytes(8, "big")
        stored[12:16] = (5).to_bytes(4, "big")  # the broker sets offset and leader epoch
        header = read_header(stored)
        verify(bytes(stored), 0, header)
        assert header.record_count == header.last_offset_delta + 1
        assert (header.producer_id, header.producer_epoch) == PRODUCER
        assert header.base_sequence == 10 + due - base_offset
        assert not header.is_transactional
        assert not header.is_control
        read = read_piece(bytes(stored))
        assert read == piece
        assert (read.row_start, read.row_end) == (base_offset, entries[-1].last_offset + 1)
        originals = original_batches(bytes(stored), header, read)
        assert [read_header(each).last_offset + 1 for each in originals] == read.ends(header)
        check_joined(joined_batch(bytes(stored), header, read), [bytes(each) for each in originals])
        found += map(bytes, originals)
        due += header.record_count
    return found


def check_joined(joined: bytearray | None, originals: list[bytes]) -> None:
    """A joined batch has the records of the original ones, if these say no more than that."""
    headers = [read_header(each) for each in originals]
    records = [
        record for each, header in zip(originals, headers, strict=True) for record in read_records(each, 0, header)
    ]
    is_plain = all((each.attributes, each.producer_id) == (0, NO_PRODUCER) for each in headers)
    assert (joined is not None) == (is_plain and not records[0].headers)
    if joined is not None:
        header = read_header(joined)
        verify(bytes(joined), 0, header)
        assert (header.base_offset, header.last_offset) == (headers[0].base_offset, headers[-1].last_offset)
        assert read_records(bytes(joined), 0, header) == records


@given(st.lists(st.tuples(KINDS, RECORDS), min_size=1, max_size=6), st.integers(0, 1 << 41), st.integers(100, 20_000))
def test_a_row_comes_back(
    kinds: list[tuple[str, list[tuple[bytes | None, bytes | None]]]], at: int, limit: int
) -> None:
    entries = []
    for kind, records in kinds:
        entries.append(build(kind, records, at))
        at = entries[-1].last_offset + 1
    assert through_the_topic(entries, limit) == [bytes(each.batch) for each in entries]


@pytest.mark.parametrize(("limit", "count"), [(1 << 20, 1), (2500, 2), (100, 4)])
def test_a_large_row_is_divided(limit: int, count: int) -> None:
    entries = [build("plain", [(b"key", b"x" * 1000)], offset) for offset in range(4)]
    assert len(encoded(entries, PRODUCER, 1, limit, NOW_MS)) == count


def test_a_step_takes_few_records() -> None:
    entries = [build("plain", [(b"key", b"value")] * 1000, 1000 * number) for number in range(4)]
    assert sum(1 for _ in row_pieces(entries, PRODUCER, 1, 1 << 20, NOW_MS)) >= 4000 // STEP_RECORDS


def test_a_clock_that_goes_back_within_a_row() -> None:
    later, earlier = build("plain", [(b"key", b"x")] * 2, 500), build("plain", [(b"key", b"x")] * 2, 2)
    row = [build("plain", [(b"key", b"x")] * 2, 0), later._replace(batch=moved(later.batch, 2), last_offset=3)]
    row.append(earlier._replace(batch=moved(earlier.batch, 4), last_offset=5))
    assert through_the_topic(row, 1 << 20) == [bytes(each.batch) for each in row]
    ((_, batch),) = encoded(row, PRODUCER, 1, 1 << 20, NOW_MS)
    assert read_header(batch).max_timestamp == NOW_MS + 500


def moved(batch: bytes | bytearray, base_offset: int) -> bytearray:
    return bytearray(base_offset.to_bytes(8, "big") + batch[8:])


def test_records_with_the_time_of_their_append_keep_it() -> None:
    plain, other = build("plain", [(b"key", b"x")] * 2, 0), build("plain", [(b"key", b"x")] * 2, 2)
    other.batch[21:23] = (8).to_bytes(2, "big")  # type: ignore[index]
    other.batch[35:43] = (NOW_MS + 99).to_bytes(8, "big")  # type: ignore[index]
    ((_, batch),) = encoded([plain, other], PRODUCER, 1, 1 << 20, NOW_MS)
    times = [record.timestamp_ms - NOW_MS for record in read_records(bytes(batch), 0, read_header(batch))]
    assert times == [0, 0, 99, 99]


def test_sequence_numbers_begin_again() -> None:
    entries = [build("plain", [(b"key", b"x")] * 10, 0)]
    ((_, batch),) = encoded(entries, PRODUCER, (1 << 31) + 5, 1 << 20, NOW_MS)
    assert read_header(batch).base_sequence == 5


def test_a_claim_record_is_told_from_others() -> None:
    claim = ClaimRecord(3, "run")
    batch = bytes(claim_batch(PRODUCER, claim, NOW_MS))
    assert read_claim(batch, read_header(batch)) == claim
    for _, other in encoded([build("plain", [(b"kcclaimed", b"kcclaim")], 0)], PRODUCER, 0, 1000, NOW_MS):
        assert read_claim(bytes(other), read_header(other)) is None


def test_a_batch_of_another_program_has_no_row() -> None:
    assert read_piece(bytes(build("headers", [(b"key", b"value")], 0).batch)) is None
    assert read_piece(bytes(build("plain", [(None, None)], 0).batch)) is None
