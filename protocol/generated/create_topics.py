"""CreateTopics: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.create_topics`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    ZERO_UUID,
    read_tag,
    read_tag_count_tail,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_16sh = Struct(">16sh").pack
_pack_16shB = Struct(">16shB").pack
_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack
_pack_io = Struct(">i?").pack
_pack_iox = Struct(">i?x").pack
_pack_obox = Struct(">?b?x").pack
_unpack_16shB = Struct(">16shB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_io = Struct(">i?").unpack_from
_unpack_ioB = Struct(">i?B").unpack_from
_unpack_oboB = Struct(">?b?B").unpack_from


def decode_create_topics_request_v0(data: bytes, position: int, left: int) -> CreateTopicsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[CreatableTopic]
        if n1 < 0 or n1 * 16 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[CreatableTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            num_partitions_1, replication_factor_1, n4 = _unpack_ihi(data, position)
            position += 10
            assignments_1: list[CreatableReplicaAssignment]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("assignments has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[CreatableReplicaAssignment] = []
            for _ in range(n4):
                partition_index_2, n6 = _unpack_ii(data, position)
                position += 8
                broker_ids_2: list[int]
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("broker_ids has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                broker_ids_2 = list(unpack_from(f">{n6}i", data, position))
                position += n6 * 4
                list5.append(CreatableReplicaAssignment(partition_index_2, broker_ids_2))
            assignments_1 = list5
            (n7,) = _unpack_i(data, position)
            position += 4
            configs_1: list[CreatableTopicConfig]
            if n7 < 0 or n7 * 4 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            left -= n7
            if left < 0:
                raise TooManyElementsError
            list8: list[CreatableTopicConfig] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("name is null")
                name_3 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                value_3: str | None
                if n10 >= 0:
                    value_3 = data[position : position + n10].decode("utf-8", "replace")
                    position += n10
                else:
                    value_3 = None
                list8.append(CreatableTopicConfig(name_3, value_3))
            configs_1 = list8
            list2.append(CreatableTopic(name_1, num_partitions_1, replication_factor_1, assignments_1, configs_1))
        topics = list2
        (timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsRequest(topics, timeout_ms, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_request_v1(data: bytes, position: int, left: int) -> CreateTopicsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[CreatableTopic]
        if n1 < 0 or n1 * 16 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[CreatableTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            num_partitions_1, replication_factor_1, n4 = _unpack_ihi(data, position)
            position += 10
            assignments_1: list[CreatableReplicaAssignment]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("assignments has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[CreatableReplicaAssignment] = []
            for _ in range(n4):
                partition_index_2, n6 = _unpack_ii(data, position)
                position += 8
                broker_ids_2: list[int]
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("broker_ids has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                broker_ids_2 = list(unpack_from(f">{n6}i", data, position))
                position += n6 * 4
                list5.append(CreatableReplicaAssignment(partition_index_2, broker_ids_2))
            assignments_1 = list5
            (n7,) = _unpack_i(data, position)
            position += 4
            configs_1: list[CreatableTopicConfig]
            if n7 < 0 or n7 * 4 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            left -= n7
            if left < 0:
                raise TooManyElementsError
            list8: list[CreatableTopicConfig] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("name is null")
                name_3 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                value_3: str | None
                if n10 >= 0:
                    value_3 = data[position : position + n10].decode("utf-8", "replace")
                    position += n10
                else:
                    value_3 = None
                list8.append(CreatableTopicConfig(name_3, value_3))
            configs_1 = list8
            list2.append(CreatableTopic(name_1, num_partitions_1, replication_factor_1, assignments_1, configs_1))
        topics = list2
        timeout_ms, validate_only = _unpack_io(data, position)
        position += 5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsRequest(topics, timeout_ms, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_request_v5(data: bytes, position: int, left: int) -> CreateTopicsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[CreatableTopic]
        n1 -= 1
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[CreatableTopic] = []
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
            num_partitions_1, replication_factor_1, n4 = _unpack_ihB(data, position)
            position += 7
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            assignments_1: list[CreatableReplicaAssignment]
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("assignments has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[CreatableReplicaAssignment] = []
            for _ in range(n4):
                partition_index_2, n6 = _unpack_iB(data, position)
                position += 5
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                broker_ids_2: list[int]
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("broker_ids has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                broker_ids_2 = list(unpack_from(f">{n6}i", data, position))
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
                list5.append(CreatableReplicaAssignment(partition_index_2, broker_ids_2))
            assignments_1 = list5
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            configs_1: list[CreatableTopicConfig]
            n8 -= 1
            if n8 < 0 or n8 * 3 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            left -= n8
            if left < 0:
                raise TooManyElementsError
            list9: list[CreatableTopicConfig] = []
            for _ in range(n8):
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                    if n10 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n10:
                    raise DecodeError("name is null")
                name_3 = data[position : position + n10 - 1].decode("utf-8", "replace")
                position += n10 - 1
                n11 = data[position]
                position += 1
                if n11 > 127:
                    n11, position = read_uvarint_tail(data, position, n11)
                    if n11 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                value_3: str | None
                if n11:
                    value_3 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                else:
                    value_3 = None
                tags12 = data[position]
                position += 1
                if tags12:
                    if tags12 > 127:
                        tags12, position = read_tag_count_tail(data, position, tags12)
                    left -= tags12
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags12)
                list9.append(CreatableTopicConfig(name_3, value_3))
            configs_1 = list9
            tags13 = data[position]
            position += 1
            if tags13:
                if tags13 > 127:
                    tags13, position = read_tag_count_tail(data, position, tags13)
                left -= tags13
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags13)
            list2.append(CreatableTopic(name_1, num_partitions_1, replication_factor_1, assignments_1, configs_1))
        topics = list2
        timeout_ms, validate_only, tags14 = _unpack_ioB(data, position)
        position += 6
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            left -= tags14
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags14)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsRequest(topics, timeout_ms, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_topics_request_v0(message: CreateTopicsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.assignments
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_ihi(item3.num_partitions, item3.replication_factor, n7))
            for item8 in items6:
                items9 = item8.broker_ids
                n10 = len(items9)
                parts += (_pack_ii(item8.partition_index, n10), pack(f">{len(items9)}i", *items9))
            items11 = item3.configs
            n12 = len(items11)
            parts.append(_pack_i(n12))
            for item13 in items11:
                b14 = item13.name.encode()
                n15 = len(b14)
                b16 = item13.value
                b18 = b"" if b16 is None else b16.encode()
                n17 = -1 if b16 is None else len(b18)
                parts += (_pack_h(n15), b14, _pack_h(n17), b18)
        parts.append(_pack_i(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsRequest", error) from error


def encode_create_topics_request_v1(message: CreateTopicsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.assignments
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_ihi(item3.num_partitions, item3.replication_factor, n7))
            for item8 in items6:
                items9 = item8.broker_ids
                n10 = len(items9)
                parts += (_pack_ii(item8.partition_index, n10), pack(f">{len(items9)}i", *items9))
            items11 = item3.configs
            n12 = len(items11)
            parts.append(_pack_i(n12))
            for item13 in items11:
                b14 = item13.name.encode()
                n15 = len(b14)
                b16 = item13.value
                b18 = b"" if b16 is None else b16.encode()
                n17 = -1 if b16 is None else len(b18)
                parts += (_pack_h(n15), b14, _pack_h(n17), b18)
        parts.append(_pack_io(message.timeout_ms, message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsRequest", error) from error


def encode_create_topics_request_v5(message: CreateTopicsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.assignments
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_ihB(item3.num_partitions, item3.replication_factor, n7) if n7 < 128 else _pack_ih(item3.num_partitions, item3.replication_factor) + uvarint(n7))
            for item8 in items6:
                items9 = item8.broker_ids
                n10 = len(items9) + 1
                parts += (_pack_iB(item8.partition_index, n10) if n10 < 128 else _pack_i(item8.partition_index) + uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            items11 = item3.configs
            n12 = len(items11) + 1
            parts.append(_pack_B(n12) if n12 < 128 else uvarint(n12))
            for item13 in items11:
                b14 = item13.name.encode()
                n15 = len(b14) + 1
                b16 = item13.value
                b18 = b"" if b16 is None else b16.encode()
                n17 = 0 if b16 is None else len(b18) + 1
                parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14, _pack_B(n17) if n17 < 128 else uvarint(n17), b18, b"\0")
            parts.append(b"\0")
        parts.append(_pack_iox(message.timeout_ms, message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsRequest", error) from error


def decode_create_topics_response_v0(data: bytes, position: int) -> CreateTopicsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[CreatableTopicResult]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[CreatableTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (error_code_1,) = _unpack_h(data, position)
            position += 2
            list2.append(CreatableTopicResult(name_1, ZERO_UUID, error_code_1, "", 0, -1, -1, []))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_response_v1(data: bytes, position: int) -> CreateTopicsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[CreatableTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[CreatableTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            error_code_1, n4 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n4 >= 0:
                error_message_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                error_message_1 = None
            list2.append(CreatableTopicResult(name_1, ZERO_UUID, error_code_1, error_message_1, 0, -1, -1, []))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_response_v2(data: bytes, position: int) -> CreateTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[CreatableTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[CreatableTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            error_code_1, n4 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n4 >= 0:
                error_message_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                error_message_1 = None
            list2.append(CreatableTopicResult(name_1, ZERO_UUID, error_code_1, error_message_1, 0, -1, -1, []))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_response_v5(data: bytes, position: int) -> CreateTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[CreatableTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[CreatableTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, n4 = _unpack_hB(data, position)
            position += 3
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            num_partitions_1, replication_factor_1, n5 = _unpack_ihB(data, position)
            position += 7
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            configs_1: list[CreatableTopicConfigs] | None
            if not n5:
                configs_1 = None
            else:
                n5 -= 1
                if n5 < 0 or n5 * 6 > size - position:
                    raise DecodeError("configs has more elements than bytes, or is null")
                list6: list[CreatableTopicConfigs] = []
                for _ in range(n5):
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    if not n7:
                        raise DecodeError("name is null")
                    name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                    n8 = data[position]
                    position += 1
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    value_2: str | None
                    if n8:
                        value_2 = data[position : position + n8 - 1].decode("utf-8", "replace")
                        position += n8 - 1
                    else:
                        value_2 = None
                    read_only_2, config_source_2, is_sensitive_2, tags9 = _unpack_oboB(data, position)
                    position += 4
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list6.append(CreatableTopicConfigs(name_2, value_2, read_only_2, config_source_2, is_sensitive_2))
                configs_1 = list6
            tags10 = data[position]
            position += 1
            topic_config_error_code_1: int = 0
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                previous12 = -1
                for _ in range(tags10):
                    tag11, end13, position = read_tag(data, position, previous12)
                    previous12 = tag11
                    if tag11 == 0:
                        (topic_config_error_code_1,) = _unpack_h(data, position)
                        position += 2
                        if position != end13:
                            raise DecodeError("topic_config_error_code does not fill its tag")
                    position = end13
            list2.append(CreatableTopicResult(name_1, ZERO_UUID, error_code_1, error_message_1, topic_config_error_code_1, num_partitions_1, replication_factor_1, configs_1))
        topics = list2
        tags14 = data[position]
        position += 1
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            position = skip_tags(data, position, tags14)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_topics_response_v7(data: bytes, position: int) -> CreateTopicsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[CreatableTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 28 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[CreatableTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            topic_id_1, error_code_1, n4 = _unpack_16shB(data, position)
            position += 19
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            num_partitions_1, replication_factor_1, n5 = _unpack_ihB(data, position)
            position += 7
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            configs_1: list[CreatableTopicConfigs] | None
            if not n5:
                configs_1 = None
            else:
                n5 -= 1
                if n5 < 0 or n5 * 6 > size - position:
                    raise DecodeError("configs has more elements than bytes, or is null")
                list6: list[CreatableTopicConfigs] = []
                for _ in range(n5):
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    if not n7:
                        raise DecodeError("name is null")
                    name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                    n8 = data[position]
                    position += 1
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    value_2: str | None
                    if n8:
                        value_2 = data[position : position + n8 - 1].decode("utf-8", "replace")
                        position += n8 - 1
                    else:
                        value_2 = None
                    read_only_2, config_source_2, is_sensitive_2, tags9 = _unpack_oboB(data, position)
                    position += 4
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list6.append(CreatableTopicConfigs(name_2, value_2, read_only_2, config_source_2, is_sensitive_2))
                configs_1 = list6
            tags10 = data[position]
            position += 1
            topic_config_error_code_1: int = 0
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                previous12 = -1
                for _ in range(tags10):
                    tag11, end13, position = read_tag(data, position, previous12)
                    previous12 = tag11
                    if tag11 == 0:
                        (topic_config_error_code_1,) = _unpack_h(data, position)
                        position += 2
                        if position != end13:
                            raise DecodeError("topic_config_error_code does not fill its tag")
                    position = end13
            list2.append(CreatableTopicResult(name_1, topic_id_1, error_code_1, error_message_1, topic_config_error_code_1, num_partitions_1, replication_factor_1, configs_1))
        topics = list2
        tags14 = data[position]
        position += 1
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            position = skip_tags(data, position, tags14)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_topics_response_v0(message: CreateTopicsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4, _pack_h(item3.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsResponse", error) from error


def encode_create_topics_response_v1(message: CreateTopicsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_h(n5), b4, _pack_hh(item3.error_code, n7), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsResponse", error) from error


def encode_create_topics_response_v2(message: CreateTopicsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_h(n5), b4, _pack_hh(item3.error_code, n7), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsResponse", error) from error


def encode_create_topics_response_v5(message: CreateTopicsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            items9 = item3.configs
            if items9 is None:
                items9, n10 = [], 0
            else:
                n10 = len(items9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hB(item3.error_code, n7) if n7 < 128 else _pack_h(item3.error_code) + uvarint(n7), b8, _pack_ihB(item3.num_partitions, item3.replication_factor, n10) if n10 < 128 else _pack_ih(item3.num_partitions, item3.replication_factor) + uvarint(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12) + 1
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = 0 if b14 is None else len(b16) + 1
                parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b16, _pack_obox(item11.read_only, item11.config_source, item11.is_sensitive))
            count17 = 0
            tags18: list[bytes] = []
            if item3.topic_config_error_code:
                parts19: list[bytes] = [_pack_h(item3.topic_config_error_code)]
                body20 = b"".join(parts19)
                tags18 += (uvarint(0), uvarint(len(body20)), body20)
                count17 += 1
            parts += (uvarint(count17), *tags18)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsResponse", error) from error


def encode_create_topics_response_v7(message: CreateTopicsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            items9 = item3.configs
            if items9 is None:
                items9, n10 = [], 0
            else:
                n10 = len(items9) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_16shB(item3.topic_id, item3.error_code, n7) if n7 < 128 else _pack_16sh(item3.topic_id, item3.error_code) + uvarint(n7), b8, _pack_ihB(item3.num_partitions, item3.replication_factor, n10) if n10 < 128 else _pack_ih(item3.num_partitions, item3.replication_factor) + uvarint(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12) + 1
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = 0 if b14 is None else len(b16) + 1
                parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b16, _pack_obox(item11.read_only, item11.config_source, item11.is_sensitive))
            count17 = 0
            tags18: list[bytes] = []
            if item3.topic_config_error_code:
                parts19: list[bytes] = [_pack_h(item3.topic_config_error_code)]
                body20 = b"".join(parts19)
                tags18 += (uvarint(0), uvarint(len(body20)), body20)
                count17 += 1
            parts += (uvarint(count17), *tags18)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateTopicsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], CreateTopicsRequest]]] = {
    0: decode_create_topics_request_v0,
    1: decode_create_topics_request_v1,
    2: decode_create_topics_request_v1,
    3: decode_create_topics_request_v1,
    4: decode_create_topics_request_v1,
    5: decode_create_topics_request_v5,
    6: decode_create_topics_request_v5,
    7: decode_create_topics_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[CreateTopicsRequest], bytes]]] = {
    0: encode_create_topics_request_v0,
    1: encode_create_topics_request_v1,
    2: encode_create_topics_request_v1,
    3: encode_create_topics_request_v1,
    4: encode_create_topics_request_v1,
    5: encode_create_topics_request_v5,
    6: encode_create_topics_request_v5,
    7: encode_create_topics_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], CreateTopicsResponse]]] = {
    0: decode_create_topics_response_v0,
    1: decode_create_topics_response_v1,
    2: decode_create_topics_response_v2,
    3: decode_create_topics_response_v2,
    4: decode_create_topics_response_v2,
    5: decode_create_topics_response_v5,
    6: decode_create_topics_response_v5,
    7: decode_create_topics_response_v7,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[CreateTopicsResponse], bytes]]] = {
    0: encode_create_topics_response_v0,
    1: encode_create_topics_response_v1,
    2: encode_create_topics_response_v2,
    3: encode_create_topics_response_v2,
    4: encode_create_topics_response_v2,
    5: encode_create_topics_response_v5,
    6: encode_create_topics_response_v5,
    7: encode_create_topics_response_v7,
}
