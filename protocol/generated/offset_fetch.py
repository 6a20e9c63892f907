"""OffsetFetch: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.offset_fetch`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    ZERO_UUID,
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
_pack_h = Struct(">h").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqiB = Struct(">iqiB").pack
_pack_iqih = Struct(">iqih").pack
_pack_ox = Struct(">?x").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_offset_fetch_request_v0(data: bytes, position: int, left: int) -> OffsetFetchRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetFetchRequestTopic] | None
        if n2 < 0 or n2 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[OffsetFetchRequestTopic] = []
        for _ in range(n2):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            partition_indexes_1: list[int]
            if n5 < 0 or n5 * 4 > size - position:
                raise DecodeError("partition_indexes has more elements than bytes, or is null")
            left -= n5 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partition_indexes_1 = list(unpack_from(f">{n5}i", data, position))
            position += n5 * 4
            list3.append(OffsetFetchRequestTopic(name_1, partition_indexes_1))
        topics = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest(group_id, topics, [], False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v2(data: bytes, position: int, left: int) -> OffsetFetchRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetFetchRequestTopic] | None
        if n2 < 0:
            topics = None
        else:
            if n2 < 0 or n2 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n2
            if left < 0:
                raise TooManyElementsError
            list3: list[OffsetFetchRequestTopic] = []
            for _ in range(n2):
                (n4,) = _unpack_h(data, position)
                position += 2
                if n4 < 0:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
                (n5,) = _unpack_i(data, position)
                position += 4
                partition_indexes_1: list[int]
                if n5 < 0 or n5 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n5 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_1 = list(unpack_from(f">{n5}i", data, position))
                position += n5 * 4
                list3.append(OffsetFetchRequestTopic(name_1, partition_indexes_1))
            topics = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest(group_id, topics, [], False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v6(data: bytes, position: int, left: int) -> OffsetFetchRequest:
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
        topics: list[OffsetFetchRequestTopic] | None
        if not n2:
            topics = None
        else:
            n2 -= 1
            if n2 < 0 or n2 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n2
            if left < 0:
                raise TooManyElementsError
            list3: list[OffsetFetchRequestTopic] = []
            for _ in range(n2):
                n4 = data[position]
                position += 1
                if n4 > 127:
                    n4, position = read_uvarint_tail(data, position, n4)
                    if n4 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n4:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                partition_indexes_1: list[int]
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n5 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_1 = list(unpack_from(f">{n5}i", data, position))
                position += n5 * 4
                tags6 = data[position]
                position += 1
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list3.append(OffsetFetchRequestTopic(name_1, partition_indexes_1))
            topics = list3
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            left -= tags7
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest(group_id, topics, [], False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v7(data: bytes, position: int, left: int) -> OffsetFetchRequest:
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
        topics: list[OffsetFetchRequestTopic] | None
        if not n2:
            topics = None
        else:
            n2 -= 1
            if n2 < 0 or n2 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n2
            if left < 0:
                raise TooManyElementsError
            list3: list[OffsetFetchRequestTopic] = []
            for _ in range(n2):
                n4 = data[position]
                position += 1
                if n4 > 127:
                    n4, position = read_uvarint_tail(data, position, n4)
                    if n4 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n4:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                partition_indexes_1: list[int]
                n5 -= 1
                if n5 < 0 or n5 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n5 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_1 = list(unpack_from(f">{n5}i", data, position))
                position += n5 * 4
                tags6 = data[position]
                position += 1
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list3.append(OffsetFetchRequestTopic(name_1, partition_indexes_1))
            topics = list3
        require_stable, tags7 = _unpack_oB(data, position)
        position += 2
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            left -= tags7
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest(group_id, topics, [], require_stable)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v8(data: bytes, position: int, left: int) -> OffsetFetchRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[OffsetFetchRequestGroup]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetFetchRequestGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[OffsetFetchRequestTopics] | None
            if not n4:
                topics_1 = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 3 > size - position:
                    raise DecodeError("topics has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[OffsetFetchRequestTopics] = []
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
                    partition_indexes_2: list[int]
                    n7 -= 1
                    if n7 < 0 or n7 * 4 > size - position:
                        raise DecodeError("partition_indexes has more elements than bytes, or is null")
                    left -= n7 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    partition_indexes_2 = list(unpack_from(f">{n7}i", data, position))
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
                    list5.append(OffsetFetchRequestTopics(name_2, ZERO_UUID, partition_indexes_2))
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
            list2.append(OffsetFetchRequestGroup(group_id_1, None, -1, topics_1))
        groups = list2
        require_stable, tags10 = _unpack_oB(data, position)
        position += 2
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            left -= tags10
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest("", [], groups, require_stable)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v9(data: bytes, position: int, left: int) -> OffsetFetchRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[OffsetFetchRequestGroup]
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetFetchRequestGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            member_id_1: str | None
            if n4:
                member_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                member_id_1 = None
            member_epoch_1, n5 = _unpack_iB(data, position)
            position += 5
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            topics_1: list[OffsetFetchRequestTopics] | None
            if not n5:
                topics_1 = None
            else:
                n5 -= 1
                if n5 < 0 or n5 * 3 > size - position:
                    raise DecodeError("topics has more elements than bytes, or is null")
                left -= n5
                if left < 0:
                    raise TooManyElementsError
                list6: list[OffsetFetchRequestTopics] = []
                for _ in range(n5):
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                        if n7 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if not n7:
                        raise DecodeError("name is null")
                    name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                    n8 = data[position]
                    position += 1
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    partition_indexes_2: list[int]
                    n8 -= 1
                    if n8 < 0 or n8 * 4 > size - position:
                        raise DecodeError("partition_indexes has more elements than bytes, or is null")
                    left -= n8 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    partition_indexes_2 = list(unpack_from(f">{n8}i", data, position))
                    position += n8 * 4
                    tags9 = data[position]
                    position += 1
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        left -= tags9
                        if left < 0:
                            raise TooManyElementsError
                        position = skip_tags(data, position, tags9)
                    list6.append(OffsetFetchRequestTopics(name_2, ZERO_UUID, partition_indexes_2))
                topics_1 = list6
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                left -= tags10
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags10)
            list2.append(OffsetFetchRequestGroup(group_id_1, member_id_1, member_epoch_1, topics_1))
        groups = list2
        require_stable, tags11 = _unpack_oB(data, position)
        position += 2
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            left -= tags11
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest("", [], groups, require_stable)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_request_v10(data: bytes, position: int, left: int) -> OffsetFetchRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[OffsetFetchRequestGroup]
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetFetchRequestGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            member_id_1: str | None
            if n4:
                member_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                member_id_1 = None
            member_epoch_1, n5 = _unpack_iB(data, position)
            position += 5
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            topics_1: list[OffsetFetchRequestTopics] | None
            if not n5:
                topics_1 = None
            else:
                n5 -= 1
                if n5 < 0 or n5 * 18 > size - position:
                    raise DecodeError("topics has more elements than bytes, or is null")
                left -= n5
                if left < 0:
                    raise TooManyElementsError
                list6: list[OffsetFetchRequestTopics] = []
                for _ in range(n5):
                    topic_id_2, n7 = _unpack_16sB(data, position)
                    position += 17
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    partition_indexes_2: list[int]
                    n7 -= 1
                    if n7 < 0 or n7 * 4 > size - position:
                        raise DecodeError("partition_indexes has more elements than bytes, or is null")
                    left -= n7 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    partition_indexes_2 = list(unpack_from(f">{n7}i", data, position))
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
                    list6.append(OffsetFetchRequestTopics("", topic_id_2, partition_indexes_2))
                topics_1 = list6
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list2.append(OffsetFetchRequestGroup(group_id_1, member_id_1, member_epoch_1, topics_1))
        groups = list2
        require_stable, tags10 = _unpack_oB(data, position)
        position += 2
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            left -= tags10
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchRequest("", [], groups, require_stable)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_fetch_request_v0(message: OffsetFetchRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        checked5 = message.topics
        if checked5 is None:
            raise EncodeError("topics is null")
        items3 = checked5
        n4 = len(items3)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_i(n4)]
        for item6 in items3:
            b7 = item6.name.encode()
            n8 = len(b7)
            items9 = item6.partition_indexes
            n10 = len(items9)
            parts += (_pack_h(n8), b7, _pack_i(n10), pack(f">{len(items9)}i", *items9))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v2(message: OffsetFetchRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        items3 = message.topics
        if items3 is None:
            items3, n4 = [], -1
        else:
            n4 = len(items3)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_i(n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6)
            items8 = item5.partition_indexes
            n9 = len(items8)
            parts += (_pack_h(n7), b6, _pack_i(n9), pack(f">{len(items8)}i", *items8))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v6(message: OffsetFetchRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        items3 = message.topics
        if items3 is None:
            items3, n4 = [], 0
        else:
            n4 = len(items3) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6) + 1
            items8 = item5.partition_indexes
            n9 = len(items8) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), pack(f">{len(items8)}i", *items8), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v7(message: OffsetFetchRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        items3 = message.topics
        if items3 is None:
            items3, n4 = [], 0
        else:
            n4 = len(items3) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6) + 1
            items8 = item5.partition_indexes
            n9 = len(items8) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), pack(f">{len(items8)}i", *items8), b"\0")
        parts.append(_pack_ox(message.require_stable))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v8(message: OffsetFetchRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            if items6 is None:
                items6, n7 = [], 0
            else:
                n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partition_indexes
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12), pack(f">{len(items11)}i", *items11), b"\0")
            parts.append(b"\0")
        parts.append(_pack_ox(message.require_stable))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v9(message: OffsetFetchRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.member_id
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            items9 = item3.topics
            if items9 is None:
                items9, n10 = [], 0
            else:
                n10 = len(items9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b8, _pack_iB(item3.member_epoch, n10) if n10 < 128 else _pack_i(item3.member_epoch) + uvarint(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12) + 1
                items14 = item11.partition_indexes
                n15 = len(items14) + 1
                parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), pack(f">{len(items14)}i", *items14), b"\0")
            parts.append(b"\0")
        parts.append(_pack_ox(message.require_stable))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def encode_offset_fetch_request_v10(message: OffsetFetchRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.member_id
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            items9 = item3.topics
            if items9 is None:
                items9, n10 = [], 0
            else:
                n10 = len(items9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b8, _pack_iB(item3.member_epoch, n10) if n10 < 128 else _pack_i(item3.member_epoch) + uvarint(n10))
            for item11 in items9:
                items12 = item11.partition_indexes
                n13 = len(items12) + 1
                parts += (_pack_16sB(item11.topic_id, n13) if n13 < 128 else _pack_16s(item11.topic_id) + uvarint(n13), pack(f">{len(items12)}i", *items12), b"\0")
            parts.append(b"\0")
        parts.append(_pack_ox(message.require_stable))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchRequest", error) from error


def decode_offset_fetch_response_v0(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetFetchResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetFetchResponsePartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetFetchResponsePartition] = []
            for _ in range(n4):
                partition_index_2, committed_offset_2, n6 = _unpack_iqh(data, position)
                position += 14
                metadata_2: str | None
                if n6 >= 0:
                    metadata_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    metadata_2 = None
                (error_code_2,) = _unpack_h(data, position)
                position += 2
                list5.append(OffsetFetchResponsePartition(partition_index_2, committed_offset_2, -1, metadata_2, error_code_2))
            partitions_1 = list5
            list2.append(OffsetFetchResponseTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(0, topics, 0, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v2(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetFetchResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetFetchResponsePartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetFetchResponsePartition] = []
            for _ in range(n4):
                partition_index_2, committed_offset_2, n6 = _unpack_iqh(data, position)
                position += 14
                metadata_2: str | None
                if n6 >= 0:
                    metadata_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    metadata_2 = None
                (error_code_2,) = _unpack_h(data, position)
                position += 2
                list5.append(OffsetFetchResponsePartition(partition_index_2, committed_offset_2, -1, metadata_2, error_code_2))
            partitions_1 = list5
            list2.append(OffsetFetchResponseTopic(name_1, partitions_1))
        topics = list2
        (error_code,) = _unpack_h(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(0, topics, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v3(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[OffsetFetchResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetFetchResponsePartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetFetchResponsePartition] = []
            for _ in range(n4):
                partition_index_2, committed_offset_2, n6 = _unpack_iqh(data, position)
                position += 14
                metadata_2: str | None
                if n6 >= 0:
                    metadata_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    metadata_2 = None
                (error_code_2,) = _unpack_h(data, position)
                position += 2
                list5.append(OffsetFetchResponsePartition(partition_index_2, committed_offset_2, -1, metadata_2, error_code_2))
            partitions_1 = list5
            list2.append(OffsetFetchResponseTopic(name_1, partitions_1))
        topics = list2
        (error_code,) = _unpack_h(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v5(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[OffsetFetchResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetFetchResponsePartition]
            if n4 < 0 or n4 * 20 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetFetchResponsePartition] = []
            for _ in range(n4):
                partition_index_2, committed_offset_2, committed_leader_epoch_2, n6 = _unpack_iqih(data, position)
                position += 18
                metadata_2: str | None
                if n6 >= 0:
                    metadata_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    metadata_2 = None
                (error_code_2,) = _unpack_h(data, position)
                position += 2
                list5.append(OffsetFetchResponsePartition(partition_index_2, committed_offset_2, committed_leader_epoch_2, metadata_2, error_code_2))
            partitions_1 = list5
            list2.append(OffsetFetchResponseTopic(name_1, partitions_1))
        topics = list2
        (error_code,) = _unpack_h(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v6(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[OffsetFetchResponseTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseTopic] = []
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
            partitions_1: list[OffsetFetchResponsePartition]
            n4 -= 1
            if n4 < 0 or n4 * 20 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetFetchResponsePartition] = []
            for _ in range(n4):
                partition_index_2, committed_offset_2, committed_leader_epoch_2, n6 = _unpack_iqiB(data, position)
                position += 17
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                metadata_2: str | None
                if n6:
                    metadata_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                else:
                    metadata_2 = None
                error_code_2, tags7 = _unpack_hB(data, position)
                position += 3
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    position = skip_tags(data, position, tags7)
                list5.append(OffsetFetchResponsePartition(partition_index_2, committed_offset_2, committed_leader_epoch_2, metadata_2, error_code_2))
            partitions_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                position = skip_tags(data, position, tags8)
            list2.append(OffsetFetchResponseTopic(name_1, partitions_1))
        topics = list2
        error_code, tags9 = _unpack_hB(data, position)
        position += 3
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(throttle_time_ms, topics, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v8(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[OffsetFetchResponseGroup]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[OffsetFetchResponseTopics]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[OffsetFetchResponseTopics] = []
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
                partitions_2: list[OffsetFetchResponsePartitions]
                n7 -= 1
                if n7 < 0 or n7 * 20 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list8: list[OffsetFetchResponsePartitions] = []
                for _ in range(n7):
                    partition_index_3, committed_offset_3, committed_leader_epoch_3, n9 = _unpack_iqiB(data, position)
                    position += 17
                    if n9 > 127:
                        n9, position = read_uvarint_tail(data, position, n9)
                    metadata_3: str | None
                    if n9:
                        metadata_3 = data[position : position + n9 - 1].decode("utf-8", "replace")
                        position += n9 - 1
                    else:
                        metadata_3 = None
                    error_code_3, tags10 = _unpack_hB(data, position)
                    position += 3
                    if tags10:
                        if tags10 > 127:
                            tags10, position = read_tag_count_tail(data, position, tags10)
                        position = skip_tags(data, position, tags10)
                    list8.append(OffsetFetchResponsePartitions(partition_index_3, committed_offset_3, committed_leader_epoch_3, metadata_3, error_code_3))
                partitions_2 = list8
                tags11 = data[position]
                position += 1
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    position = skip_tags(data, position, tags11)
                list5.append(OffsetFetchResponseTopics(name_2, ZERO_UUID, partitions_2))
            topics_1 = list5
            error_code_1, tags12 = _unpack_hB(data, position)
            position += 3
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                position = skip_tags(data, position, tags12)
            list2.append(OffsetFetchResponseGroup(group_id_1, topics_1, error_code_1))
        groups = list2
        tags13 = data[position]
        position += 1
        if tags13:
            if tags13 > 127:
                tags13, position = read_tag_count_tail(data, position, tags13)
            position = skip_tags(data, position, tags13)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(throttle_time_ms, [], 0, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_fetch_response_v10(data: bytes, position: int) -> OffsetFetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[OffsetFetchResponseGroup]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[OffsetFetchResponseGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[OffsetFetchResponseTopics]
            n4 -= 1
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list5: list[OffsetFetchResponseTopics] = []
            for _ in range(n4):
                topic_id_2, n6 = _unpack_16sB(data, position)
                position += 17
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                partitions_2: list[OffsetFetchResponsePartitions]
                n6 -= 1
                if n6 < 0 or n6 * 20 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list7: list[OffsetFetchResponsePartitions] = []
                for _ in range(n6):
                    partition_index_3, committed_offset_3, committed_leader_epoch_3, n8 = _unpack_iqiB(data, position)
                    position += 17
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    metadata_3: str | None
                    if n8:
                        metadata_3 = data[position : position + n8 - 1].decode("utf-8", "replace")
                        position += n8 - 1
                    else:
                        metadata_3 = None
                    error_code_3, tags9 = _unpack_hB(data, position)
                    position += 3
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list7.append(OffsetFetchResponsePartitions(partition_index_3, committed_offset_3, committed_leader_epoch_3, metadata_3, error_code_3))
                partitions_2 = list7
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(OffsetFetchResponseTopics("", topic_id_2, partitions_2))
            topics_1 = list5
            error_code_1, tags11 = _unpack_hB(data, position)
            position += 3
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(OffsetFetchResponseGroup(group_id_1, topics_1, error_code_1))
        groups = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetFetchResponse(throttle_time_ms, [], 0, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_fetch_response_v0(message: OffsetFetchResponse) -> bytes:
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
                b9 = item8.metadata
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_iqh(item8.partition_index, item8.committed_offset, n10), b11, _pack_h(item8.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v2(message: OffsetFetchResponse) -> bytes:
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
                b9 = item8.metadata
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_iqh(item8.partition_index, item8.committed_offset, n10), b11, _pack_h(item8.error_code))
        parts.append(_pack_h(message.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v3(message: OffsetFetchResponse) -> bytes:
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
                b9 = item8.metadata
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_iqh(item8.partition_index, item8.committed_offset, n10), b11, _pack_h(item8.error_code))
        parts.append(_pack_h(message.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v5(message: OffsetFetchResponse) -> bytes:
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
                b9 = item8.metadata
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_iqih(item8.partition_index, item8.committed_offset, item8.committed_leader_epoch, n10), b11, _pack_h(item8.error_code))
        parts.append(_pack_h(message.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v6(message: OffsetFetchResponse) -> bytes:
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
                b9 = item8.metadata
                b11 = b"" if b9 is None else b9.encode()
                n10 = 0 if b9 is None else len(b11) + 1
                parts += (_pack_iqiB(item8.partition_index, item8.committed_offset, item8.committed_leader_epoch, n10) if n10 < 128 else _pack_iqi(item8.partition_index, item8.committed_offset, item8.committed_leader_epoch) + uvarint(n10), b11, _pack_hx(item8.error_code))
            parts.append(b"\0")
        parts.append(_pack_hx(message.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v8(message: OffsetFetchResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.partitions
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    b14 = item13.metadata
                    b16 = b"" if b14 is None else b14.encode()
                    n15 = 0 if b14 is None else len(b16) + 1
                    parts += (_pack_iqiB(item13.partition_index, item13.committed_offset, item13.committed_leader_epoch, n15) if n15 < 128 else _pack_iqi(item13.partition_index, item13.committed_offset, item13.committed_leader_epoch) + uvarint(n15), b16, _pack_hx(item13.error_code))
                parts.append(b"\0")
            parts.append(_pack_hx(item3.error_code))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


def encode_offset_fetch_response_v10(message: OffsetFetchResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.partitions
                n10 = len(items9) + 1
                parts.append(_pack_16sB(item8.topic_id, n10) if n10 < 128 else _pack_16s(item8.topic_id) + uvarint(n10))
                for item11 in items9:
                    b12 = item11.metadata
                    b14 = b"" if b12 is None else b12.encode()
                    n13 = 0 if b12 is None else len(b14) + 1
                    parts += (_pack_iqiB(item11.partition_index, item11.committed_offset, item11.committed_leader_epoch, n13) if n13 < 128 else _pack_iqi(item11.partition_index, item11.committed_offset, item11.committed_leader_epoch) + uvarint(n13), b14, _pack_hx(item11.error_code))
                parts.append(b"\0")
            parts.append(_pack_hx(item3.error_code))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetFetchResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], OffsetFetchRequest]]] = {
    0: decode_offset_fetch_request_v0,
    1: decode_offset_fetch_request_v0,
    2: decode_offset_fetch_request_v2,
    3: decode_offset_fetch_request_v2,
    4: decode_offset_fetch_request_v2,
    5: decode_offset_fetch_request_v2,
    6: decode_offset_fetch_request_v6,
    7: decode_offset_fetch_request_v7,
    8: decode_offset_fetch_request_v8,
    9: decode_offset_fetch_request_v9,
    10: decode_offset_fetch_request_v10,
}

ENCODE_REQUEST: Final[dict[int, Callable[[OffsetFetchRequest], bytes]]] = {
    0: encode_offset_fetch_request_v0,
    1: encode_offset_fetch_request_v0,
    2: encode_offset_fetch_request_v2,
    3: encode_offset_fetch_request_v2,
    4: encode_offset_fetch_request_v2,
    5: encode_offset_fetch_request_v2,
    6: encode_offset_fetch_request_v6,
    7: encode_offset_fetch_request_v7,
    8: encode_offset_fetch_request_v8,
    9: encode_offset_fetch_request_v9,
    10: encode_offset_fetch_request_v10,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], OffsetFetchResponse]]] = {
    0: decode_offset_fetch_response_v0,
    1: decode_offset_fetch_response_v0,
    2: decode_offset_fetch_response_v2,
    3: decode_offset_fetch_response_v3,
    4: decode_offset_fetch_response_v3,
    5: decode_offset_fetch_response_v5,
    6: decode_offset_fetch_response_v6,
    7: decode_offset_fetch_response_v6,
    8: decode_offset_fetch_response_v8,
    9: decode_offset_fetch_response_v8,
    10: decode_offset_fetch_response_v10,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[OffsetFetchResponse], bytes]]] = {
    0: encode_offset_fetch_response_v0,
    1: encode_offset_fetch_response_v0,
    2: encode_offset_fetch_response_v2,
    3: encode_offset_fetch_response_v3,
    4: encode_offset_fetch_response_v3,
    5: encode_offset_fetch_response_v5,
    6: encode_offset_fetch_response_v6,
    7: encode_offset_fetch_response_v6,
    8: encode_offset_fetch_response_v8,
    9: encode_offset_fetch_response_v8,
    10: encode_offset_fetch_response_v10,
}
