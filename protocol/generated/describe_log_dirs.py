"""DescribeLogDirs: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_log_dirs`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
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
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ii = Struct(">ii").pack
_pack_iqqo = Struct(">iqq?").pack
_pack_iqqox = Struct(">iqq?x").pack
_pack_qqox = Struct(">qq?x").pack
_pack_qqx = Struct(">qqx").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqqo = Struct(">iqq?").unpack_from
_unpack_iqqoB = Struct(">iqq?B").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_unpack_qqoB = Struct(">qq?B").unpack_from


def decode_describe_log_dirs_request_v0(data: bytes, position: int, left: int) -> DescribeLogDirsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[DescribableLogDirTopic] | None
        if n1 < 0:
            topics = None
        else:
            if n1 < 0 or n1 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[DescribableLogDirTopic] = []
            for _ in range(n1):
                (n3,) = _unpack_h(data, position)
                position += 2
                if n3 < 0:
                    raise DecodeError("topic is null")
                topic_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
                (n4,) = _unpack_i(data, position)
                position += 4
                partitions_1: list[int]
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n4 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_1 = list(unpack_from(f">{n4}i", data, position))
                position += n4 * 4
                list2.append(DescribableLogDirTopic(topic_1, partitions_1))
            topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsRequest(topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_log_dirs_request_v2(data: bytes, position: int, left: int) -> DescribeLogDirsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[DescribableLogDirTopic] | None
        if not n1:
            topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[DescribableLogDirTopic] = []
            for _ in range(n1):
                n3 = data[position]
                position += 1
                if n3 > 127:
                    n3, position = read_uvarint_tail(data, position, n3)
                    if n3 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n3:
                    raise DecodeError("topic is null")
                topic_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
                n4 = data[position]
                position += 1
                if n4 > 127:
                    n4, position = read_uvarint_tail(data, position, n4)
                partitions_1: list[int]
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n4 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_1 = list(unpack_from(f">{n4}i", data, position))
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
                list2.append(DescribableLogDirTopic(topic_1, partitions_1))
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
        return DescribeLogDirsRequest(topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_log_dirs_request_v0(message: DescribeLogDirsRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsRequest", error) from error


def encode_describe_log_dirs_request_v2(message: DescribeLogDirsRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}i", *items6), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsRequest", error) from error


def decode_describe_log_dirs_response_v0(data: bytes, position: int) -> DescribeLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[DescribeLogDirsResult]
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeLogDirsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            if n3 < 0:
                raise DecodeError("log_dir is null")
            log_dir_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            topics_1: list[DescribeLogDirsTopic]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[DescribeLogDirsTopic] = []
            for _ in range(n4):
                (n6,) = _unpack_h(data, position)
                position += 2
                if n6 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6].decode("utf-8", "replace")
                position += n6
                (n7,) = _unpack_i(data, position)
                position += 4
                partitions_2: list[DescribeLogDirsPartition]
                if n7 < 0 or n7 * 21 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[DescribeLogDirsPartition] = []
                for _ in range(n7):
                    partition_index_3, partition_size_3, offset_lag_3, is_future_key_3 = _unpack_iqqo(data, position)
                    position += 21
                    list8.append(DescribeLogDirsPartition(partition_index_3, partition_size_3, offset_lag_3, is_future_key_3))
                partitions_2 = list8
                list5.append(DescribeLogDirsTopic(name_2, partitions_2))
            topics_1 = list5
            list2.append(DescribeLogDirsResult(error_code_1, log_dir_1, topics_1, -1, -1, False))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsResponse(throttle_time_ms, 0, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_log_dirs_response_v2(data: bytes, position: int) -> DescribeLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DescribeLogDirsResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeLogDirsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("log_dir is null")
            log_dir_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[DescribeLogDirsTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[DescribeLogDirsTopic] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                partitions_2: list[DescribeLogDirsPartition]
                n7 -= 1
                if n7 < 0 or n7 * 22 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[DescribeLogDirsPartition] = []
                for _ in range(n7):
                    partition_index_3, partition_size_3, offset_lag_3, is_future_key_3, tags9 = _unpack_iqqoB(data, position)
                    position += 22
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(DescribeLogDirsPartition(partition_index_3, partition_size_3, offset_lag_3, is_future_key_3))
                partitions_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(DescribeLogDirsTopic(name_2, partitions_2))
            topics_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(DescribeLogDirsResult(error_code_1, log_dir_1, topics_1, -1, -1, False))
        results = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsResponse(throttle_time_ms, 0, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_log_dirs_response_v3(data: bytes, position: int) -> DescribeLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DescribeLogDirsResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeLogDirsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("log_dir is null")
            log_dir_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[DescribeLogDirsTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[DescribeLogDirsTopic] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                partitions_2: list[DescribeLogDirsPartition]
                n7 -= 1
                if n7 < 0 or n7 * 22 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[DescribeLogDirsPartition] = []
                for _ in range(n7):
                    partition_index_3, partition_size_3, offset_lag_3, is_future_key_3, tags9 = _unpack_iqqoB(data, position)
                    position += 22
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(DescribeLogDirsPartition(partition_index_3, partition_size_3, offset_lag_3, is_future_key_3))
                partitions_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(DescribeLogDirsTopic(name_2, partitions_2))
            topics_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(DescribeLogDirsResult(error_code_1, log_dir_1, topics_1, -1, -1, False))
        results = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_log_dirs_response_v4(data: bytes, position: int) -> DescribeLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DescribeLogDirsResult]
        n1 -= 1
        if n1 < 0 or n1 * 21 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeLogDirsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("log_dir is null")
            log_dir_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[DescribeLogDirsTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[DescribeLogDirsTopic] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                partitions_2: list[DescribeLogDirsPartition]
                n7 -= 1
                if n7 < 0 or n7 * 22 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[DescribeLogDirsPartition] = []
                for _ in range(n7):
                    partition_index_3, partition_size_3, offset_lag_3, is_future_key_3, tags9 = _unpack_iqqoB(data, position)
                    position += 22
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(DescribeLogDirsPartition(partition_index_3, partition_size_3, offset_lag_3, is_future_key_3))
                partitions_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(DescribeLogDirsTopic(name_2, partitions_2))
            topics_1 = list5
            total_bytes_1, usable_bytes_1, tags11 = _unpack_qqB(data, position)
            position += 17
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(DescribeLogDirsResult(error_code_1, log_dir_1, topics_1, total_bytes_1, usable_bytes_1, False))
        results = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_log_dirs_response_v5(data: bytes, position: int) -> DescribeLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DescribeLogDirsResult]
        n1 -= 1
        if n1 < 0 or n1 * 22 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeLogDirsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("log_dir is null")
            log_dir_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[DescribeLogDirsTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[DescribeLogDirsTopic] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                partitions_2: list[DescribeLogDirsPartition]
                n7 -= 1
                if n7 < 0 or n7 * 22 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[DescribeLogDirsPartition] = []
                for _ in range(n7):
                    partition_index_3, partition_size_3, offset_lag_3, is_future_key_3, tags9 = _unpack_iqqoB(data, position)
                    position += 22
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(DescribeLogDirsPartition(partition_index_3, partition_size_3, offset_lag_3, is_future_key_3))
                partitions_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(DescribeLogDirsTopic(name_2, partitions_2))
            topics_1 = list5
            total_bytes_1, usable_bytes_1, is_cordoned_1, tags11 = _unpack_qqoB(data, position)
            position += 18
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(DescribeLogDirsResult(error_code_1, log_dir_1, topics_1, total_bytes_1, usable_bytes_1, is_cordoned_1))
        results = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_log_dirs_response_v0(message: DescribeLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.log_dir.encode()
            n5 = len(b4)
            items6 = item3.topics
            n7 = len(items6)
            parts += (_pack_hh(item3.error_code, n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9)
                items11 = item8.partitions
                n12 = len(items11)
                parts += (_pack_h(n10), b9, _pack_i(n12))
                for item13 in items11:
                    parts.append(_pack_iqqo(item13.partition_index, item13.partition_size, item13.offset_lag, item13.is_future_key))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsResponse", error) from error


def encode_describe_log_dirs_response_v2(message: DescribeLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.log_dir.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    parts.append(_pack_iqqox(item13.partition_index, item13.partition_size, item13.offset_lag, item13.is_future_key))
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsResponse", error) from error


def encode_describe_log_dirs_response_v3(message: DescribeLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.log_dir.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    parts.append(_pack_iqqox(item13.partition_index, item13.partition_size, item13.offset_lag, item13.is_future_key))
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsResponse", error) from error


def encode_describe_log_dirs_response_v4(message: DescribeLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.log_dir.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    parts.append(_pack_iqqox(item13.partition_index, item13.partition_size, item13.offset_lag, item13.is_future_key))
                parts.append(b"\0")
            parts.append(_pack_qqx(item3.total_bytes, item3.usable_bytes))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsResponse", error) from error


def encode_describe_log_dirs_response_v5(message: DescribeLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.log_dir.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    parts.append(_pack_iqqox(item13.partition_index, item13.partition_size, item13.offset_lag, item13.is_future_key))
                parts.append(b"\0")
            parts.append(_pack_qqox(item3.total_bytes, item3.usable_bytes, item3.is_cordoned))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeLogDirsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeLogDirsRequest]]] = {
    0: decode_describe_log_dirs_request_v0,
    1: decode_describe_log_dirs_request_v0,
    2: decode_describe_log_dirs_request_v2,
    3: decode_describe_log_dirs_request_v2,
    4: decode_describe_log_dirs_request_v2,
    5: decode_describe_log_dirs_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeLogDirsRequest], bytes]]] = {
    0: encode_describe_log_dirs_request_v0,
    1: encode_describe_log_dirs_request_v0,
    2: encode_describe_log_dirs_request_v2,
    3: encode_describe_log_dirs_request_v2,
    4: encode_describe_log_dirs_request_v2,
    5: encode_describe_log_dirs_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeLogDirsResponse]]] = {
    0: decode_describe_log_dirs_response_v0,
    1: decode_describe_log_dirs_response_v0,
    2: decode_describe_log_dirs_response_v2,
    3: decode_describe_log_dirs_response_v3,
    4: decode_describe_log_dirs_response_v4,
    5: decode_describe_log_dirs_response_v5,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeLogDirsResponse], bytes]]] = {
    0: encode_describe_log_dirs_response_v0,
    1: encode_describe_log_dirs_response_v0,
    2: encode_describe_log_dirs_response_v2,
    3: encode_describe_log_dirs_response_v3,
    4: encode_describe_log_dirs_response_v4,
    5: encode_describe_log_dirs_response_v5,
}
