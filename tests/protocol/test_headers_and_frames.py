"""Frames from any slicing of the stream, their limits, and headers in both forms."""

from __future__ import annotations

import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.api_keys import ApiKey
from protocol.errors import DecodeError
from protocol.frames import FrameError, FrameReader
from protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)

LIMIT = 1 << 20


def framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 2000), max_size=12))
def test_frames_do_not_depend_on_how_the_stream_is_cut(frames: list[bytes], cuts: list[int]) -> None:
    stream = framed(*frames)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = FrameReader(LIMIT)
    found: list[bytes] = []
    for start, end in pairwise(edges):
        found += reader.feed(stream[start:end])
    assert found == frames
    assert all(type(frame) is bytes for frame in found)
    assert reader.buffered == 0 and not reader.has_partial_frame


def test_frames_that_arrive_byte_by_byte_are_returned_whole() -> None:
    reader = FrameReader(LIMIT)
    stream = framed(b"one", b"", b"three")
    found = [frame for at in range(len(stream)) for frame in reader.feed(stream[at : at + 1])]
    assert found == [b"one", b"", b"three"]


def test_bytes_of_an_incomplete_frame_are_counted() -> None:
    reader = FrameReader(LIMIT)
    assert reader.feed(framed(b"whole") + framed(b"half of it")[:7]) == [b"whole"]
    assert reader.has_partial_frame and reader.buffered == 7
    assert reader.feed(framed(b"half of it")[7:]) == [b"half of it"]
    assert not reader.has_partial_frame


@pytest.mark.parametrize(
    "start", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01", b"\xff\xff\xff\xff", b"\x00\x10\x00\x01"]
)
@pytest.mark.parametrize("piecewise", [False, True])
def test_a_length_outside_the_limits_ends_the_stream_at_once(start: bytes, piecewise: bool) -> None:
    reader = FrameReader(LIMIT)
    with pytest.raises(DecodeError):
        for piece in [start[:2], start[2:]] if piecewise else [start]:
            reader.feed(piece)
    assert reader.buffered <= 4


def test_frames_before_a_bad_length_are_returned_with_the_error() -> None:
    with pytest.raises(FrameError) as caught:
        FrameReader(10).feed(framed(b"good") + framed(b"x" * 11))
    assert caught.value.frames == [b"good"]
    reader = FrameReader(10)
    reader.feed(framed(b"good")[:-1])
    with pytest.raises(FrameError) as caught:
        reader.feed(framed(b"good")[-1:] + framed(b"x" * 11))
    assert caught.value.frames == [b"good"]


def test_a_frame_as_large_as_the_limit_is_accepted() -> None:
    assert FrameReader(10).feed(framed(b"x" * 10)) == [b"x" * 10]


def test_a_declared_length_reserves_no_memory() -> None:
    reader = FrameReader(1 << 30)
    tracemalloc.start()
    try:
        reader.feed(struct.pack(">i", 1 << 30) + b"the first bytes")
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("client_id", [None, "", "consumer-1", "ü" * 300])
@pytest.mark.parametrize("version", [3, 4])
def test_a_request_header_round_trips_in_both_forms(client_id: str | None, version: int) -> None:
    data = encode_request_header(ApiKey.HEARTBEAT, version, 7, client_id)
    expected = RequestHeader(ApiKey.HEARTBEAT, version, 7, client_id)
    assert decode_request_header(data + b"body") == (expected, len(data))
    assert decode_request_header(b"before" + data, 6) == (expected, 6 + len(data))
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            decode_request_header(data[:length])


def test_a_client_id_longer_than_the_data_is_a_decode_error() -> None:
    with pytest.raises(DecodeError):
        decode_request_header(struct.pack(">hhi", 12, 0, 1) + b"\x00\x02")


@pytest.mark.parametrize("length", [-1, -2, -32768])
def test_any_negative_length_of_a_client_id_means_null(length: int) -> None:
    header, position = decode_request_header(struct.pack(">hhih", 12, 0, 1, length) + b"body")
    assert (header.client_id, position) == (None, 10)


def test_bytes_of_a_client_id_that_are_not_utf8_are_replaced() -> None:
    header, _ = decode_request_header(struct.pack(">hhi", 12, 0, 1) + b"\x00\x03a\xff\xc3")
    assert header.client_id == "a\ufffd\ufffd"


def test_the_answer_to_api_versions_has_the_old_header_in_every_version() -> None:
    for version in range(5):
        assert encode_response_header(ApiKey.API_VERSIONS, version, 1) == b"\0\0\0\1"
        assert decode_response_header(ApiKey.API_VERSIONS, version, b"\0\0\0\1body") == (1, 4)
    assert encode_response_header(ApiKey.HEARTBEAT, 4, 1) == b"\0\0\0\1\0"
    assert decode_response_header(ApiKey.HEARTBEAT, 4, b"\0\0\0\1\1\x05\x01x") == (1, 8)
    for short in (b"\0\0\0\1", b"\0\0\0\1\1\x05\x02x"):
        with pytest.raises(DecodeError):
            decode_response_header(ApiKey.HEARTBEAT, 4, short)
