"""ExplainGroup: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.explain_group`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.explain_group import (
    ExplainGroupRequest,
    ExplainGroupResponse,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    read_tag_count_tail,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_unpack_hB = Struct(">hB").unpack_from


def decode_explain_group_request_v0(data: bytes, position: int, left: int) -> ExplainGroupRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ExplainGroupRequest(group_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_explain_group_request_v0(message: ExplainGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("ExplainGroupRequest", error) from error


def decode_explain_group_response_v0(data: bytes, position: int) -> ExplainGroupResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        story: bytes | None
        if n2:
            story = data[position : position + n2 - 1]
            position += n2 - 1
        else:
            story = None
        tags3 = data[position]
        position += 1
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            position = skip_tags(data, position, tags3)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ExplainGroupResponse(error_code, error_message, story)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_explain_group_response_v0(message: ExplainGroupResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.story
        if b4 is None:
            b4, n5 = b"", 0
        else:
            n5 = len(b4) + 1
        return b"".join((_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b4, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("ExplainGroupResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ExplainGroupRequest]]] = {
    0: decode_explain_group_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ExplainGroupRequest], bytes]]] = {
    0: encode_explain_group_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ExplainGroupResponse]]] = {
    0: decode_explain_group_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ExplainGroupResponse], bytes]]] = {
    0: encode_explain_group_response_v0,
}
