"""ShareGroupHeartbeat: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.share_group_heartbeat`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_B = Struct(">B").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ii = Struct(">ii").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iib = Struct(">iib").unpack_from


def decode_share_group_heartbeat_request_v0(data: bytes, position: int, left: int) -> ShareGroupHeartbeatRequest:
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
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        member_epoch, n3 = _unpack_iB(data, position)
        position += 5
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        rack_id: str | None
        if n3:
            rack_id = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            rack_id = None
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        subscribed_topic_names: list[str] | None
        if not n4:
            subscribed_topic_names = None
        else:
            n4 -= 1
            if n4 < 0 or n4 > size - position:
                raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[str] = []
            for _ in range(n4):
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                    if n7 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n7:
                    raise DecodeError("subscribed_topic_names is null")
                element6 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
                list5.append(element6)
            subscribed_topic_names = list5
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_uvarint_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupHeartbeatRequest(group_id, member_id, member_epoch, rack_id, subscribed_topic_names)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_heartbeat_request_v0(message: ShareGroupHeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.rack_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        items8 = message.subscribed_topic_names
        if items8 is None:
            items8, n9 = [], 0
        else:
            n9 = len(items8) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_iB(message.member_epoch, n6) if n6 < 128 else _pack_i(message.member_epoch) + uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9)]
        for item10 in items8:
            b11 = item10.encode()
            n12 = len(b11) + 1
            parts += (_pack_B(n12) if n12 < 128 else uvarint(n12), b11)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupHeartbeatRequest", error) from error


def decode_share_group_heartbeat_response_v0(data: bytes, position: int) -> ShareGroupHeartbeatResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
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
        member_id: str | None
        if n2:
            member_id = data[position : position + n2 - 1].decode("utf-8", "replace")
            position += n2 - 1
        else:
            member_id = None
        member_epoch, heartbeat_interval_ms, n3 = _unpack_iib(data, position)
        position += 9
        assignment: Assignment | None
        if n3 < 0:
            assignment = None
        else:
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topic_partitions_1: list[TopicPartitions]
            n4 -= 1
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            list5: list[TopicPartitions] = []
            for _ in range(n4):
                topic_id_2, n6 = _unpack_16sB(data, position)
                position += 17
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                partitions_2: list[int]
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                partitions_2 = list(unpack_from(f">{n6}i", data, position))
                position += n6 * 4
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_uvarint_tail(data, position, tags7)
                    position = skip_tags(data, position, tags7)
                list5.append(TopicPartitions(topic_id_2, partitions_2))
            topic_partitions_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_uvarint_tail(data, position, tags8)
                position = skip_tags(data, position, tags8)
            assignment = Assignment(topic_partitions_1)
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_uvarint_tail(data, position, tags9)
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_heartbeat_response_v0(message: ShareGroupHeartbeatResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.member_id
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_ii(message.member_epoch, message.heartbeat_interval_ms)]
        struct7 = message.assignment
        if struct7 is None:
            parts.append(b"\xff")
        else:
            items8 = struct7.topic_partitions
            n9 = len(items8) + 1
            parts.append(_pack_bB(1, n9) if n9 < 128 else _pack_b(1) + uvarint(n9))
            for item10 in items8:
                items11 = item10.partitions
                n12 = len(items11) + 1
                parts += (_pack_16sB(item10.topic_id, n12) if n12 < 128 else _pack_16s(item10.topic_id) + uvarint(n12), pack(f">{len(items11)}i", *items11), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupHeartbeatResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ShareGroupHeartbeatRequest]]] = {
    0: decode_share_group_heartbeat_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ShareGroupHeartbeatRequest], bytes]]] = {
    0: encode_share_group_heartbeat_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ShareGroupHeartbeatResponse]]] = {
    0: decode_share_group_heartbeat_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ShareGroupHeartbeatResponse], bytes]]] = {
    0: encode_share_group_heartbeat_response_v0,
}
