"""Tests of `ClientConnection`: request frames, partial reads, and responses matched to their requests."""

from __future__ import annotations

import pytest

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import ClientConnection, common_versions
from protocol.errors import DecodeError, ProtocolError, ResponseMismatchError
from protocol.frames import FrameError
from protocol.headers import RequestHeader, decode_request_header, encode_response_header
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.consumer_protocol import Assignment
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def response_frame(key: ApiKey, version: int, correlation_id: int, message: object) -> bytes:
    body = encode_response_header(key, version, correlation_id) + codec.encode_response(message, version)
    return len(body).to_bytes(4, "big") + body


def test_requests_are_numbered_and_carry_the_client_id() -> None:
    client = ClientConnection("me", 1000)
    headers = [decode_request_header(client.send(HeartbeatRequest(group_id="g"), 4)[4:])[0] for _ in range(2)]
    assert headers == [RequestHeader(ApiKey.HEARTBEAT, 4, number, "me") for number in (1, 2)]


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_responses_are_decoded_in_the_order_of_their_requests_however_the_bytes_arrive(step: int) -> None:
    client = ClientConnection(None, 1000)
    client.send(ApiVersionsRequest(), 0)
    client.send(HeartbeatRequest(), 4)
    expected = [ApiVersionsResponse(error_code=35), HeartbeatResponse(error_code=27)]
    data = response_frame(ApiKey.API_VERSIONS, 0, 1, expected[0]) + response_frame(ApiKey.HEARTBEAT, 4, 2, expected[1])
    received = []
    for start in range(0, len(data), step):
        received += client.receive(data[start : start + step])
    assert received == expected


def test_a_response_with_another_correlation_id_is_an_error() -> None:
    client = ClientConnection(None, 1000)
    client.send(HeartbeatRequest(), 4)
    with pytest.raises(ResponseMismatchError, match="response to request 2, where 1 is due"):
        client.receive(response_frame(ApiKey.HEARTBEAT, 4, 2, HeartbeatResponse()))


def test_a_response_without_a_request_is_an_error() -> None:
    with pytest.raises(ResponseMismatchError):
        ClientConnection(None, 1000).receive(response_frame(ApiKey.HEARTBEAT, 4, 1, HeartbeatResponse()))


@pytest.mark.parametrize("data", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\3\xe9", b"\xff\xff\xff\xff"])
def test_a_size_outside_the_limit_is_an_error(data: bytes) -> None:
    client = ClientConnection(None, 1000)
    client.send(HeartbeatRequest(), 4)
    with pytest.raises(FrameError):
        client.receive(data)


@pytest.mark.parametrize("data", [b"\0\0\0\0", b"\0\0\0\4\0\0\0\1"])
def test_a_response_that_ends_early_is_an_error(data: bytes) -> None:
    client = ClientConnection(None, 1000)
    client.send(HeartbeatRequest(), 4)
    with pytest.raises(DecodeError):
        client.receive(data)


def test_a_request_that_cannot_be_encoded_takes_no_number() -> None:
    client = ClientConnection(None, 1000)
    with pytest.raises(ProtocolError):
        client.send(HeartbeatRequest(group_id=None), 4)  # type: ignore[arg-type]
    with pytest.raises(ProtocolError):
        client.send(Assignment(), 0)
    assert decode_request_header(client.send(HeartbeatRequest(), 4)[4:])[0].correlation_id == 1


@pytest.mark.parametrize(
    ("offered", "common"),
    [(range(5), range(5)), (range(2, 40), range(2, 5)), (range(0), range(0)), (range(7, 9), range(0))],
)
def test_common_versions_are_those_of_both_sides(offered: range, common: range) -> None:
    assert common_versions(ApiKey.HEARTBEAT, offered) == common


def test_an_undeclared_api_has_no_common_versions() -> None:
    assert not common_versions(9999, range(3))
