"""AlterPartitionReassignments: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.alter_partition_reassignments`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
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
_pack_io = Struct(">i?").pack
_pack_ioB = Struct(">i?B").pack
_pack_ioh = Struct(">i?h").pack
_pack_iohB = Struct(">i?hB").pack
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ioB = Struct(">i?B").unpack_from
_unpack_iohB = Struct(">i?hB").unpack_from


def decode_alter_partition_reassignments_request_v0(data: bytes, position: int, left: int) -> AlterPartitionReassignmentsRequest:
    try:
        size = len(data)
        timeout_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ReassignableTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ReassignableTopic] = []
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
            partitions_1: list[ReassignablePartition]
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ReassignablePartition] = []
            for _ in range(n4):
                partition_index_2, n6 = _unpack_iB(data, position)
                position += 5
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                replicas_2: list[int] | None
                if not n6:
                    replicas_2 = None
                else:
                    n6 -= 1
                    if n6 < 0 or n6 * 4 > size - position:
                        raise DecodeError("replicas has more elements than bytes, or is null")
                    left -= n6 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    replicas_2 = list(unpack_from(f">{n6}i", data, position))
                    position += n6 * 4
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    left -= tags7
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags7)
                list5.append(ReassignablePartition(partition_index_2, replicas_2))
            partitions_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(ReassignableTopic(name_1, partitions_1))
        topics = list2
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            left -= tags9
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterPartitionReassignmentsRequest(timeout_ms, True, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_partition_reassignments_request_v1(data: bytes, position: int, left: int) -> AlterPartitionReassignmentsRequest:
    try:
        size = len(data)
        timeout_ms, allow_replication_factor_change, n1 = _unpack_ioB(data, position)
        position += 6
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ReassignableTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ReassignableTopic] = []
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
            partitions_1: list[ReassignablePartition]
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ReassignablePartition] = []
            for _ in range(n4):
                partition_index_2, n6 = _unpack_iB(data, position)
                position += 5
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                replicas_2: list[int] | None
                if not n6:
                    replicas_2 = None
                else:
                    n6 -= 1
                    if n6 < 0 or n6 * 4 > size - position:
                        raise DecodeError("replicas has more elements than bytes, or is null")
                    left -= n6 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    replicas_2 = list(unpack_from(f">{n6}i", data, position))
                    position += n6 * 4
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    left -= tags7
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags7)
                list5.append(ReassignablePartition(partition_index_2, replicas_2))
            partitions_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(ReassignableTopic(name_1, partitions_1))
        topics = list2
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            left -= tags9
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_partition_reassignments_request_v0(message: AlterPartitionReassignmentsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.timeout_ms, n2) if n2 < 128 else _pack_i(message.timeout_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.replicas
                if items9 is None:
                    items9, n10 = [], 0
                else:
                    n10 = len(items9) + 1
                parts += (_pack_iB(item8.partition_index, n10) if n10 < 128 else _pack_i(item8.partition_index) + uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterPartitionReassignmentsRequest", error) from error


def encode_alter_partition_reassignments_request_v1(message: AlterPartitionReassignmentsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ioB(message.timeout_ms, message.allow_replication_factor_change, n2) if n2 < 128 else _pack_io(message.timeout_ms, message.allow_replication_factor_change) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.replicas
                if items9 is None:
                    items9, n10 = [], 0
                else:
                    n10 = len(items9) + 1
                parts += (_pack_iB(item8.partition_index, n10) if n10 < 128 else _pack_i(item8.partition_index) + uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterPartitionReassignmentsRequest", error) from error


def decode_alter_partition_reassignments_response_v0(data: bytes, position: int) -> AlterPartitionReassignmentsResponse:
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
        responses: list[ReassignableTopicResponse]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list3: list[ReassignableTopicResponse] = []
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
            partitions_1: list[ReassignablePartitionResponse]
            n5 -= 1
            if n5 < 0 or n5 * 8 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list6: list[ReassignablePartitionResponse] = []
            for _ in range(n5):
                partition_index_2, error_code_2, n7 = _unpack_ihB(data, position)
                position += 7
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                error_message_2: str | None
                if n7:
                    error_message_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                else:
                    error_message_2 = None
                tags8 = data[position]
                position += 1
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    position = skip_tags(data, position, tags8)
                list6.append(ReassignablePartitionResponse(partition_index_2, error_code_2, error_message_2))
            partitions_1 = list6
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list3.append(ReassignableTopicResponse(name_1, partitions_1))
        responses = list3
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterPartitionReassignmentsResponse(throttle_time_ms, True, error_code, error_message, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_partition_reassignments_response_v1(data: bytes, position: int) -> AlterPartitionReassignmentsResponse:
    try:
        size = len(data)
        throttle_time_ms, allow_replication_factor_change, error_code, n1 = _unpack_iohB(data, position)
        position += 8
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
        responses: list[ReassignableTopicResponse]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list3: list[ReassignableTopicResponse] = []
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
            partitions_1: list[ReassignablePartitionResponse]
            n5 -= 1
            if n5 < 0 or n5 * 8 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list6: list[ReassignablePartitionResponse] = []
            for _ in range(n5):
                partition_index_2, error_code_2, n7 = _unpack_ihB(data, position)
                position += 7
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                error_message_2: str | None
                if n7:
                    error_message_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                else:
                    error_message_2 = None
                tags8 = data[position]
                position += 1
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    position = skip_tags(data, position, tags8)
                list6.append(ReassignablePartitionResponse(partition_index_2, error_code_2, error_message_2))
            partitions_1 = list6
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list3.append(ReassignableTopicResponse(name_1, partitions_1))
        responses = list3
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterPartitionReassignmentsResponse(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_partition_reassignments_response_v0(message: AlterPartitionReassignmentsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.responses
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            b7 = item6.name.encode()
            n8 = len(b7) + 1
            items9 = item6.partitions
            n10 = len(items9) + 1
            parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
            for item11 in items9:
                b12 = item11.error_message
                b14 = b"" if b12 is None else b12.encode()
                n13 = 0 if b12 is None else len(b14) + 1
                parts += (_pack_ihB(item11.partition_index, item11.error_code, n13) if n13 < 128 else _pack_ih(item11.partition_index, item11.error_code) + uvarint(n13), b14, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterPartitionReassignmentsResponse", error) from error


def encode_alter_partition_reassignments_response_v1(message: AlterPartitionReassignmentsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.responses
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_iohB(message.throttle_time_ms, message.allow_replication_factor_change, message.error_code, n2) if n2 < 128 else _pack_ioh(message.throttle_time_ms, message.allow_replication_factor_change, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            b7 = item6.name.encode()
            n8 = len(b7) + 1
            items9 = item6.partitions
            n10 = len(items9) + 1
            parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
            for item11 in items9:
                b12 = item11.error_message
                b14 = b"" if b12 is None else b12.encode()
                n13 = 0 if b12 is None else len(b14) + 1
                parts += (_pack_ihB(item11.partition_index, item11.error_code, n13) if n13 < 128 else _pack_ih(item11.partition_index, item11.error_code) + uvarint(n13), b14, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterPartitionReassignmentsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AlterPartitionReassignmentsRequest]]] = {
    0: decode_alter_partition_reassignments_request_v0,
    1: decode_alter_partition_reassignments_request_v1,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AlterPartitionReassignmentsRequest], bytes]]] = {
    0: encode_alter_partition_reassignments_request_v0,
    1: encode_alter_partition_reassignments_request_v1,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AlterPartitionReassignmentsResponse]]] = {
    0: decode_alter_partition_reassignments_response_v0,
    1: decode_alter_partition_reassignments_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AlterPartitionReassignmentsResponse], bytes]]] = {
    0: encode_alter_partition_reassignments_response_v0,
    1: encode_alter_partition_reassignments_response_v1,
}
