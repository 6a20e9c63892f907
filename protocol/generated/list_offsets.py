"""ListOffsets: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_offsets`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ib = Struct(">ib").pack
_pack_ibB = Struct(">ibB").pack
_pack_ibi = Struct(">ibi").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ihqqix = Struct(">ihqqix").pack
_pack_ii = Struct(">ii").pack
_pack_iiq = Struct(">iiq").pack
_pack_iiqx = Struct(">iiqx").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack
_pack_ix = Struct(">ix").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_ibi = Struct(">ibi").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqiB = Struct(">ihqqiB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqi = Struct(">iqi").unpack_from


def decode_list_offsets_request_v0(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[ListOffsetsTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, timestamp_2, max_num_offsets_2 = _unpack_iqi(data, position)
                position += 16
                list5.append(ListOffsetsPartition(partition_index_2, -1, timestamp_2, max_num_offsets_2))
            partitions_1 = list5
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsRequest(replica_id, 0, topics, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_request_v1(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[ListOffsetsTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartition]
            if n4 < 0 or n4 * 12 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, timestamp_2 = _unpack_iq(data, position)
                position += 12
                list5.append(ListOffsetsPartition(partition_index_2, -1, timestamp_2, 1))
            partitions_1 = list5
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsRequest(replica_id, 0, topics, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_request_v2(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, isolation_level, n1 = _unpack_ibi(data, position)
        position += 9
        topics: list[ListOffsetsTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartition]
            if n4 < 0 or n4 * 12 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, timestamp_2 = _unpack_iq(data, position)
                position += 12
                list5.append(ListOffsetsPartition(partition_index_2, -1, timestamp_2, 1))
            partitions_1 = list5
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_request_v4(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, isolation_level, n1 = _unpack_ibi(data, position)
        position += 9
        topics: list[ListOffsetsTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, current_leader_epoch_2, timestamp_2 = _unpack_iiq(data, position)
                position += 16
                list5.append(ListOffsetsPartition(partition_index_2, current_leader_epoch_2, timestamp_2, 1))
            partitions_1 = list5
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_request_v6(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, isolation_level, n1 = _unpack_ibB(data, position)
        position += 6
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ListOffsetsTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
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
            partitions_1: list[ListOffsetsPartition]
            n4 -= 1
            if n4 < 0 or n4 * 17 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, current_leader_epoch_2, timestamp_2, tags6 = _unpack_iiqB(data, position)
                position += 17
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list5.append(ListOffsetsPartition(partition_index_2, current_leader_epoch_2, timestamp_2, 1))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
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
        return ListOffsetsRequest(replica_id, isolation_level, topics, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_request_v10(data: bytes, position: int, left: int) -> ListOffsetsRequest:
    try:
        size = len(data)
        replica_id, isolation_level, n1 = _unpack_ibB(data, position)
        position += 6
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ListOffsetsTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ListOffsetsTopic] = []
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
            partitions_1: list[ListOffsetsPartition]
            n4 -= 1
            if n4 < 0 or n4 * 17 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[ListOffsetsPartition] = []
            for _ in range(n4):
                partition_index_2, current_leader_epoch_2, timestamp_2, tags6 = _unpack_iiqB(data, position)
                position += 17
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list5.append(ListOffsetsPartition(partition_index_2, current_leader_epoch_2, timestamp_2, 1))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            list2.append(ListOffsetsTopic(name_1, partitions_1))
        topics = list2
        timeout_ms, tags8 = _unpack_iB(data, position)
        position += 5
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_offsets_request_v0(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.replica_id, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqi(item8.partition_index, item8.timestamp, item8.max_num_offsets))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def encode_list_offsets_request_v1(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.replica_id, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iq(item8.partition_index, item8.timestamp))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def encode_list_offsets_request_v2(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ibi(message.replica_id, message.isolation_level, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iq(item8.partition_index, item8.timestamp))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def encode_list_offsets_request_v4(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ibi(message.replica_id, message.isolation_level, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iiq(item8.partition_index, item8.current_leader_epoch, item8.timestamp))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def encode_list_offsets_request_v6(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ibB(message.replica_id, message.isolation_level, n2) if n2 < 128 else _pack_ib(message.replica_id, message.isolation_level) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iiqx(item8.partition_index, item8.current_leader_epoch, item8.timestamp))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def encode_list_offsets_request_v10(message: ListOffsetsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ibB(message.replica_id, message.isolation_level, n2) if n2 < 128 else _pack_ib(message.replica_id, message.isolation_level) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iiqx(item8.partition_index, item8.current_leader_epoch, item8.timestamp))
            parts.append(b"\0")
        parts.append(_pack_ix(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsRequest", error) from error


def decode_list_offsets_response_v0(data: bytes, position: int) -> ListOffsetsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[ListOffsetsTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[ListOffsetsTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartitionResponse]
            if n4 < 0 or n4 * 10 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[ListOffsetsPartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, n6 = _unpack_ihi(data, position)
                position += 10
                old_style_offsets_2: list[int]
                if n6 < 0 or n6 * 8 > size - position:
                    raise DecodeError("old_style_offsets has more elements than bytes, or is null")
                old_style_offsets_2 = list(unpack_from(f">{n6}q", data, position))
                position += n6 * 8
                list5.append(ListOffsetsPartitionResponse(partition_index_2, error_code_2, old_style_offsets_2, -1, -1, -1))
            partitions_1 = list5
            list2.append(ListOffsetsTopicResponse(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_response_v1(data: bytes, position: int) -> ListOffsetsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[ListOffsetsTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[ListOffsetsTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartitionResponse]
            if n4 < 0 or n4 * 22 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[ListOffsetsPartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, timestamp_2, offset_2 = _unpack_ihqq(data, position)
                position += 22
                list5.append(ListOffsetsPartitionResponse(partition_index_2, error_code_2, [], timestamp_2, offset_2, -1))
            partitions_1 = list5
            list2.append(ListOffsetsTopicResponse(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_response_v2(data: bytes, position: int) -> ListOffsetsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[ListOffsetsTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[ListOffsetsTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartitionResponse]
            if n4 < 0 or n4 * 22 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[ListOffsetsPartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, timestamp_2, offset_2 = _unpack_ihqq(data, position)
                position += 22
                list5.append(ListOffsetsPartitionResponse(partition_index_2, error_code_2, [], timestamp_2, offset_2, -1))
            partitions_1 = list5
            list2.append(ListOffsetsTopicResponse(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_response_v4(data: bytes, position: int) -> ListOffsetsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[ListOffsetsTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[ListOffsetsTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[ListOffsetsPartitionResponse]
            if n4 < 0 or n4 * 26 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[ListOffsetsPartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, timestamp_2, offset_2, leader_epoch_2 = _unpack_ihqqi(data, position)
                position += 26
                list5.append(ListOffsetsPartitionResponse(partition_index_2, error_code_2, [], timestamp_2, offset_2, leader_epoch_2))
            partitions_1 = list5
            list2.append(ListOffsetsTopicResponse(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_offsets_response_v6(data: bytes, position: int) -> ListOffsetsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[ListOffsetsTopicResponse]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[ListOffsetsTopicResponse] = []
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
            partitions_1: list[ListOffsetsPartitionResponse]
            n4 -= 1
            if n4 < 0 or n4 * 27 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[ListOffsetsPartitionResponse] = []
            for _ in range(n4):
                partition_index_2, error_code_2, timestamp_2, offset_2, leader_epoch_2, tags6 = _unpack_ihqqiB(data, position)
                position += 27
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(ListOffsetsPartitionResponse(partition_index_2, error_code_2, [], timestamp_2, offset_2, leader_epoch_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(ListOffsetsTopicResponse(name_1, partitions_1))
        topics = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOffsetsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_offsets_response_v0(message: ListOffsetsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.old_style_offsets
                n10 = len(items9)
                parts += (_pack_ihi(item8.partition_index, item8.error_code, n10), pack(f">{len(items9)}q", *items9))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsResponse", error) from error


def encode_list_offsets_response_v1(message: ListOffsetsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihqq(item8.partition_index, item8.error_code, item8.timestamp, item8.offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsResponse", error) from error


def encode_list_offsets_response_v2(message: ListOffsetsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihqq(item8.partition_index, item8.error_code, item8.timestamp, item8.offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsResponse", error) from error


def encode_list_offsets_response_v4(message: ListOffsetsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihqqi(item8.partition_index, item8.error_code, item8.timestamp, item8.offset, item8.leader_epoch))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsResponse", error) from error


def encode_list_offsets_response_v6(message: ListOffsetsResponse) -> bytes:
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
                parts.append(_pack_ihqqix(item8.partition_index, item8.error_code, item8.timestamp, item8.offset, item8.leader_epoch))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListOffsetsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListOffsetsRequest]]] = {
    0: decode_list_offsets_request_v0,
    1: decode_list_offsets_request_v1,
    2: decode_list_offsets_request_v2,
    3: decode_list_offsets_request_v2,
    4: decode_list_offsets_request_v4,
    5: decode_list_offsets_request_v4,
    6: decode_list_offsets_request_v6,
    7: decode_list_offsets_request_v6,
    8: decode_list_offsets_request_v6,
    9: decode_list_offsets_request_v6,
    10: decode_list_offsets_request_v10,
    11: decode_list_offsets_request_v10,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListOffsetsRequest], bytes]]] = {
    0: encode_list_offsets_request_v0,
    1: encode_list_offsets_request_v1,
    2: encode_list_offsets_request_v2,
    3: encode_list_offsets_request_v2,
    4: encode_list_offsets_request_v4,
    5: encode_list_offsets_request_v4,
    6: encode_list_offsets_request_v6,
    7: encode_list_offsets_request_v6,
    8: encode_list_offsets_request_v6,
    9: encode_list_offsets_request_v6,
    10: encode_list_offsets_request_v10,
    11: encode_list_offsets_request_v10,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListOffsetsResponse]]] = {
    0: decode_list_offsets_response_v0,
    1: decode_list_offsets_response_v1,
    2: decode_list_offsets_response_v2,
    3: decode_list_offsets_response_v2,
    4: decode_list_offsets_response_v4,
    5: decode_list_offsets_response_v4,
    6: decode_list_offsets_response_v6,
    7: decode_list_offsets_response_v6,
    8: decode_list_offsets_response_v6,
    9: decode_list_offsets_response_v6,
    10: decode_list_offsets_response_v6,
    11: decode_list_offsets_response_v6,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListOffsetsResponse], bytes]]] = {
    0: encode_list_offsets_response_v0,
    1: encode_list_offsets_response_v1,
    2: encode_list_offsets_response_v2,
    3: encode_list_offsets_response_v2,
    4: encode_list_offsets_response_v4,
    5: encode_list_offsets_response_v4,
    6: encode_list_offsets_response_v6,
    7: encode_list_offsets_response_v6,
    8: encode_list_offsets_response_v6,
    9: encode_list_offsets_response_v6,
    10: encode_list_offsets_response_v6,
    11: encode_list_offsets_response_v6,
}
