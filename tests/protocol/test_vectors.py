"""Every vector in both directions, byte for byte; captured and hostile requests; all of them cut or modified."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from protocol import codec
from protocol.errors import DecodeError, UnsupportedVersionError
from protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.heartbeat import HeartbeatRequest
from tests.protocol.vectors import by_id, data_of, ids, message_of, vectors

HOSTILE = {each["id"]: each for each in vectors()["hostile"]}


def decode(vector: dict[str, Any], data: bytes) -> Any:
    """Decode header and body, as a server or a client does."""
    if vector["direction"] == "request":
        header, position = decode_request_header(data)
        return codec.decode_request(header.api_key, header.api_version, data, position)
    _, position = decode_response_header(vector["api_key"], vector["version"], data)
    return codec.decode_response(vector["api_key"], vector["version"], data, position)


def encode(vector: dict[str, Any], message: Any) -> bytes:
    key, version, header = vector["api_key"], vector["version"], vector["header"]
    if vector["direction"] == "request":
        head = encode_request_header(key, version, header["correlation_id"], header["client_id"])
        return head + codec.encode_request(message, version)
    return encode_response_header(key, version, header["correlation_id"]) + codec.encode_response(message, version)


def test_the_number_of_vectors_is_known() -> None:
    assert {name: len(section) for name, section in vectors().items()} == {
        "messages": 150,
        "captured": 196,
        "consumer_protocol": 8,
        "record_batches": 15,
        "primitives": 46,
        "hostile": 12,
    }
    assert len({each["api_key"] for each in vectors()["messages"]}) == 34


@pytest.mark.parametrize("name", ids("messages"))
def test_a_vector_decodes_to_its_fields_and_they_encode_to_its_bytes(name: str) -> None:
    vector = by_id()[name]
    data = data_of(vector)
    assert decode(vector, data) == message_of(vector)
    assert encode(vector, message_of(vector)) == data


@pytest.mark.parametrize("name", ids("messages"))
def test_the_body_of_a_vector_begins_where_its_header_ends(name: str) -> None:
    vector = by_id()[name]
    data = data_of(vector)
    if vector["direction"] == "request":
        header, position = decode_request_header(data)
        assert header._asdict() == {key: vector["header"][key] for key in header._fields}
    else:
        correlation_id, position = decode_response_header(vector["api_key"], vector["version"], data)
        assert correlation_id == vector["header"]["correlation_id"]
    assert position == vector["body_offset"]


@pytest.mark.parametrize("name", ids("captured"))
def test_a_request_of_a_real_client_decodes_to_its_last_byte(name: str) -> None:
    vector = by_id()[name]
    data = data_of(vector)
    request = decode(vector, data)
    assert request == message_of(vector)
    assert encode(vector, request) == data  # as long as the bytes that were read, so no byte was left over


@pytest.mark.parametrize("name", [*ids("messages"), *ids("captured")])
def test_a_vector_cut_at_any_byte_is_a_decode_error(name: str) -> None:
    vector = by_id()[name]
    data = data_of(vector)
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            decode(vector, data[:length])


def bent(data: bytes) -> list[bytes]:
    """Yield the data with each byte, each int32 and each varint replaced by wrong lengths."""
    lies = (b"\x00", b"\x7f", b"\x80", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff\x0f")
    return [data[:at] + lie + data[at + len(lie) :] for at in range(len(data)) for lie in lies]


@pytest.mark.parametrize("name", ids("messages"))
def test_a_vector_with_any_part_overwritten_decodes_or_is_a_decode_error(name: str) -> None:
    vector = by_id()[name]
    for data in bent(data_of(vector)):
        with suppress(DecodeError, UnsupportedVersionError):
            decode(vector, data)


def peak_memory(act: Callable[[], None]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_length_beyond_the_frame_allocates_nothing() -> None:
    def decode_them_all() -> None:
        for name in ids("messages"):
            vector = by_id()[name]
            data, body = data_of(vector), vector["body_offset"]
            for at in range(body, len(data)):
                for lie in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"):
                    with suppress(DecodeError):
                        decode(vector, data[:at] + lie + data[at + len(lie) :])

    decode_them_all()  # loads the modules before memory is measured
    assert peak_memory(decode_them_all) < 100_000


@pytest.mark.parametrize("name", ["unknown-header-tag", "unknown-body-tag", "trailing-bytes"])
def test_unknown_tags_are_skipped_and_surplus_bytes_ignored(name: str) -> None:
    data = data_of(HOSTILE[name])
    header, position = decode_request_header(data)
    plain = by_id()["Heartbeat-v4-request"]
    assert codec.decode_request(header.api_key, header.api_version, data, position) == message_of(plain)


@pytest.mark.parametrize(
    "name",
    [
        "truncated-body",
        "huge-array-count",
        "negative-string-length",
        "null-nonnullable",
        "header-only",
        "varint-too-long",
    ],
)
def test_a_hostile_request_is_a_decode_error(name: str) -> None:
    data = data_of(HOSTILE[name])
    with pytest.raises(DecodeError):
        header, position = decode_request_header(data)
        codec.decode_request(header.api_key, header.api_version, data, position)


@pytest.mark.parametrize(("name", "key", "version"), [("unknown-api-key", 999, 0), ("unsupported-version", 12, 99)])
def test_an_unknown_key_or_version_is_an_error_before_the_rest_is_read(name: str, key: int, version: int) -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        decode_request_header(data_of(HOSTILE[name])[:8])
    assert (caught.value.api_key, caught.value.api_version, caught.value.correlation_id) == (key, version, 1)


def test_the_error_for_an_unknown_version_has_the_correlation_id() -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        decode_request_header(data_of(HOSTILE["apiversions-v99"]))
    assert (caught.value.api_key, caught.value.api_version, caught.value.correlation_id) == (18, 99, 7)


def test_every_hostile_vector_is_tested() -> None:
    assert len(HOSTILE) == 3 + 6 + 2 + 1


def test_tags_that_repeat_or_decrease_are_refused() -> None:
    heartbeat = codec.encode_request(HeartbeatRequest("g", 1, "m"), 4)[:-1]
    assert codec.decode_request(12, 4, heartbeat + b"\x02\x05\x00\x06\x01x", 0) == HeartbeatRequest("g", 1, "m")
    for tags in (b"\x02\x05\x00\x05\x00", b"\x02\x05\x00\x04\x00"):
        with pytest.raises(DecodeError, match="follows tag"):
            codec.decode_request(12, 4, heartbeat + tags, 0)


def test_a_tag_that_ends_behind_the_frame_is_refused() -> None:
    heartbeat = codec.encode_request(HeartbeatRequest("g", 1, "m"), 4)[:-1]
    with pytest.raises(DecodeError):
        codec.decode_request(12, 4, heartbeat + b"\x01\x05\x02x", 0)


def test_a_known_tag_must_hold_its_value_and_nothing_else() -> None:
    plain = codec.encode_response(ApiVersionsResponse(), 3)
    value = (7).to_bytes(8, "big")
    full = plain[:-1] + b"\x01\x01\x08" + value
    assert codec.decode_response(18, 3, full, 0) == ApiVersionsResponse(finalized_features_epoch=7)
    for tag in (b"\x01\x01\x09" + value + b"\0", b"\x01\x01\x07" + value, b"\x01\x01\x00" + value):
        with pytest.raises(DecodeError, match="does not fill its tag"):
            codec.decode_response(18, 3, plain[:-1] + tag, 0)


def test_an_array_of_more_elements_than_bytes_is_refused_before_the_first_is_read() -> None:
    data = data_of(HOSTILE["huge-array-count"])
    _, position = decode_request_header(data)
    with pytest.raises(DecodeError, match="protocols has more elements than bytes"):
        codec.decode_request(11, 2, data + b"\x00\x01r\x00\x00\x00\x00", position)


def test_bytes_of_a_string_that_are_not_utf8_are_replaced_as_java_does() -> None:
    request = codec.decode_request(12, 0, b"\x00\x04a\xffb\xc3" + b"\x00\x00\x00\x01" + b"\x00\x01m", 0)
    assert request.group_id == "a\ufffdb\ufffd"
