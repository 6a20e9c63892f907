"""Records of the transaction log: known bytes, both versions, unknown keys, and damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import DecodeError, EncodeError
from protocol.transaction_records import (
    PartitionsSchema,
    TransactionLogValue,
    decode_transaction_key,
    decode_transaction_value,
    encode_transaction_key,
    encode_transaction_value,
)

NOW = 1_700_000_000_000
EMPTY_V0 = "0000 00000000000003e8 0000 0000ea60 00 ffffffff 0000018bcfe56800 ffffffffffffffff"
ONGOING_V0 = (
    "0000 00000000000003e8 0000 0000ea60 01 00000001 0001 74 00000002 00000000 00000001 "
    "0000018bcfe56be8 0000018bcfe56be8"
)
PREPARE_COMMIT_V1 = (
    "0001 00000000000003e8 0001 0000ea60 02 02 02 74 02 00000000 00 0000018bcfe56fd0 0000018bcfe56be8 "
    "02 00 08 00000000000003e8 02 02 0002"
)


def value(epoch: int, status: int, partitions: list[PartitionsSchema] | None, *times: int) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=1000,
        producer_epoch=epoch,
        transaction_timeout_ms=60_000,
        transaction_status=status,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=times[0],
        transaction_start_timestamp_ms=times[1],
    )


def test_a_key_names_a_transactional_id() -> None:
    assert encode_transaction_key("tx1").hex() == "00000003747831"
    assert decode_transaction_key(bytes.fromhex("00000003747831")) == "tx1"
    assert decode_transaction_key(b"\0\1anything") is None, "a key of an unknown version"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (EMPTY_V0, value(0, 0, None, NOW, -1)),
        (ONGOING_V0, value(0, 1, [PartitionsSchema("t", [0, 1])], NOW + 1000, NOW + 1000)),
    ],
)
def test_version_0_is_read(raw: str, expected: TransactionLogValue) -> None:
    assert decode_transaction_value(bytes.fromhex(raw)) == expected


def test_version_1_is_read_and_written() -> None:
    expected = value(1, 2, [PartitionsSchema("t", [0])], NOW + 2000, NOW + 1000)
    expected.previous_producer_id = 1000
    expected.client_transaction_version = 2
    raw = bytes.fromhex(PREPARE_COMMIT_V1)
    assert decode_transaction_value(raw) == expected
    assert encode_transaction_value(expected) == raw


@given(st.binary(max_size=40))
def test_random_bytes_are_read_or_refused(raw: bytes) -> None:
    for decode in (decode_transaction_key, decode_transaction_value):
        try:
            decode(raw)
        except DecodeError:
            continue


@pytest.mark.parametrize("raw", ["", "00", "0000", "0000ffff", "0000000274", "00000001ff"])
def test_a_malformed_key_is_refused(raw: str) -> None:
    with pytest.raises(DecodeError):
        decode_transaction_key(bytes.fromhex(raw))


@pytest.mark.parametrize("raw", ["", "0002", PREPARE_COMMIT_V1[:60]])
def test_a_malformed_value_is_refused(raw: str) -> None:
    with pytest.raises(DecodeError):
        decode_transaction_value(bytes.fromhex(raw))


def test_a_value_out_of_range_is_refused() -> None:
    with pytest.raises(EncodeError):
        encode_transaction_value(value(40_000, 1, [], NOW, NOW))
