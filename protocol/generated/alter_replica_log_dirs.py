"""AlterReplicaLogDirs: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.alter_replica_log_dirs`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    AlterReplicaLogDirTopicResult,
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
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from


def decode_alter_replica_log_dirs_request_v1(data: bytes, position: int, left: int) -> AlterReplicaLogDirsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        dirs: list[AlterReplicaLogDir]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("dirs has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AlterReplicaLogDir] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("path is null")
            path_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            topics_1: list[AlterReplicaLogDirTopic]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[AlterReplicaLogDirTopic] = []
            for _ in range(n4):
                (n6,) = _unpack_h(data, position)
                position += 2
                if n6 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6].decode("utf-8", "replace")
                position += n6
                (n7,) = _unpack_i(data, position)
                position += 4
                partitions_2: list[int]
                if n7 < 0 or n7 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n7 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_2 = list(unpack_from(f">{n7}i", data, position))
                position += n7 * 4
                list5.append(AlterReplicaLogDirTopic(name_2, partitions_2))
            topics_1 = list5
            list2.append(AlterReplicaLogDir(path_1, topics_1))
        dirs = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterReplicaLogDirsRequest(dirs)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_replica_log_dirs_request_v2(data: bytes, position: int, left: int) -> AlterReplicaLogDirsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        dirs: list[AlterReplicaLogDir]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("dirs has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AlterReplicaLogDir] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("path is null")
            path_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[AlterReplicaLogDirTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[AlterReplicaLogDirTopic] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                    if n6 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                partitions_2: list[int]
                n7 -= 1
                if n7 < 0 or n7 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                left -= n7 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partitions_2 = list(unpack_from(f">{n7}i", data, position))
                position += n7 * 4
                tags8 = data[position]
                position += 1
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    left -= tags8
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags8)
                list5.append(AlterReplicaLogDirTopic(name_2, partitions_2))
            topics_1 = list5
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list2.append(AlterReplicaLogDir(path_1, topics_1))
        dirs = list2
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            left -= tags10
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterReplicaLogDirsRequest(dirs)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_replica_log_dirs_request_v1(message: AlterReplicaLogDirsRequest) -> bytes:
    try:
        items1 = message.dirs
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.path.encode()
            n5 = len(b4)
            items6 = item3.topics
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9)
                items11 = item8.partitions
                n12 = len(items11)
                parts += (_pack_h(n10), b9, _pack_i(n12), pack(f">{len(items11)}i", *items11))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterReplicaLogDirsRequest", error) from error


def encode_alter_replica_log_dirs_request_v2(message: AlterReplicaLogDirsRequest) -> bytes:
    try:
        items1 = message.dirs
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.path.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12), pack(f">{len(items11)}i", *items11), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterReplicaLogDirsRequest", error) from error


def decode_alter_replica_log_dirs_response_v1(data: bytes, position: int) -> AlterReplicaLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[AlterReplicaLogDirTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[AlterReplicaLogDirTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic_name is null")
            topic_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[AlterReplicaLogDirPartitionResult]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[AlterReplicaLogDirPartitionResult] = []
            for _ in range(n4):
                partition_index_2, error_code_2 = _unpack_ih(data, position)
                position += 6
                list5.append(AlterReplicaLogDirPartitionResult(partition_index_2, error_code_2))
            partitions_1 = list5
            list2.append(AlterReplicaLogDirTopicResult(topic_name_1, partitions_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterReplicaLogDirsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_replica_log_dirs_response_v2(data: bytes, position: int) -> AlterReplicaLogDirsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[AlterReplicaLogDirTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[AlterReplicaLogDirTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("topic_name is null")
            topic_name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[AlterReplicaLogDirPartitionResult]
            n4 -= 1
            if n4 < 0 or n4 * 7 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[AlterReplicaLogDirPartitionResult] = []
            for _ in range(n4):
                partition_index_2, error_code_2, tags6 = _unpack_ihB(data, position)
                position += 7
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(AlterReplicaLogDirPartitionResult(partition_index_2, error_code_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(AlterReplicaLogDirTopicResult(topic_name_1, partitions_1))
        results = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterReplicaLogDirsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_replica_log_dirs_response_v1(message: AlterReplicaLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic_name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ih(item8.partition_index, item8.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterReplicaLogDirsResponse", error) from error


def encode_alter_replica_log_dirs_response_v2(message: AlterReplicaLogDirsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic_name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_ihx(item8.partition_index, item8.error_code))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterReplicaLogDirsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AlterReplicaLogDirsRequest]]] = {
    1: decode_alter_replica_log_dirs_request_v1,
    2: decode_alter_replica_log_dirs_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AlterReplicaLogDirsRequest], bytes]]] = {
    1: encode_alter_replica_log_dirs_request_v1,
    2: encode_alter_replica_log_dirs_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AlterReplicaLogDirsResponse]]] = {
    1: decode_alter_replica_log_dirs_response_v1,
    2: decode_alter_replica_log_dirs_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AlterReplicaLogDirsResponse], bytes]]] = {
    1: encode_alter_replica_log_dirs_response_v1,
    2: encode_alter_replica_log_dirs_response_v2,
}
