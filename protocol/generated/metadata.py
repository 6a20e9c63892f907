"""Metadata: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.metadata`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
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
_pack_16so = Struct(">16s?").pack
_pack_16soB = Struct(">16s?B").pack
_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_hiii = Struct(">hiii").pack
_pack_hiiiB = Struct(">hiiiB").pack
_pack_hiiii = Struct(">hiiii").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack
_pack_o = Struct(">?").pack
_pack_oB = Struct(">?B").pack
_pack_oi = Struct(">?i").pack
_pack_ooo = Struct(">???").pack
_pack_ooox = Struct(">???x").pack
_pack_oox = Struct(">??x").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_16soB = Struct(">16s?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_hiii = Struct(">hiii").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_hiiii = Struct(">hiiii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oB = Struct(">?B").unpack_from
_unpack_oi = Struct(">?i").unpack_from
_unpack_ooB = Struct(">??B").unpack_from
_unpack_ooo = Struct(">???").unpack_from
_unpack_oooB = Struct(">???B").unpack_from


def decode_metadata_request_v0(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[MetadataRequestTopic] | None
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[MetadataRequestTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            list2.append(MetadataRequestTopic(ZERO_UUID, name_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, True, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v1(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[MetadataRequestTopic] | None
        if n1 < 0:
            topics = None
        else:
            if n1 < 0 or n1 * 2 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
            for _ in range(n1):
                (n3,) = _unpack_h(data, position)
                position += 2
                if n3 < 0:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
                list2.append(MetadataRequestTopic(ZERO_UUID, name_1))
            topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, True, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v4(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[MetadataRequestTopic] | None
        if n1 < 0:
            topics = None
        else:
            if n1 < 0 or n1 * 2 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
            for _ in range(n1):
                (n3,) = _unpack_h(data, position)
                position += 2
                if n3 < 0:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
                list2.append(MetadataRequestTopic(ZERO_UUID, name_1))
            topics = list2
        (allow_auto_topic_creation,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, allow_auto_topic_creation, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v8(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[MetadataRequestTopic] | None
        if n1 < 0:
            topics = None
        else:
            if n1 < 0 or n1 * 2 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
            for _ in range(n1):
                (n3,) = _unpack_h(data, position)
                position += 2
                if n3 < 0:
                    raise DecodeError("name is null")
                name_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
                list2.append(MetadataRequestTopic(ZERO_UUID, name_1))
            topics = list2
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _unpack_ooo(data, position)
        position += 3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v9(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[MetadataRequestTopic] | None
        if not n1:
            topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 2 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
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
                list2.append(MetadataRequestTopic(ZERO_UUID, name_1))
            topics = list2
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags5 = _unpack_oooB(data, position)
        position += 4
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v10(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[MetadataRequestTopic] | None
        if not n1:
            topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 18 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
            for _ in range(n1):
                topic_id_1, n3 = _unpack_16sB(data, position)
                position += 17
                if n3 > 127:
                    n3, position = read_uvarint_tail(data, position, n3)
                    if n3 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                name_1: str | None
                if n3:
                    name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                    position += n3 - 1
                else:
                    name_1 = None
                tags4 = data[position]
                position += 1
                if tags4:
                    if tags4 > 127:
                        tags4, position = read_tag_count_tail(data, position, tags4)
                    left -= tags4
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags4)
                list2.append(MetadataRequestTopic(topic_id_1, name_1))
            topics = list2
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags5 = _unpack_oooB(data, position)
        position += 4
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_request_v11(data: bytes, position: int, left: int) -> MetadataRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[MetadataRequestTopic] | None
        if not n1:
            topics = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 18 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[MetadataRequestTopic] = []
            for _ in range(n1):
                topic_id_1, n3 = _unpack_16sB(data, position)
                position += 17
                if n3 > 127:
                    n3, position = read_uvarint_tail(data, position, n3)
                    if n3 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                name_1: str | None
                if n3:
                    name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                    position += n3 - 1
                else:
                    name_1 = None
                tags4 = data[position]
                position += 1
                if tags4:
                    if tags4 > 127:
                        tags4, position = read_tag_count_tail(data, position, tags4)
                    left -= tags4
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags4)
                list2.append(MetadataRequestTopic(topic_id_1, name_1))
            topics = list2
        allow_auto_topic_creation, include_topic_authorized_operations, tags5 = _unpack_ooB(data, position)
        position += 3
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataRequest(topics, allow_auto_topic_creation, False, include_topic_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_metadata_request_v0(message: MetadataRequest) -> bytes:
    try:
        checked3 = message.topics
        if checked3 is None:
            raise EncodeError("topics is null")
        items1 = checked3
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item4 in items1:
            checked7 = item4.name
            if checked7 is None:
                raise EncodeError("name is null")
            b5 = checked7.encode()
            n6 = len(b5)
            parts += (_pack_h(n6), b5)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v1(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v4(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        parts.append(_pack_o(message.allow_auto_topic_creation))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v8(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        parts.append(_pack_ooo(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v9(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            checked6 = item3.name
            if checked6 is None:
                raise EncodeError("name is null")
            b4 = checked6.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, b"\0")
        parts.append(_pack_ooox(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v10(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), b6, b"\0")
        parts.append(_pack_ooox(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def encode_metadata_request_v11(message: MetadataRequest) -> bytes:
    try:
        items1 = message.topics
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), b6, b"\0")
        parts.append(_pack_oox(message.allow_auto_topic_creation, message.include_topic_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataRequest", error) from error


def decode_metadata_response_v0(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (port_1,) = _unpack_i(data, position)
            position += 4
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, None))
        brokers = list2
        (n4,) = _unpack_i(data, position)
        position += 4
        topics: list[MetadataResponseTopic]
        if n4 < 0 or n4 * 8 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list5: list[MetadataResponseTopic] = []
        for _ in range(n4):
            error_code_2, n6 = _unpack_hh(data, position)
            position += 4
            if n6 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            partitions_2: list[MetadataResponsePartition]
            if n7 < 0 or n7 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list8: list[MetadataResponsePartition] = []
            for _ in range(n7):
                error_code_3, partition_index_3, leader_id_3, n9 = _unpack_hiii(data, position)
                position += 14
                replica_nodes_3: list[int]
                if n9 < 0 or n9 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n9}i", data, position))
                position += n9 * 4
                (n10,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n10 < 0 or n10 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n10}i", data, position))
                position += n10 * 4
                list8.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, -1, replica_nodes_3, isr_nodes_3, []))
            partitions_2 = list8
            list5.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, False, partitions_2, -2147483648))
        topics = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(0, brokers, None, -1, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v1(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        controller_id, n5 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n5 < 0 or n5 * 9 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list6: list[MetadataResponseTopic] = []
        for _ in range(n5):
            error_code_2, n7 = _unpack_hh(data, position)
            position += 4
            if n7 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n7].decode("utf-8", "replace")
            position += n7
            is_internal_2, n8 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n8 < 0 or n8 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list9: list[MetadataResponsePartition] = []
            for _ in range(n8):
                error_code_3, partition_index_3, leader_id_3, n10 = _unpack_hiii(data, position)
                position += 14
                replica_nodes_3: list[int]
                if n10 < 0 or n10 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n10}i", data, position))
                position += n10 * 4
                (n11,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                list9.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, -1, replica_nodes_3, isr_nodes_3, []))
            partitions_2 = list9
            list6.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, -2147483648))
        topics = list6
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(0, brokers, None, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v2(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        (n5,) = _unpack_h(data, position)
        position += 2
        cluster_id: str | None
        if n5 >= 0:
            cluster_id = data[position : position + n5].decode("utf-8", "replace")
            position += n5
        else:
            cluster_id = None
        controller_id, n6 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n6 < 0 or n6 * 9 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list7: list[MetadataResponseTopic] = []
        for _ in range(n6):
            error_code_2, n8 = _unpack_hh(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            is_internal_2, n9 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n9 < 0 or n9 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list10: list[MetadataResponsePartition] = []
            for _ in range(n9):
                error_code_3, partition_index_3, leader_id_3, n11 = _unpack_hiii(data, position)
                position += 14
                replica_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                (n12,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                list10.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, -1, replica_nodes_3, isr_nodes_3, []))
            partitions_2 = list10
            list7.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, -2147483648))
        topics = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(0, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v3(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        (n5,) = _unpack_h(data, position)
        position += 2
        cluster_id: str | None
        if n5 >= 0:
            cluster_id = data[position : position + n5].decode("utf-8", "replace")
            position += n5
        else:
            cluster_id = None
        controller_id, n6 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n6 < 0 or n6 * 9 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list7: list[MetadataResponseTopic] = []
        for _ in range(n6):
            error_code_2, n8 = _unpack_hh(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            is_internal_2, n9 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n9 < 0 or n9 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list10: list[MetadataResponsePartition] = []
            for _ in range(n9):
                error_code_3, partition_index_3, leader_id_3, n11 = _unpack_hiii(data, position)
                position += 14
                replica_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                (n12,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                list10.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, -1, replica_nodes_3, isr_nodes_3, []))
            partitions_2 = list10
            list7.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, -2147483648))
        topics = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v5(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        (n5,) = _unpack_h(data, position)
        position += 2
        cluster_id: str | None
        if n5 >= 0:
            cluster_id = data[position : position + n5].decode("utf-8", "replace")
            position += n5
        else:
            cluster_id = None
        controller_id, n6 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n6 < 0 or n6 * 9 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list7: list[MetadataResponseTopic] = []
        for _ in range(n6):
            error_code_2, n8 = _unpack_hh(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            is_internal_2, n9 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n9 < 0 or n9 * 22 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list10: list[MetadataResponsePartition] = []
            for _ in range(n9):
                error_code_3, partition_index_3, leader_id_3, n11 = _unpack_hiii(data, position)
                position += 14
                replica_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                (n12,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                (n13,) = _unpack_i(data, position)
                position += 4
                offline_replicas_3: list[int]
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                list10.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, -1, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list10
            list7.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, -2147483648))
        topics = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v7(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        (n5,) = _unpack_h(data, position)
        position += 2
        cluster_id: str | None
        if n5 >= 0:
            cluster_id = data[position : position + n5].decode("utf-8", "replace")
            position += n5
        else:
            cluster_id = None
        controller_id, n6 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n6 < 0 or n6 * 9 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list7: list[MetadataResponseTopic] = []
        for _ in range(n6):
            error_code_2, n8 = _unpack_hh(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            is_internal_2, n9 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n9 < 0 or n9 * 26 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list10: list[MetadataResponsePartition] = []
            for _ in range(n9):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n11 = _unpack_hiiii(data, position)
                position += 18
                replica_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                (n12,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                (n13,) = _unpack_i(data, position)
                position += 4
                offline_replicas_3: list[int]
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                list10.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list10
            list7.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, -2147483648))
        topics = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v8(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        brokers: list[MetadataResponseBroker]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_ih(data, position)
            position += 6
            if n3 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            port_1, n4 = _unpack_ih(data, position)
            position += 6
            rack_1: str | None
            if n4 >= 0:
                rack_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                rack_1 = None
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        (n5,) = _unpack_h(data, position)
        position += 2
        cluster_id: str | None
        if n5 >= 0:
            cluster_id = data[position : position + n5].decode("utf-8", "replace")
            position += n5
        else:
            cluster_id = None
        controller_id, n6 = _unpack_ii(data, position)
        position += 8
        topics: list[MetadataResponseTopic]
        if n6 < 0 or n6 * 13 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list7: list[MetadataResponseTopic] = []
        for _ in range(n6):
            error_code_2, n8 = _unpack_hh(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("name is null")
            name_2 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            is_internal_2, n9 = _unpack_oi(data, position)
            position += 5
            partitions_2: list[MetadataResponsePartition]
            if n9 < 0 or n9 * 26 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list10: list[MetadataResponsePartition] = []
            for _ in range(n9):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n11 = _unpack_hiiii(data, position)
                position += 18
                replica_nodes_3: list[int]
                if n11 < 0 or n11 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n11}i", data, position))
                position += n11 * 4
                (n12,) = _unpack_i(data, position)
                position += 4
                isr_nodes_3: list[int]
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                (n13,) = _unpack_i(data, position)
                position += 4
                offline_replicas_3: list[int]
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                list10.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list10
            (topic_authorized_operations_2,) = _unpack_i(data, position)
            position += 4
            list7.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list7
        (cluster_authorized_operations,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v9(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        brokers: list[MetadataResponseBroker]
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_iB(data, position)
            position += 5
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            port_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            rack_1: str | None
            if n4:
                rack_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                rack_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        cluster_id: str | None
        if n6:
            cluster_id = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            cluster_id = None
        controller_id, n7 = _unpack_iB(data, position)
        position += 5
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        topics: list[MetadataResponseTopic]
        n7 -= 1
        if n7 < 0 or n7 * 10 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list8: list[MetadataResponseTopic] = []
        for _ in range(n7):
            error_code_2, n9 = _unpack_hB(data, position)
            position += 3
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("name is null")
            name_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
            is_internal_2, n10 = _unpack_oB(data, position)
            position += 2
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            partitions_2: list[MetadataResponsePartition]
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list11: list[MetadataResponsePartition] = []
            for _ in range(n10):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n12 = _unpack_hiiiB(data, position)
                position += 15
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                replica_nodes_3: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                isr_nodes_3: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                offline_replicas_3: list[int]
                n14 -= 1
                if n14 < 0 or n14 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n14}i", data, position))
                position += n14 * 4
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list11.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list11
            topic_authorized_operations_2, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list8.append(MetadataResponseTopic(error_code_2, name_2, ZERO_UUID, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list8
        cluster_authorized_operations, tags17 = _unpack_iB(data, position)
        position += 5
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v10(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        brokers: list[MetadataResponseBroker]
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_iB(data, position)
            position += 5
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            port_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            rack_1: str | None
            if n4:
                rack_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                rack_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        cluster_id: str | None
        if n6:
            cluster_id = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            cluster_id = None
        controller_id, n7 = _unpack_iB(data, position)
        position += 5
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        topics: list[MetadataResponseTopic]
        n7 -= 1
        if n7 < 0 or n7 * 26 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list8: list[MetadataResponseTopic] = []
        for _ in range(n7):
            error_code_2, n9 = _unpack_hB(data, position)
            position += 3
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("name is null")
            name_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
            topic_id_2, is_internal_2, n10 = _unpack_16soB(data, position)
            position += 18
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            partitions_2: list[MetadataResponsePartition]
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list11: list[MetadataResponsePartition] = []
            for _ in range(n10):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n12 = _unpack_hiiiB(data, position)
                position += 15
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                replica_nodes_3: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                isr_nodes_3: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                offline_replicas_3: list[int]
                n14 -= 1
                if n14 < 0 or n14 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n14}i", data, position))
                position += n14 * 4
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list11.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list11
            topic_authorized_operations_2, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list8.append(MetadataResponseTopic(error_code_2, name_2, topic_id_2, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list8
        cluster_authorized_operations, tags17 = _unpack_iB(data, position)
        position += 5
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v11(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        brokers: list[MetadataResponseBroker]
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_iB(data, position)
            position += 5
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            port_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            rack_1: str | None
            if n4:
                rack_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                rack_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        cluster_id: str | None
        if n6:
            cluster_id = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            cluster_id = None
        controller_id, n7 = _unpack_iB(data, position)
        position += 5
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        topics: list[MetadataResponseTopic]
        n7 -= 1
        if n7 < 0 or n7 * 26 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list8: list[MetadataResponseTopic] = []
        for _ in range(n7):
            error_code_2, n9 = _unpack_hB(data, position)
            position += 3
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("name is null")
            name_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
            topic_id_2, is_internal_2, n10 = _unpack_16soB(data, position)
            position += 18
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            partitions_2: list[MetadataResponsePartition]
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list11: list[MetadataResponsePartition] = []
            for _ in range(n10):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n12 = _unpack_hiiiB(data, position)
                position += 15
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                replica_nodes_3: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                isr_nodes_3: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                offline_replicas_3: list[int]
                n14 -= 1
                if n14 < 0 or n14 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n14}i", data, position))
                position += n14 * 4
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list11.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list11
            topic_authorized_operations_2, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list8.append(MetadataResponseTopic(error_code_2, name_2, topic_id_2, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list8
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v12(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        brokers: list[MetadataResponseBroker]
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_iB(data, position)
            position += 5
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            port_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            rack_1: str | None
            if n4:
                rack_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                rack_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        cluster_id: str | None
        if n6:
            cluster_id = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            cluster_id = None
        controller_id, n7 = _unpack_iB(data, position)
        position += 5
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        topics: list[MetadataResponseTopic]
        n7 -= 1
        if n7 < 0 or n7 * 26 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list8: list[MetadataResponseTopic] = []
        for _ in range(n7):
            error_code_2, n9 = _unpack_hB(data, position)
            position += 3
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            name_2: str | None
            if n9:
                name_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
            else:
                name_2 = None
            topic_id_2, is_internal_2, n10 = _unpack_16soB(data, position)
            position += 18
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            partitions_2: list[MetadataResponsePartition]
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list11: list[MetadataResponsePartition] = []
            for _ in range(n10):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n12 = _unpack_hiiiB(data, position)
                position += 15
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                replica_nodes_3: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                isr_nodes_3: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                offline_replicas_3: list[int]
                n14 -= 1
                if n14 < 0 or n14 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n14}i", data, position))
                position += n14 * 4
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list11.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list11
            topic_authorized_operations_2, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list8.append(MetadataResponseTopic(error_code_2, name_2, topic_id_2, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list8
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_metadata_response_v13(data: bytes, position: int) -> MetadataResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        brokers: list[MetadataResponseBroker]
        n1 -= 1
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list2: list[MetadataResponseBroker] = []
        for _ in range(n1):
            node_id_1, n3 = _unpack_iB(data, position)
            position += 5
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("host is null")
            host_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            port_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            rack_1: str | None
            if n4:
                rack_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                rack_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MetadataResponseBroker(node_id_1, host_1, port_1, rack_1))
        brokers = list2
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        cluster_id: str | None
        if n6:
            cluster_id = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            cluster_id = None
        controller_id, n7 = _unpack_iB(data, position)
        position += 5
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        topics: list[MetadataResponseTopic]
        n7 -= 1
        if n7 < 0 or n7 * 26 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list8: list[MetadataResponseTopic] = []
        for _ in range(n7):
            error_code_2, n9 = _unpack_hB(data, position)
            position += 3
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            name_2: str | None
            if n9:
                name_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
            else:
                name_2 = None
            topic_id_2, is_internal_2, n10 = _unpack_16soB(data, position)
            position += 18
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            partitions_2: list[MetadataResponsePartition]
            n10 -= 1
            if n10 < 0 or n10 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list11: list[MetadataResponsePartition] = []
            for _ in range(n10):
                error_code_3, partition_index_3, leader_id_3, leader_epoch_3, n12 = _unpack_hiiiB(data, position)
                position += 15
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                replica_nodes_3: list[int]
                n12 -= 1
                if n12 < 0 or n12 * 4 > size - position:
                    raise DecodeError("replica_nodes has more elements than bytes, or is null")
                replica_nodes_3 = list(unpack_from(f">{n12}i", data, position))
                position += n12 * 4
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                isr_nodes_3: list[int]
                n13 -= 1
                if n13 < 0 or n13 * 4 > size - position:
                    raise DecodeError("isr_nodes has more elements than bytes, or is null")
                isr_nodes_3 = list(unpack_from(f">{n13}i", data, position))
                position += n13 * 4
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                offline_replicas_3: list[int]
                n14 -= 1
                if n14 < 0 or n14 * 4 > size - position:
                    raise DecodeError("offline_replicas has more elements than bytes, or is null")
                offline_replicas_3 = list(unpack_from(f">{n14}i", data, position))
                position += n14 * 4
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list11.append(MetadataResponsePartition(error_code_3, partition_index_3, leader_id_3, leader_epoch_3, replica_nodes_3, isr_nodes_3, offline_replicas_3))
            partitions_2 = list11
            topic_authorized_operations_2, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list8.append(MetadataResponseTopic(error_code_2, name_2, topic_id_2, is_internal_2, partitions_2, topic_authorized_operations_2))
        topics = list8
        error_code, tags17 = _unpack_hB(data, position)
        position += 3
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_metadata_response_v0(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_i(item3.port))
        items6 = message.topics
        n7 = len(items6)
        parts.append(_pack_i(n7))
        for item8 in items6:
            checked11 = item8.name
            if checked11 is None:
                raise EncodeError("name is null")
            b9 = checked11.encode()
            n10 = len(b9)
            items12 = item8.partitions
            n13 = len(items12)
            parts += (_pack_hh(item8.error_code, n10), b9, _pack_i(n13))
            for item14 in items12:
                items15 = item14.replica_nodes
                n16 = len(items15)
                items17 = item14.isr_nodes
                n18 = len(items17)
                parts += (_pack_hiii(item14.error_code, item14.partition_index, item14.leader_id, n16), pack(f">{len(items15)}i", *items15), _pack_i(n18), pack(f">{len(items17)}i", *items17))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v1(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        items9 = message.topics
        n10 = len(items9)
        parts.append(_pack_ii(message.controller_id, n10))
        for item11 in items9:
            checked14 = item11.name
            if checked14 is None:
                raise EncodeError("name is null")
            b12 = checked14.encode()
            n13 = len(b12)
            items15 = item11.partitions
            n16 = len(items15)
            parts += (_pack_hh(item11.error_code, n13), b12, _pack_oi(item11.is_internal, n16))
            for item17 in items15:
                items18 = item17.replica_nodes
                n19 = len(items18)
                items20 = item17.isr_nodes
                n21 = len(items20)
                parts += (_pack_hiii(item17.error_code, item17.partition_index, item17.leader_id, n19), pack(f">{len(items18)}i", *items18), _pack_i(n21), pack(f">{len(items20)}i", *items20))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v2(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = -1 if b9 is None else len(b11)
        items12 = message.topics
        n13 = len(items12)
        parts += (_pack_h(n10), b11, _pack_ii(message.controller_id, n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15)
            items18 = item14.partitions
            n19 = len(items18)
            parts += (_pack_hh(item14.error_code, n16), b15, _pack_oi(item14.is_internal, n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21)
                items23 = item20.isr_nodes
                n24 = len(items23)
                parts += (_pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, n22), pack(f">{len(items21)}i", *items21), _pack_i(n24), pack(f">{len(items23)}i", *items23))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v3(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = -1 if b9 is None else len(b11)
        items12 = message.topics
        n13 = len(items12)
        parts += (_pack_h(n10), b11, _pack_ii(message.controller_id, n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15)
            items18 = item14.partitions
            n19 = len(items18)
            parts += (_pack_hh(item14.error_code, n16), b15, _pack_oi(item14.is_internal, n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21)
                items23 = item20.isr_nodes
                n24 = len(items23)
                parts += (_pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, n22), pack(f">{len(items21)}i", *items21), _pack_i(n24), pack(f">{len(items23)}i", *items23))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v5(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = -1 if b9 is None else len(b11)
        items12 = message.topics
        n13 = len(items12)
        parts += (_pack_h(n10), b11, _pack_ii(message.controller_id, n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15)
            items18 = item14.partitions
            n19 = len(items18)
            parts += (_pack_hh(item14.error_code, n16), b15, _pack_oi(item14.is_internal, n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21)
                items23 = item20.isr_nodes
                n24 = len(items23)
                items25 = item20.offline_replicas
                n26 = len(items25)
                parts += (_pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, n22), pack(f">{len(items21)}i", *items21), _pack_i(n24), pack(f">{len(items23)}i", *items23), _pack_i(n26), pack(f">{len(items25)}i", *items25))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v7(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = -1 if b9 is None else len(b11)
        items12 = message.topics
        n13 = len(items12)
        parts += (_pack_h(n10), b11, _pack_ii(message.controller_id, n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15)
            items18 = item14.partitions
            n19 = len(items18)
            parts += (_pack_hh(item14.error_code, n16), b15, _pack_oi(item14.is_internal, n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21)
                items23 = item20.isr_nodes
                n24 = len(items23)
                items25 = item20.offline_replicas
                n26 = len(items25)
                parts += (_pack_hiiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22), pack(f">{len(items21)}i", *items21), _pack_i(n24), pack(f">{len(items23)}i", *items23), _pack_i(n26), pack(f">{len(items25)}i", *items25))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v8(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4)
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_ih(item3.node_id, n5), b4, _pack_ih(item3.port, n7), b8)
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = -1 if b9 is None else len(b11)
        items12 = message.topics
        n13 = len(items12)
        parts += (_pack_h(n10), b11, _pack_ii(message.controller_id, n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15)
            items18 = item14.partitions
            n19 = len(items18)
            parts += (_pack_hh(item14.error_code, n16), b15, _pack_oi(item14.is_internal, n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21)
                items23 = item20.isr_nodes
                n24 = len(items23)
                items25 = item20.offline_replicas
                n26 = len(items25)
                parts += (_pack_hiiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22), pack(f">{len(items21)}i", *items21), _pack_i(n24), pack(f">{len(items23)}i", *items23), _pack_i(n26), pack(f">{len(items25)}i", *items25))
            parts.append(_pack_i(item14.topic_authorized_operations))
        parts.append(_pack_i(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v9(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4) + 1
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_iB(item3.node_id, n5) if n5 < 128 else _pack_i(item3.node_id) + uvarint(n5), b4, _pack_iB(item3.port, n7) if n7 < 128 else _pack_i(item3.port) + uvarint(n7), b8, b"\0")
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = 0 if b9 is None else len(b11) + 1
        items12 = message.topics
        n13 = len(items12) + 1
        parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b11, _pack_iB(message.controller_id, n13) if n13 < 128 else _pack_i(message.controller_id) + uvarint(n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15) + 1
            items18 = item14.partitions
            n19 = len(items18) + 1
            parts += (_pack_hB(item14.error_code, n16) if n16 < 128 else _pack_h(item14.error_code) + uvarint(n16), b15, _pack_oB(item14.is_internal, n19) if n19 < 128 else _pack_o(item14.is_internal) + uvarint(n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21) + 1
                items23 = item20.isr_nodes
                n24 = len(items23) + 1
                items25 = item20.offline_replicas
                n26 = len(items25) + 1
                parts += (_pack_hiiiB(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22) if n22 < 128 else _pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch) + uvarint(n22), pack(f">{len(items21)}i", *items21), _pack_B(n24) if n24 < 128 else uvarint(n24), pack(f">{len(items23)}i", *items23), _pack_B(n26) if n26 < 128 else uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
            parts.append(_pack_ix(item14.topic_authorized_operations))
        parts.append(_pack_ix(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v10(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4) + 1
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_iB(item3.node_id, n5) if n5 < 128 else _pack_i(item3.node_id) + uvarint(n5), b4, _pack_iB(item3.port, n7) if n7 < 128 else _pack_i(item3.port) + uvarint(n7), b8, b"\0")
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = 0 if b9 is None else len(b11) + 1
        items12 = message.topics
        n13 = len(items12) + 1
        parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b11, _pack_iB(message.controller_id, n13) if n13 < 128 else _pack_i(message.controller_id) + uvarint(n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15) + 1
            items18 = item14.partitions
            n19 = len(items18) + 1
            parts += (_pack_hB(item14.error_code, n16) if n16 < 128 else _pack_h(item14.error_code) + uvarint(n16), b15, _pack_16soB(item14.topic_id, item14.is_internal, n19) if n19 < 128 else _pack_16so(item14.topic_id, item14.is_internal) + uvarint(n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21) + 1
                items23 = item20.isr_nodes
                n24 = len(items23) + 1
                items25 = item20.offline_replicas
                n26 = len(items25) + 1
                parts += (_pack_hiiiB(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22) if n22 < 128 else _pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch) + uvarint(n22), pack(f">{len(items21)}i", *items21), _pack_B(n24) if n24 < 128 else uvarint(n24), pack(f">{len(items23)}i", *items23), _pack_B(n26) if n26 < 128 else uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
            parts.append(_pack_ix(item14.topic_authorized_operations))
        parts.append(_pack_ix(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v11(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4) + 1
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_iB(item3.node_id, n5) if n5 < 128 else _pack_i(item3.node_id) + uvarint(n5), b4, _pack_iB(item3.port, n7) if n7 < 128 else _pack_i(item3.port) + uvarint(n7), b8, b"\0")
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = 0 if b9 is None else len(b11) + 1
        items12 = message.topics
        n13 = len(items12) + 1
        parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b11, _pack_iB(message.controller_id, n13) if n13 < 128 else _pack_i(message.controller_id) + uvarint(n13))
        for item14 in items12:
            checked17 = item14.name
            if checked17 is None:
                raise EncodeError("name is null")
            b15 = checked17.encode()
            n16 = len(b15) + 1
            items18 = item14.partitions
            n19 = len(items18) + 1
            parts += (_pack_hB(item14.error_code, n16) if n16 < 128 else _pack_h(item14.error_code) + uvarint(n16), b15, _pack_16soB(item14.topic_id, item14.is_internal, n19) if n19 < 128 else _pack_16so(item14.topic_id, item14.is_internal) + uvarint(n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21) + 1
                items23 = item20.isr_nodes
                n24 = len(items23) + 1
                items25 = item20.offline_replicas
                n26 = len(items25) + 1
                parts += (_pack_hiiiB(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22) if n22 < 128 else _pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch) + uvarint(n22), pack(f">{len(items21)}i", *items21), _pack_B(n24) if n24 < 128 else uvarint(n24), pack(f">{len(items23)}i", *items23), _pack_B(n26) if n26 < 128 else uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
            parts.append(_pack_ix(item14.topic_authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v12(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4) + 1
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_iB(item3.node_id, n5) if n5 < 128 else _pack_i(item3.node_id) + uvarint(n5), b4, _pack_iB(item3.port, n7) if n7 < 128 else _pack_i(item3.port) + uvarint(n7), b8, b"\0")
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = 0 if b9 is None else len(b11) + 1
        items12 = message.topics
        n13 = len(items12) + 1
        parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b11, _pack_iB(message.controller_id, n13) if n13 < 128 else _pack_i(message.controller_id) + uvarint(n13))
        for item14 in items12:
            b15 = item14.name
            b17 = b"" if b15 is None else b15.encode()
            n16 = 0 if b15 is None else len(b17) + 1
            items18 = item14.partitions
            n19 = len(items18) + 1
            parts += (_pack_hB(item14.error_code, n16) if n16 < 128 else _pack_h(item14.error_code) + uvarint(n16), b17, _pack_16soB(item14.topic_id, item14.is_internal, n19) if n19 < 128 else _pack_16so(item14.topic_id, item14.is_internal) + uvarint(n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21) + 1
                items23 = item20.isr_nodes
                n24 = len(items23) + 1
                items25 = item20.offline_replicas
                n26 = len(items25) + 1
                parts += (_pack_hiiiB(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22) if n22 < 128 else _pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch) + uvarint(n22), pack(f">{len(items21)}i", *items21), _pack_B(n24) if n24 < 128 else uvarint(n24), pack(f">{len(items23)}i", *items23), _pack_B(n26) if n26 < 128 else uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
            parts.append(_pack_ix(item14.topic_authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


def encode_metadata_response_v13(message: MetadataResponse) -> bytes:
    try:
        items1 = message.brokers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.host.encode()
            n5 = len(b4) + 1
            b6 = item3.rack
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_iB(item3.node_id, n5) if n5 < 128 else _pack_i(item3.node_id) + uvarint(n5), b4, _pack_iB(item3.port, n7) if n7 < 128 else _pack_i(item3.port) + uvarint(n7), b8, b"\0")
        b9 = message.cluster_id
        b11 = b"" if b9 is None else b9.encode()
        n10 = 0 if b9 is None else len(b11) + 1
        items12 = message.topics
        n13 = len(items12) + 1
        parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b11, _pack_iB(message.controller_id, n13) if n13 < 128 else _pack_i(message.controller_id) + uvarint(n13))
        for item14 in items12:
            b15 = item14.name
            b17 = b"" if b15 is None else b15.encode()
            n16 = 0 if b15 is None else len(b17) + 1
            items18 = item14.partitions
            n19 = len(items18) + 1
            parts += (_pack_hB(item14.error_code, n16) if n16 < 128 else _pack_h(item14.error_code) + uvarint(n16), b17, _pack_16soB(item14.topic_id, item14.is_internal, n19) if n19 < 128 else _pack_16so(item14.topic_id, item14.is_internal) + uvarint(n19))
            for item20 in items18:
                items21 = item20.replica_nodes
                n22 = len(items21) + 1
                items23 = item20.isr_nodes
                n24 = len(items23) + 1
                items25 = item20.offline_replicas
                n26 = len(items25) + 1
                parts += (_pack_hiiiB(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch, n22) if n22 < 128 else _pack_hiii(item20.error_code, item20.partition_index, item20.leader_id, item20.leader_epoch) + uvarint(n22), pack(f">{len(items21)}i", *items21), _pack_B(n24) if n24 < 128 else uvarint(n24), pack(f">{len(items23)}i", *items23), _pack_B(n26) if n26 < 128 else uvarint(n26), pack(f">{len(items25)}i", *items25), b"\0")
            parts.append(_pack_ix(item14.topic_authorized_operations))
        parts.append(_pack_hx(message.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("MetadataResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], MetadataRequest]]] = {
    0: decode_metadata_request_v0,
    1: decode_metadata_request_v1,
    2: decode_metadata_request_v1,
    3: decode_metadata_request_v1,
    4: decode_metadata_request_v4,
    5: decode_metadata_request_v4,
    6: decode_metadata_request_v4,
    7: decode_metadata_request_v4,
    8: decode_metadata_request_v8,
    9: decode_metadata_request_v9,
    10: decode_metadata_request_v10,
    11: decode_metadata_request_v11,
    12: decode_metadata_request_v11,
    13: decode_metadata_request_v11,
}

ENCODE_REQUEST: Final[dict[int, Callable[[MetadataRequest], bytes]]] = {
    0: encode_metadata_request_v0,
    1: encode_metadata_request_v1,
    2: encode_metadata_request_v1,
    3: encode_metadata_request_v1,
    4: encode_metadata_request_v4,
    5: encode_metadata_request_v4,
    6: encode_metadata_request_v4,
    7: encode_metadata_request_v4,
    8: encode_metadata_request_v8,
    9: encode_metadata_request_v9,
    10: encode_metadata_request_v10,
    11: encode_metadata_request_v11,
    12: encode_metadata_request_v11,
    13: encode_metadata_request_v11,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], MetadataResponse]]] = {
    0: decode_metadata_response_v0,
    1: decode_metadata_response_v1,
    2: decode_metadata_response_v2,
    3: decode_metadata_response_v3,
    4: decode_metadata_response_v3,
    5: decode_metadata_response_v5,
    6: decode_metadata_response_v5,
    7: decode_metadata_response_v7,
    8: decode_metadata_response_v8,
    9: decode_metadata_response_v9,
    10: decode_metadata_response_v10,
    11: decode_metadata_response_v11,
    12: decode_metadata_response_v12,
    13: decode_metadata_response_v13,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[MetadataResponse], bytes]]] = {
    0: encode_metadata_response_v0,
    1: encode_metadata_response_v1,
    2: encode_metadata_response_v2,
    3: encode_metadata_response_v3,
    4: encode_metadata_response_v3,
    5: encode_metadata_response_v5,
    6: encode_metadata_response_v5,
    7: encode_metadata_response_v7,
    8: encode_metadata_response_v8,
    9: encode_metadata_response_v9,
    10: encode_metadata_response_v10,
    11: encode_metadata_response_v11,
    12: encode_metadata_response_v12,
    13: encode_metadata_response_v13,
}
