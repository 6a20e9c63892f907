"""DescribeProducers: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_producers`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_qiiqiqx = Struct(">qiiqiqx").pack
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qiiqiqB = Struct(">qiiqiqB").unpack_from


def decode_describe_producers_request_v0(data: bytes, position: int, left: int) -> DescribeProducersRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[TopicRequest]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
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
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partition_indexes_1: list[int]
            n4 -= 1
            if n4 < 0 or n4 * 4 > size - position:
                raise DecodeError("partition_indexes has more elements than bytes, or is null")
            left -= n4 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partition_indexes_1 = list(unpack_from(f">{n4}i", data, position))
            position += n4 * 4
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                left -= tags5
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags5)
            list2.append(TopicRequest(name_1, partition_indexes_1))
        topics = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            left -= tags6
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeProducersRequest(topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_producers_request_v0(message: DescribeProducersRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_indexes
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}i", *items6), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeProducersRequest", error) from error


def decode_describe_producers_response_v0(data: bytes, position: int) -> DescribeProducersResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[TopicResponse]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[TopicResponse] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[PartitionResponse]
            n4 -= 1
            if n4 < 0 or n4 * 9 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, n6 = _unpack_ihB(data, position)
                position += 7
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                error_message_2: str | None
                if n6:
                    error_message_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                else:
                    error_message_2 = None
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                active_producers_2: list[ProducerState]
                n7 -= 1
                if n7 < 0 or n7 * 37 > size - position:
                    raise DecodeError("active_producers has more elements than bytes, or is null")
                list8: list[ProducerState] = []
                for _ in range(n7):
                    producer_id_3, producer_epoch_3, last_sequence_3, last_timestamp_3, coordinator_epoch_3, current_txn_start_offset_3, tags9 = _unpack_qiiqiqB(data, position)
                    position += 37
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(ProducerState(producer_id_3, producer_epoch_3, last_sequence_3, last_timestamp_3, coordinator_epoch_3, current_txn_start_offset_3))
                active_producers_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(PartitionResponse(partition_index_2, error_code_2, error_message_2, active_producers_2))
            partitions_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(TopicResponse(name_1, partitions_1))
        topics = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeProducersResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_producers_response_v0(message: DescribeProducersResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.error_message
                b11 = b"" if b9 is None else b9.encode()
                n10 = 0 if b9 is None else len(b11) + 1
                items12 = item8.active_producers
                n13 = len(items12) + 1
                parts += (_pack_ihB(item8.partition_index, item8.error_code, n10) if n10 < 128 else _pack_ih(item8.partition_index, item8.error_code) + uvarint(n10), b11, _pack_B(n13) if n13 < 128 else uvarint(n13))
                for item14 in items12:
                    parts.append(_pack_qiiqiqx(item14.producer_id, item14.producer_epoch, item14.last_sequence, item14.last_timestamp, item14.coordinator_epoch, item14.current_txn_start_offset))
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeProducersResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeProducersRequest]]] = {
    0: decode_describe_producers_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeProducersRequest], bytes]]] = {
    0: encode_describe_producers_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeProducersResponse]]] = {
    0: decode_describe_producers_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeProducersResponse], bytes]]] = {
    0: encode_describe_producers_response_v0,
}
