"""DescribeTopicPartitions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_topic_partitions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
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

_pack_16so = Struct(">16s?").pack
_pack_16soB = Struct(">16s?B").pack
_pack_B = Struct(">B").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hiii = Struct(">hiii").pack
_pack_hiiiB = Struct(">hiiiB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ix = Struct(">ix").pack
_unpack_16soB = Struct(">16s?B").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ib = Struct(">ib").unpack_from


def decode_describe_topic_partitions_request_v0(data: bytes, position: int, left: int) -> DescribeTopicPartitionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[TopicRequest]
        n1 -= 1
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[TopicRequest] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            tags4 = data[position]
            position += 1
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                left -= tags4
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags4)
            list2.append(TopicRequest(name_1))
        topics = list2
        response_partition_limit, n5 = _unpack_ib(data, position)
        position += 5
        cursor: Cursor | None
        if n5 < 0:
            cursor = None
        else:
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
                if n6 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n6:
                raise DecodeError("topic_name is null")
            topic_name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            partition_index_2, tags7 = _unpack_iB(data, position)
            position += 5
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            cursor = Cursor(topic_name_2, partition_index_2)
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_topic_partitions_request_v0(message: DescribeTopicPartitionsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, b"\0")
        parts.append(_pack_i(message.response_partition_limit))
        struct6 = message.cursor
        if struct6 is None:
            parts.append(b"\xff")
        else:
            b7 = struct6.topic_name.encode()
            n8 = len(b7) + 1
            parts += (_pack_bB(1, n8) if n8 < 128 else _pack_b(1) + uvarint(n8), b7, _pack_ix(struct6.partition_index))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeTopicPartitionsRequest", error) from error


def decode_describe_topic_partitions_response_v0(data: bytes, position: int) -> DescribeTopicPartitionsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[DescribeTopicPartitionsResponseTopic]
        n1 -= 1
        if n1 < 0 or n1 * 26 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[DescribeTopicPartitionsResponseTopic] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            name_1: str | None
            if n3:
                name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                name_1 = None
            topic_id_1, is_internal_1, n4 = _unpack_16soB(data, position)
            position += 18
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[DescribeTopicPartitionsResponsePartition]
            n4 -= 1
            if n4 < 0 or n4 * 20 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[DescribeTopicPartitionsResponsePartition] = []
            for _ in range(n4):
                error_code_2, partition_index_2, leader_id_2, leader_epoch_2, n6 = _unpack_hiiiB(data, position)
                position += 15
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                replica_nodes_2: list[int]
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_2 = list(unpack_from(f">{n6}i", data, position))
                position += n6 * 4
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                isr_nodes_2: list[int]
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_2 = list(unpack_from(f">{n7}i", data, position))
                position += n7 * 4
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                eligible_leader_replicas_2: list[int] | None
                if not n8:
                    eligible_leader_replicas_2 = None
                else:
                    n8 -= 1
                    if n8 < 0 or n8 * 4 > size - position:
                        raise DecodeError("eligible_leader_replicas has more elements than bytes, or is null")
                    eligible_leader_replicas_2 = list(unpack_from(f">{n8}i", data, position))
                    position += n8 * 4
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                last_known_elr_2: list[int] | None
                if not n9:
                    last_known_elr_2 = None
                else:
                    n9 -= 1
                    if n9 < 0 or n9 * 4 > size - position:
                        raise DecodeError("last_known_elr has more elements than bytes, or is null")
                    last_known_elr_2 = list(unpack_from(f">{n9}i", data, position))
                    position += n9 * 4
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                offline_replicas_2: list[int]
                n10 -= 1
                if n10 < 0 or n10 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_2 = list(unpack_from(f">{n10}i", data, position))
                position += n10 * 4
                tags11 = data[position]
                position += 1
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    position = skip_tags(data, position, tags11)
                list5.append(DescribeTopicPartitionsResponsePartition(error_code_2, partition_index_2, leader_id_2, leader_epoch_2, replica_nodes_2, isr_nodes_2, eligible_leader_replicas_2, last_known_elr_2, offline_replicas_2))
            partitions_1 = list5
            topic_authorized_operations_1, tags12 = _unpack_iB(data, position)
            position += 5
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                position = skip_tags(data, position, tags12)
            list2.append(DescribeTopicPartitionsResponseTopic(error_code_1, name_1, topic_id_1, is_internal_1, partitions_1, topic_authorized_operations_1))
        topics = list2
        (n13,) = _unpack_b(data, position)
        position += 1
        next_cursor: Cursor | None
        if n13 < 0:
            next_cursor = None
        else:
            n14 = data[position]
            position += 1
            if n14 > 127:
                n14, position = read_uvarint_tail(data, position, n14)
            if not n14:
                raise DecodeError("topic_name is null")
            topic_name_3 = data[position : position + n14 - 1].decode("utf-8", "replace")
            position += n14 - 1
            partition_index_3, tags15 = _unpack_iB(data, position)
            position += 5
            if tags15:
                if tags15 > 127:
                    tags15, position = read_tag_count_tail(data, position, tags15)
                position = skip_tags(data, position, tags15)
            next_cursor = Cursor(topic_name_3, partition_index_3)
        tags16 = data[position]
        position += 1
        if tags16:
            if tags16 > 127:
                tags16, position = read_tag_count_tail(data, position, tags16)
            position = skip_tags(data, position, tags16)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_topic_partitions_response_v0(message: DescribeTopicPartitionsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            items7 = item3.partitions
            n8 = len(items7) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_16soB(item3.topic_id, item3.is_internal, n8) if n8 < 128 else _pack_16so(item3.topic_id, item3.is_internal) + uvarint(n8))
            for item9 in items7:
                items10 = item9.replica_nodes
                n11 = len(items10) + 1
                items12 = item9.isr_nodes
                n13 = len(items12) + 1
                items14 = item9.eligible_leader_replicas
                if items14 is None:
                    items14, n15 = [], 0
                else:
                    n15 = len(items14) + 1
                items16 = item9.last_known_elr
                if items16 is None:
                    items16, n17 = [], 0
                else:
                    n17 = len(items16) + 1
                items18 = item9.offline_replicas
                n19 = len(items18) + 1
                parts += (_pack_hiiiB(item9.error_code, item9.partition_index, item9.leader_id, item9.leader_epoch, n11) if n11 < 128 else _pack_hiii(item9.error_code, item9.partition_index, item9.leader_id, item9.leader_epoch) + uvarint(n11), pack(f">{len(items10)}i", *items10), _pack_B(n13) if n13 < 128 else uvarint(n13), pack(f">{len(items12)}i", *items12), _pack_B(n15) if n15 < 128 else uvarint(n15), pack(f">{len(items14)}i", *items14), _pack_B(n17) if n17 < 128 else uvarint(n17), pack(f">{len(items16)}i", *items16), _pack_B(n19) if n19 < 128 else uvarint(n19), pack(f">{len(items18)}i", *items18), b"\0")
            parts.append(_pack_ix(item3.topic_authorized_operations))
        struct20 = message.next_cursor
        if struct20 is None:
            parts.append(b"\xff")
        else:
            b21 = struct20.topic_name.encode()
            n22 = len(b21) + 1
            parts += (_pack_bB(1, n22) if n22 < 128 else _pack_b(1) + uvarint(n22), b21, _pack_ix(struct20.partition_index))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeTopicPartitionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeTopicPartitionsRequest]]] = {
    0: decode_describe_topic_partitions_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeTopicPartitionsRequest], bytes]]] = {
    0: encode_describe_topic_partitions_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeTopicPartitionsResponse]]] = {
    0: decode_describe_topic_partitions_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeTopicPartitionsResponse], bytes]]] = {
    0: encode_describe_topic_partitions_response_v0,
}
