"""ListPartitionReassignments: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_partition_reassignments`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
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
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from


def decode_list_partition_reassignments_request_v0(data: bytes, position: int, left: int) -> ListPartitionReassignmentsRequest:
    try:
        size = len(data)
        timeout_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ListPartitionReassignmentsTopics] | None
        if not n1:
            topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[ListPartitionReassignmentsTopics] = []
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
                list2.append(ListPartitionReassignmentsTopics(name_1, partition_indexes_1))
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
        return ListPartitionReassignmentsRequest(timeout_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_partition_reassignments_request_v0(message: ListPartitionReassignmentsRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.timeout_ms, n2) if n2 < 128 else _pack_i(message.timeout_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_indexes
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}i", *items6), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListPartitionReassignmentsRequest", error) from error


def decode_list_partition_reassignments_response_v0(data: bytes, position: int) -> ListPartitionReassignmentsResponse:
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
        topics: list[OngoingTopicReassignment]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list3: list[OngoingTopicReassignment] = []
        for _ in range(n2):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("name is null")
            name_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            partitions_1: list[OngoingPartitionReassignment]
            n5 -= 1
            if n5 < 0 or n5 * 8 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list6: list[OngoingPartitionReassignment] = []
            for _ in range(n5):
                partition_index_2, n7 = _unpack_iB(data, position)
                position += 5
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                replicas_2: list[int]
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - position:
                    raise DecodeError("replicas has more elements than bytes, or is null")
                replicas_2 = list(unpack_from(f">{n7}i", data, position))
                position += n7 * 4
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                adding_replicas_2: list[int]
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - position:
                    raise DecodeError("adding_replicas has more elements than bytes, or is null")
                adding_replicas_2 = list(unpack_from(f">{n8}i", data, position))
                position += n8 * 4
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                removing_replicas_2: list[int]
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - position:
                    raise DecodeError("removing_replicas has more elements than bytes, or is null")
                removing_replicas_2 = list(unpack_from(f">{n9}i", data, position))
                position += n9 * 4
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list6.append(OngoingPartitionReassignment(partition_index_2, replicas_2, adding_replicas_2, removing_replicas_2))
            partitions_1 = list6
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list3.append(OngoingTopicReassignment(name_1, partitions_1))
        topics = list3
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_partition_reassignments_response_v0(message: ListPartitionReassignmentsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.topics
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            b7 = item6.name.encode()
            n8 = len(b7) + 1
            items9 = item6.partitions
            n10 = len(items9) + 1
            parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
            for item11 in items9:
                items12 = item11.replicas
                n13 = len(items12) + 1
                items14 = item11.adding_replicas
                n15 = len(items14) + 1
                items16 = item11.removing_replicas
                n17 = len(items16) + 1
                parts += (_pack_iB(item11.partition_index, n13) if n13 < 128 else _pack_i(item11.partition_index) + uvarint(n13), pack(f">{len(items12)}i", *items12), _pack_B(n15) if n15 < 128 else uvarint(n15), pack(f">{len(items14)}i", *items14), _pack_B(n17) if n17 < 128 else uvarint(n17), pack(f">{len(items16)}i", *items16), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListPartitionReassignmentsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListPartitionReassignmentsRequest]]] = {
    0: decode_list_partition_reassignments_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListPartitionReassignmentsRequest], bytes]]] = {
    0: encode_list_partition_reassignments_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListPartitionReassignmentsResponse]]] = {
    0: decode_list_partition_reassignments_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListPartitionReassignmentsResponse], bytes]]] = {
    0: encode_list_partition_reassignments_response_v0,
}
