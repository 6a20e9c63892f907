"""The decoder of a request enforces its limit of elements exactly, in every array of every version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.server.api.table import HANDLERS
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import DecodeError, TooManyElementsError
from protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.primitives import MOST_TAGS, UNLIMITED, uvarint
from tests.support.largest_requests import Shape, largest, shapes

LIMIT = 41
SHAPES = [
    shape
    for api in HANDLERS.values()
    for version in range(api.min_version, api.max_version + 1)
    for shape in shapes(api.key, version)
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_array_is_read_up_to_the_limit_and_not_beyond(shape: Shape) -> None:
    request = largest(shape, LIMIT)
    body = codec.encode_request(request, shape.version)
    decode = codec.request_decoder(shape.key, shape.version)
    assert decode(body, 0, LIMIT) == decode(body, 0, UNLIMITED)
    with pytest.raises(TooManyElementsError):
        decode(body, 0, LIMIT - 1)


def test_every_api_with_an_array_is_tested() -> None:
    without = {HANDLERS[key].key for key in HANDLERS} - {shape.key for shape in SHAPES}
    assert without == {
        ApiKey.HEARTBEAT,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.API_VERSIONS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.EXPLAIN_GROUP,
        ApiKey.LIST_GROUP_FIGURES,
        ApiKey.DESCRIBE_OWNERS,
        ApiKey.LIST_OPEN_TRANSACTIONS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
    }


def test_a_count_is_refused_before_the_first_element_is_read() -> None:
    """The bytes behind the count are not valid members."""
    body = b"\x00\x01g" + (1_000_000).to_bytes(4, "big") + b"\xff" * 4_000_000
    with pytest.raises(TooManyElementsError):
        codec.request_decoder(ApiKey.LEAVE_GROUP, 3)(body, 0, 1000)


def tags(count: int) -> bytes:
    return uvarint(count) + b"".join(uvarint(1000 + tag) + b"\0" for tag in range(count))


@pytest.mark.parametrize("count", [1, 127, 128, 300])
def test_fields_of_a_tag_section_count(count: int) -> None:
    decode = codec.request_decoder(ApiKey.HEARTBEAT, 4)
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    body = codec.encode_request(request, 4)[:-1] + tags(count)
    assert decode(body, 0, count) == request
    with pytest.raises(TooManyElementsError):
        decode(body, 0, count - 1)


def test_tags_within_elements_count_with_the_elements() -> None:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    body = codec.encode_request(request, 4)
    assert body.endswith(b"\0\0"), "the tag sections of the member and of the request"
    body = body[:-2] + tags(2) + tags(3)
    decode = codec.request_decoder(ApiKey.LEAVE_GROUP, 4)
    assert decode(body, 0, 6) == request
    with pytest.raises(TooManyElementsError):
        decode(body, 0, 5)


def test_known_tags_count_too() -> None:
    """Tag 0 is a known field of Fetch 12."""
    decode = codec.request_decoder(ApiKey.FETCH, 12)
    body = codec.encode_request(largest(Shape(ApiKey.FETCH, 12, ("topics",)), 1), 12)
    assert body.endswith(b"\0")
    body = body[:-1] + tags(4)
    decode(body, 0, 5)
    with pytest.raises(TooManyElementsError):
        decode(body, 0, 4)


REQUEST = codec.encode_request(HeartbeatRequest(), 4)
WITH_KNOWN_TAGS = codec.encode_request(largest(Shape(ApiKey.FETCH, 12, ("topics",)), 1), 12)


@pytest.mark.parametrize(
    ("decode", "body"),
    [
        (lambda data: codec.request_decoder(ApiKey.HEARTBEAT, 4)(data, 0, UNLIMITED), REQUEST),
        (lambda data: codec.request_decoder(ApiKey.FETCH, 12)(data, 0, UNLIMITED), WITH_KNOWN_TAGS),
        (
            lambda data: codec.response_decoder(ApiKey.HEARTBEAT, 4)(data, 0),
            codec.encode_response(HeartbeatResponse(), 4),
        ),
        (
            lambda data: decode_response_header(ApiKey.HEARTBEAT, 4, data),
            encode_response_header(ApiKey.HEARTBEAT, 4, 1),
        ),
    ],
    ids=["request", "request with known tags", "response", "header of a response"],
)
def test_a_tag_section_has_as_many_fields_as_kafka_takes_and_no_more(
    decode: Callable[[bytes], Any], body: bytes
) -> None:
    assert body.endswith(b"\0"), "no tags"
    assert decode(body[:-1] + tags(MOST_TAGS))
    with pytest.raises(DecodeError, match="10001"):
        decode(body[:-1] + tags(MOST_TAGS + 1))


def test_the_tags_of_a_header_are_bounded() -> None:
    header = encode_request_header(ApiKey.HEARTBEAT, 4, 1, "me")
    assert decode_request_header(header[:-1] + tags(MOST_TAGS))[0].client_id == "me"
    with pytest.raises(DecodeError, match="10001 tagged fields"):
        decode_request_header(header[:-1] + tags(MOST_TAGS + 1))


def test_a_string_of_a_flexible_version_is_bounded() -> None:
    decode = codec.request_decoder(ApiKey.FIND_COORDINATOR, 4)
    longest = FindCoordinatorRequest(coordinator_keys=["k" * 65_535])
    assert decode(codec.encode_request(longest, 4), 0, 1) == longest
    longest.coordinator_keys.append("k" * 65_536)
    with pytest.raises(DecodeError, match="longer than 65535 bytes"):
        decode(codec.encode_request(longest, 4), 0, 2)
