"""Varints, strings, uuids and checksums are compared with the vectors, and varints of any size round-trip."""

from __future__ import annotations

import uuid
from typing import Any

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import DecodeError
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import ProduceRequest
from protocol.primitives import read_uvarint, read_zigzag, skip_tags, uvarint, zigzag
from tests.protocol.interpreter import uvarint as plain_uvarint
from tests.protocol.vectors import vectors

UINT32 = st.integers(0, 2**32 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


def of_type(*types: str) -> list[Any]:
    return [
        pytest.param(each, id=f"{each['type']}-{each['hex'][:16]}")
        for each in vectors()["primitives"]
        if each["type"] in types
    ]


@pytest.mark.parametrize("vector", of_type("unsigned_varint"))
def test_unsigned_varints_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert uvarint(vector["value"]) == data
    assert read_uvarint(data, 0) == (vector["value"], len(data))


@pytest.mark.parametrize("vector", of_type("varint_zigzag"))
def test_zigzag_varints_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert zigzag(vector["value"]) == data
    assert read_zigzag(data, 0) == (vector["value"], len(data))


@pytest.mark.parametrize("vector", of_type("crc32c"))
def test_the_checksum_is_crc32c(vector: dict[str, Any]) -> None:
    assert google_crc32c.value(bytes.fromhex(vector["hex"])) == vector["value"]


@pytest.mark.parametrize("vector", of_type("string", "compact_string"))
def test_strings_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    version = 4 if vector["type"] == "compact_string" else 0  # Heartbeat became flexible in 4
    data = bytes.fromhex(vector["hex"])
    encoded = codec.encode_request(HeartbeatRequest(group_id=vector["value"]), version)
    assert encoded.startswith(data)
    assert codec.decode_request(ApiKey.HEARTBEAT, version, encoded, 0).group_id == vector["value"]


@pytest.mark.parametrize("vector", of_type("nullable_string", "compact_nullable_string"))
def test_null_strings_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    version = 9 if vector["type"] == "compact_nullable_string" else 3  # Produce became flexible in 9
    encoded = codec.encode_request(ProduceRequest(transactional_id=vector["value"]), version)
    assert encoded.startswith(bytes.fromhex(vector["hex"]))
    assert codec.decode_request(ApiKey.PRODUCE, version, encoded, 0).transactional_id == vector["value"]


@pytest.mark.parametrize("vector", of_type("boolean"))
def test_booleans_are_one_byte(vector: dict[str, Any]) -> None:
    encoded = codec.encode_request(MetadataRequest(topics=[], allow_auto_topic_creation=vector["value"]), 4)
    assert encoded[4:] == bytes.fromhex(vector["hex"])


def test_any_byte_but_zero_is_true() -> None:
    assert codec.decode_request(ApiKey.METADATA, 4, b"\0\0\0\0\x07", 0).allow_auto_topic_creation is True


@pytest.mark.parametrize("vector", of_type("uuid"))
def test_uuids_are_sixteen_bytes_in_the_order_of_their_text(vector: dict[str, Any]) -> None:
    assert uuid.UUID(vector["value"]).bytes == bytes.fromhex(vector["hex"])


def test_every_kind_of_primitive_vector_is_tested() -> None:
    tested = {"unsigned_varint", "varint_zigzag", "crc32c", "uuid", "boolean", "string", "compact_string"}
    assert {each["type"] for each in vectors()["primitives"]} == tested | {"nullable_string", "compact_nullable_string"}


@given(UINT32)
def test_any_32_bits_round_trip_as_an_unsigned_varint(value: int) -> None:
    data = uvarint(value)
    assert data == plain_uvarint(value)
    assert read_uvarint(b"x" + data + b"x", 1) == (value, 1 + len(data))


@given(INT64)
def test_any_64_bits_round_trip_as_a_zigzag_varint(value: int) -> None:
    data = zigzag(value)
    assert len(data) <= 10
    assert read_zigzag(b"x" + data + b"x", 1) == (value, 1 + len(data))
    folded = 2 * value if value >= 0 else -2 * value - 1
    assert data == plain_uvarint(folded)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x80\x00"])
def test_an_unsigned_varint_of_more_than_32_bits_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="32 bits"):
        read_uvarint(data, 0)


@pytest.mark.parametrize("data", [b"\xff" * 10 + b"\x01", b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00"])
def test_a_zigzag_varint_of_more_than_64_bits_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="64 bits"):
        read_zigzag(data, 0)


def test_a_tag_section_of_many_tags_is_skipped_as_a_whole() -> None:
    tags = uvarint(200) + b"".join(uvarint(tag) + uvarint(3) + b"abc" for tag in range(0, 400, 2))
    assert skip_tags(tags, 2, 200) == len(tags)
