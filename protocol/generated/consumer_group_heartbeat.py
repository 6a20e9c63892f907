"""ConsumerGroupHeartbeat: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.consumer_group_heartbeat`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
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


def decode_consumer_group_heartbeat_request_v0(data: bytes, position: int, left: int) -> ConsumerGroupHeartbeatRequest:
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
        instance_id: str | None
        if n3:
            instance_id = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            instance_id = None
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
            if n4 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        rack_id: str | None
        if n4:
            rack_id = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
        else:
            rack_id = None
        rebalance_timeout_ms, n5 = _unpack_iB(data, position)
        position += 5
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        subscribed_topic_names: list[str] | None
        if not n5:
            subscribed_topic_names = None
        else:
            n5 -= 1
            if n5 < 0 or n5 > size - position:
                raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
            left -= n5
            if left < 0:
                raise TooManyElementsError
            list6: list[str] = []
            for _ in range(n5):
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                    if n8 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n8:
                    raise DecodeError("subscribed_topic_names is null")
                element7 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
                list6.append(element7)
            subscribed_topic_names = list6
        n9 = data[position]
        position += 1
        if n9 > 127:
            n9, position = read_uvarint_tail(data, position, n9)
            if n9 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        server_assignor: str | None
        if n9:
            server_assignor = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
        else:
            server_assignor = None
        n10 = data[position]
        position += 1
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
        topic_partitions: list[TopicPartitions] | None
        if not n10:
            topic_partitions = None
        else:
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            left -= n10
            if left < 0:
                raise TooManyElementsError
            list11: list[TopicPartitions] = []
            for _ in range(n10):
                topic_id_1, n12 = _unpack_16sB(data, position)
                position += 17
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                partitions_1: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n12 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_1 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                tags13 = data[position]
                position += 1
                if tags13:
                    if tags13 > 127:
                        tags13, position = read_tag_count_tail(data, position, tags13)
                    left -= tags13
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags13)
                list11.append(TopicPartitions(topic_id_1, partitions_1))
            topic_partitions = list11
        tags14 = data[position]
        position += 1
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            left -= tags14
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags14)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, None, server_assignor, topic_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_consumer_group_heartbeat_request_v1(data: bytes, position: int, left: int) -> ConsumerGroupHeartbeatRequest:
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
        instance_id: str | None
        if n3:
            instance_id = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            instance_id = None
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
            if n4 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        rack_id: str | None
        if n4:
            rack_id = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
        else:
            rack_id = None
        rebalance_timeout_ms, n5 = _unpack_iB(data, position)
        position += 5
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        subscribed_topic_names: list[str] | None
        if not n5:
            subscribed_topic_names = None
        else:
            n5 -= 1
            if n5 < 0 or n5 > size - position:
                raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
            left -= n5
            if left < 0:
                raise TooManyElementsError
            list6: list[str] = []
            for _ in range(n5):
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                    if n8 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n8:
                    raise DecodeError("subscribed_topic_names is null")
                element7 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
                list6.append(element7)
            subscribed_topic_names = list6
        n9 = data[position]
        position += 1
        if n9 > 127:
            n9, position = read_uvarint_tail(data, position, n9)
            if n9 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        subscribed_topic_regex: str | None
        if n9:
            subscribed_topic_regex = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
        else:
            subscribed_topic_regex = None
        n10 = data[position]
        position += 1
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
            if n10 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        server_assignor: str | None
        if n10:
            server_assignor = data[position : position + n10 - 1].decode("utf-8", "replace")
            position += n10 - 1
        else:
            server_assignor = None
        n11 = data[position]
        position += 1
        if n11 > 127:
            n11, position = read_uvarint_tail(data, position, n11)
        topic_partitions: list[TopicPartitions] | None
        if not n11:
            topic_partitions = None
        else:
            n11 -= 1
            if n11 < 0 or n11 * 18 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            left -= n11
            if left < 0:
                raise TooManyElementsError
            list12: list[TopicPartitions] = []
            for _ in range(n11):
                topic_id_1, n13 = _unpack_16sB(data, position)
                position += 17
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                partitions_1: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n13 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_1 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                tags14 = data[position]
                position += 1
                if tags14:
                    if tags14 > 127:
                        tags14, position = read_tag_count_tail(data, position, tags14)
                    left -= tags14
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags14)
                list12.append(TopicPartitions(topic_id_1, partitions_1))
            topic_partitions = list12
        tags15 = data[position]
        position += 1
        if tags15:
            if tags15 > 127:
                tags15, position = read_tag_count_tail(data, position, tags15)
            left -= tags15
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags15)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, subscribed_topic_regex, server_assignor, topic_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_heartbeat_request_v0(message: ConsumerGroupHeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        b8 = message.rack_id
        b10 = b"" if b8 is None else b8.encode()
        n9 = 0 if b8 is None else len(b10) + 1
        items11 = message.subscribed_topic_names
        if items11 is None:
            items11, n12 = [], 0
        else:
            n12 = len(items11) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_iB(message.member_epoch, n6) if n6 < 128 else _pack_i(message.member_epoch) + uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9), b10, _pack_iB(message.rebalance_timeout_ms, n12) if n12 < 128 else _pack_i(message.rebalance_timeout_ms) + uvarint(n12)]
        for item13 in items11:
            b14 = item13.encode()
            n15 = len(b14) + 1
            parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14)
        b16 = message.server_assignor
        b18 = b"" if b16 is None else b16.encode()
        n17 = 0 if b16 is None else len(b18) + 1
        items19 = message.topic_partitions
        if items19 is None:
            items19, n20 = [], 0
        else:
            n20 = len(items19) + 1
        parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b18, _pack_B(n20) if n20 < 128 else uvarint(n20))
        for item21 in items19:
            items22 = item21.partitions
            n23 = len(items22) + 1
            parts += (_pack_16sB(item21.topic_id, n23) if n23 < 128 else _pack_16s(item21.topic_id) + uvarint(n23), pack(f">{len(items22)}i", *items22), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupHeartbeatRequest", error) from error


def encode_consumer_group_heartbeat_request_v1(message: ConsumerGroupHeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        b8 = message.rack_id
        b10 = b"" if b8 is None else b8.encode()
        n9 = 0 if b8 is None else len(b10) + 1
        items11 = message.subscribed_topic_names
        if items11 is None:
            items11, n12 = [], 0
        else:
            n12 = len(items11) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_iB(message.member_epoch, n6) if n6 < 128 else _pack_i(message.member_epoch) + uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9), b10, _pack_iB(message.rebalance_timeout_ms, n12) if n12 < 128 else _pack_i(message.rebalance_timeout_ms) + uvarint(n12)]
        for item13 in items11:
            b14 = item13.encode()
            n15 = len(b14) + 1
            parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14)
        b16 = message.subscribed_topic_regex
        b18 = b"" if b16 is None else b16.encode()
        n17 = 0 if b16 is None else len(b18) + 1
        b19 = message.server_assignor
        b21 = b"" if b19 is None else b19.encode()
        n20 = 0 if b19 is None else len(b21) + 1
        items22 = message.topic_partitions
        if items22 is None:
            items22, n23 = [], 0
        else:
            n23 = len(items22) + 1
        parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b18, _pack_B(n20) if n20 < 128 else uvarint(n20), b21, _pack_B(n23) if n23 < 128 else uvarint(n23))
        for item24 in items22:
            items25 = item24.partitions
            n26 = len(items25) + 1
            parts += (_pack_16sB(item24.topic_id, n26) if n26 < 128 else _pack_16s(item24.topic_id) + uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupHeartbeatRequest", error) from error


def decode_consumer_group_heartbeat_response_v0(data: bytes, position: int) -> ConsumerGroupHeartbeatResponse:
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
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    position = skip_tags(data, position, tags7)
                list5.append(TopicPartitions(topic_id_2, partitions_2))
            topic_partitions_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                position = skip_tags(data, position, tags8)
            assignment = Assignment(topic_partitions_1)
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_heartbeat_response_v0(message: ConsumerGroupHeartbeatResponse) -> bytes:
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
        raise unwritable("ConsumerGroupHeartbeatResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ConsumerGroupHeartbeatRequest]]] = {
    0: decode_consumer_group_heartbeat_request_v0,
    1: decode_consumer_group_heartbeat_request_v1,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ConsumerGroupHeartbeatRequest], bytes]]] = {
    0: encode_consumer_group_heartbeat_request_v0,
    1: encode_consumer_group_heartbeat_request_v1,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ConsumerGroupHeartbeatResponse]]] = {
    0: decode_consumer_group_heartbeat_response_v0,
    1: decode_consumer_group_heartbeat_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ConsumerGroupHeartbeatResponse], bytes]]] = {
    0: encode_consumer_group_heartbeat_response_v0,
    1: encode_consumer_group_heartbeat_response_v0,
}
