"""DeleteTopics: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.delete_topics`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    ZERO_UUID,
    read_tag_count_tail,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_16sh = Struct(">16sh").pack
_pack_16shB = Struct(">16shB").pack
_pack_16sx = Struct(">16sx").pack
_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_16shB = Struct(">16shB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from


def decode_delete_topics_request_v0(data: bytes, position: int, left: int) -> DeleteTopicsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topic_names: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topic_names has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("topic_names is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        topic_names = list2
        (timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsRequest([], topic_names, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_request_v4(data: bytes, position: int, left: int) -> DeleteTopicsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topic_names: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("topic_names has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("topic_names is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        topic_names = list2
        timeout_ms, tags5 = _unpack_iB(data, position)
        position += 5
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsRequest([], topic_names, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_request_v6(data: bytes, position: int, left: int) -> DeleteTopicsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[DeleteTopicState]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteTopicState] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            name_1: str | None
            if n3:
                name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                name_1 = None
            topic_id_1, tags4 = _unpack_16sB(data, position)
            position += 17
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                left -= tags4
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags4)
            list2.append(DeleteTopicState(name_1, topic_id_1))
        topics = list2
        timeout_ms, tags5 = _unpack_iB(data, position)
        position += 5
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsRequest(topics, [], timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_topics_request_v0(message: DeleteTopicsRequest) -> bytes:
    try:
        items1 = message.topic_names
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        parts.append(_pack_i(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsRequest", error) from error


def encode_delete_topics_request_v4(message: DeleteTopicsRequest) -> bytes:
    try:
        items1 = message.topic_names
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(_pack_ix(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsRequest", error) from error


def encode_delete_topics_request_v6(message: DeleteTopicsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_16sx(item3.topic_id))
        parts.append(_pack_ix(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsRequest", error) from error


def decode_delete_topics_response_v0(data: bytes, position: int) -> DeleteTopicsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[DeletableTopicResult]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[DeletableTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (error_code_1,) = _unpack_h(data, position)
            position += 2
            list2.append(DeletableTopicResult(name_1, ZERO_UUID, error_code_1, None))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsResponse(0, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_response_v1(data: bytes, position: int) -> DeleteTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        responses: list[DeletableTopicResult]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[DeletableTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (error_code_1,) = _unpack_h(data, position)
            position += 2
            list2.append(DeletableTopicResult(name_1, ZERO_UUID, error_code_1, None))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_response_v4(data: bytes, position: int) -> DeleteTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[DeletableTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[DeletableTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, tags4 = _unpack_hB(data, position)
            position += 3
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(DeletableTopicResult(name_1, ZERO_UUID, error_code_1, None))
        responses = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_response_v5(data: bytes, position: int) -> DeleteTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[DeletableTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[DeletableTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, n4 = _unpack_hB(data, position)
            position += 3
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(DeletableTopicResult(name_1, ZERO_UUID, error_code_1, error_message_1))
        responses = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_topics_response_v6(data: bytes, position: int) -> DeleteTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[DeletableTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 21 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[DeletableTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            name_1: str | None
            if n3:
                name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                name_1 = None
            topic_id_1, error_code_1, n4 = _unpack_16shB(data, position)
            position += 19
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(DeletableTopicResult(name_1, topic_id_1, error_code_1, error_message_1))
        responses = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_topics_response_v0(message: DeleteTopicsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4, _pack_h(item3.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsResponse", error) from error


def encode_delete_topics_response_v1(message: DeleteTopicsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4, _pack_h(item3.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsResponse", error) from error


def encode_delete_topics_response_v4(message: DeleteTopicsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hx(item3.error_code))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsResponse", error) from error


def encode_delete_topics_response_v5(message: DeleteTopicsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4) + 1
            b7 = item3.error_message
            b9 = b"" if b7 is None else b7.encode()
            n8 = 0 if b7 is None else len(b9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hB(item3.error_code, n8) if n8 < 128 else _pack_h(item3.error_code) + uvarint(n8), b9, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsResponse", error) from error


def encode_delete_topics_response_v6(message: DeleteTopicsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.error_message
            b9 = b"" if b7 is None else b7.encode()
            n8 = 0 if b7 is None else len(b9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_16shB(item3.topic_id, item3.error_code, n8) if n8 < 128 else _pack_16sh(item3.topic_id, item3.error_code) + uvarint(n8), b9, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteTopicsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DeleteTopicsRequest]]] = {
    0: decode_delete_topics_request_v0,
    1: decode_delete_topics_request_v0,
    2: decode_delete_topics_request_v0,
    3: decode_delete_topics_request_v0,
    4: decode_delete_topics_request_v4,
    5: decode_delete_topics_request_v4,
    6: decode_delete_topics_request_v6,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DeleteTopicsRequest], bytes]]] = {
    0: encode_delete_topics_request_v0,
    1: encode_delete_topics_request_v0,
    2: encode_delete_topics_request_v0,
    3: encode_delete_topics_request_v0,
    4: encode_delete_topics_request_v4,
    5: encode_delete_topics_request_v4,
    6: encode_delete_topics_request_v6,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DeleteTopicsResponse]]] = {
    0: decode_delete_topics_response_v0,
    1: decode_delete_topics_response_v1,
    2: decode_delete_topics_response_v1,
    3: decode_delete_topics_response_v1,
    4: decode_delete_topics_response_v4,
    5: decode_delete_topics_response_v5,
    6: decode_delete_topics_response_v6,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DeleteTopicsResponse], bytes]]] = {
    0: encode_delete_topics_response_v0,
    1: encode_delete_topics_response_v1,
    2: encode_delete_topics_response_v1,
    3: encode_delete_topics_response_v1,
    4: encode_delete_topics_response_v4,
    5: encode_delete_topics_response_v5,
    6: encode_delete_topics_response_v6,
}
