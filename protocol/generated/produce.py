"""Produce: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.produce`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
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

_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_hiB = Struct(">hiB").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihq = Struct(">ihq").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqB = Struct(">ihqqqB").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_ii = Struct(">ii").pack
_pack_iix = Struct(">iix").pack
_pack_ix = Struct(">ix").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hiB = Struct(">hiB").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihq = Struct(">ihq").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqq = Struct(">ihqqq").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from


def decode_produce_request_v0(data: bytes, position: int, left: int) -> ProduceRequest:
    try:
        size = len(data)
        acks, timeout_ms, n1 = _unpack_hii(data, position)
        position += 10
        topic_data: list[TopicProduceData]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topic_data has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[TopicProduceData] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_data_1: list[PartitionProduceData]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("partition_data has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[PartitionProduceData] = []
            for _ in range(n4):
                index_2, n6 = _unpack_ii(data, position)
                position += 8
                records_2: bytes | None
                if n6 >= 0:
                    records_2 = data[position : position + n6]
                    position += n6
                else:
                    records_2 = None
                list5.append(PartitionProduceData(index_2, records_2))
            partition_data_1 = list5
            list2.append(TopicProduceData(name_1, ZERO_UUID, partition_data_1))
        topic_data = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceRequest(None, acks, timeout_ms, topic_data)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_request_v3(data: bytes, position: int, left: int) -> ProduceRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        transactional_id: str | None
        if n1 >= 0:
            transactional_id = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            transactional_id = None
        acks, timeout_ms, n2 = _unpack_hii(data, position)
        position += 10
        topic_data: list[TopicProduceData]
        if n2 < 0 or n2 * 6 > size - position:
            raise DecodeError("topic_data has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[TopicProduceData] = []
        for _ in range(n2):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            partition_data_1: list[PartitionProduceData]
            if n5 < 0 or n5 * 8 > size - position:
                raise DecodeError("partition_data has more elements than bytes, or is null")
            left -= n5
            if left < 0:
                raise TooManyElementsError
            list6: list[PartitionProduceData] = []
            for _ in range(n5):
                index_2, n7 = _unpack_ii(data, position)
                position += 8
                records_2: bytes | None
                if n7 >= 0:
                    records_2 = data[position : position + n7]
                    position += n7
                else:
                    records_2 = None
                list6.append(PartitionProduceData(index_2, records_2))
            partition_data_1 = list6
            list3.append(TopicProduceData(name_1, ZERO_UUID, partition_data_1))
        topic_data = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_request_v9(data: bytes, position: int, left: int) -> ProduceRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id: str | None
        if n1:
            transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            transactional_id = None
        acks, timeout_ms, n2 = _unpack_hiB(data, position)
        position += 7
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        topic_data: list[TopicProduceData]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("topic_data has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[TopicProduceData] = []
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
            partition_data_1: list[PartitionProduceData]
            n5 -= 1
            if n5 < 0 or n5 * 6 > size - position:
                raise DecodeError("partition_data has more elements than bytes, or is null")
            left -= n5
            if left < 0:
                raise TooManyElementsError
            list6: list[PartitionProduceData] = []
            for _ in range(n5):
                index_2, n7 = _unpack_iB(data, position)
                position += 5
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                records_2: bytes | None
                if n7:
                    records_2 = data[position : position + n7 - 1]
                    position += n7 - 1
                else:
                    records_2 = None
                tags8 = data[position]
                position += 1
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    left -= tags8
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags8)
                list6.append(PartitionProduceData(index_2, records_2))
            partition_data_1 = list6
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list3.append(TopicProduceData(name_1, ZERO_UUID, partition_data_1))
        topic_data = list3
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
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_request_v13(data: bytes, position: int, left: int) -> ProduceRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id: str | None
        if n1:
            transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            transactional_id = None
        acks, timeout_ms, n2 = _unpack_hiB(data, position)
        position += 7
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        topic_data: list[TopicProduceData]
        n2 -= 1
        if n2 < 0 or n2 * 18 > size - position:
            raise DecodeError("topic_data has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[TopicProduceData] = []
        for _ in range(n2):
            topic_id_1, n4 = _unpack_16sB(data, position)
            position += 17
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partition_data_1: list[PartitionProduceData]
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partition_data has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[PartitionProduceData] = []
            for _ in range(n4):
                index_2, n6 = _unpack_iB(data, position)
                position += 5
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                records_2: bytes | None
                if n6:
                    records_2 = data[position : position + n6 - 1]
                    position += n6 - 1
                else:
                    records_2 = None
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    left -= tags7
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags7)
                list5.append(PartitionProduceData(index_2, records_2))
            partition_data_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list3.append(TopicProduceData("", topic_id_1, partition_data_1))
        topic_data = list3
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
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_produce_request_v0(message: ProduceRequest) -> bytes:
    try:
        items1 = message.topic_data
        n2 = len(items1)
        parts: list[bytes] = [_pack_hii(message.acks, message.timeout_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_data
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.records
                if b9 is None:
                    b9, n10 = b"", -1
                else:
                    n10 = len(b9)
                parts += (_pack_ii(item8.index, n10), b9)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceRequest", error) from error


def encode_produce_request_v3(message: ProduceRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        items4 = message.topic_data
        n5 = len(items4)
        parts: list[bytes] = [_pack_h(n2), b3, _pack_hii(message.acks, message.timeout_ms, n5)]
        for item6 in items4:
            b7 = item6.name.encode()
            n8 = len(b7)
            items9 = item6.partition_data
            n10 = len(items9)
            parts += (_pack_h(n8), b7, _pack_i(n10))
            for item11 in items9:
                b12 = item11.records
                if b12 is None:
                    b12, n13 = b"", -1
                else:
                    n13 = len(b12)
                parts += (_pack_ii(item11.index, n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceRequest", error) from error


def encode_produce_request_v9(message: ProduceRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.topic_data
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b3, _pack_hiB(message.acks, message.timeout_ms, n5) if n5 < 128 else _pack_hi(message.acks, message.timeout_ms) + uvarint(n5)]
        for item6 in items4:
            b7 = item6.name.encode()
            n8 = len(b7) + 1
            items9 = item6.partition_data
            n10 = len(items9) + 1
            parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
            for item11 in items9:
                b12 = item11.records
                if b12 is None:
                    b12, n13 = b"", 0
                else:
                    n13 = len(b12) + 1
                parts += (_pack_iB(item11.index, n13) if n13 < 128 else _pack_i(item11.index) + uvarint(n13), b12, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceRequest", error) from error


def encode_produce_request_v13(message: ProduceRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.topic_data
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b3, _pack_hiB(message.acks, message.timeout_ms, n5) if n5 < 128 else _pack_hi(message.acks, message.timeout_ms) + uvarint(n5)]
        for item6 in items4:
            items7 = item6.partition_data
            n8 = len(items7) + 1
            parts.append(_pack_16sB(item6.topic_id, n8) if n8 < 128 else _pack_16s(item6.topic_id) + uvarint(n8))
            for item9 in items7:
                b10 = item9.records
                if b10 is None:
                    b10, n11 = b"", 0
                else:
                    n11 = len(b10) + 1
                parts += (_pack_iB(item9.index, n11) if n11 < 128 else _pack_i(item9.index) + uvarint(n11), b10, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceRequest", error) from error


def decode_produce_response_v0(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[TopicProduceResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_responses_1: list[PartitionProduceResponse]
            if n4 < 0 or n4 * 14 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2 = _unpack_ihq(data, position)
                position += 14
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, -1, -1, [], None, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, 0, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v1(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[TopicProduceResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_responses_1: list[PartitionProduceResponse]
            if n4 < 0 or n4 * 14 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2 = _unpack_ihq(data, position)
                position += 14
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, -1, -1, [], None, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        (throttle_time_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v2(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[TopicProduceResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_responses_1: list[PartitionProduceResponse]
            if n4 < 0 or n4 * 22 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2 = _unpack_ihqq(data, position)
                position += 22
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, -1, [], None, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        (throttle_time_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v5(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[TopicProduceResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_responses_1: list[PartitionProduceResponse]
            if n4 < 0 or n4 * 30 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2 = _unpack_ihqqq(data, position)
                position += 30
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, [], None, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        (throttle_time_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v8(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[TopicProduceResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_responses_1: list[PartitionProduceResponse]
            if n4 < 0 or n4 * 36 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, n6 = _unpack_ihqqqi(data, position)
                position += 34
                record_errors_2: list[BatchIndexAndErrorMessage]
                if n6 < 0 or n6 * 6 > size - position:
                    raise DecodeError("record_errors has more elements than bytes, or is null")
                list7: list[BatchIndexAndErrorMessage] = []
                for _ in range(n6):
                    batch_index_3, n8 = _unpack_ih(data, position)
                    position += 6
                    batch_index_error_message_3: str | None
                    if n8 >= 0:
                        batch_index_error_message_3 = data[position : position + n8].decode("utf-8", "replace")
                        position += n8
                    else:
                        batch_index_error_message_3 = None
                    list7.append(BatchIndexAndErrorMessage(batch_index_3, batch_index_error_message_3))
                record_errors_2 = list7
                (n9,) = _unpack_h(data, position)
                position += 2
                error_message_2: str | None
                if n9 >= 0:
                    error_message_2 = data[position : position + n9].decode("utf-8", "replace")
                    position += n9
                else:
                    error_message_2 = None
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, record_errors_2, error_message_2, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        (throttle_time_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v9(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[TopicProduceResponse]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
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
            partition_responses_1: list[PartitionProduceResponse]
            n4 -= 1
            if n4 < 0 or n4 * 33 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, n6 = _unpack_ihqqqB(data, position)
                position += 31
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                record_errors_2: list[BatchIndexAndErrorMessage]
                n6 -= 1
                if n6 < 0 or n6 * 6 > size - position:
                    raise DecodeError("record_errors has more elements than bytes, or is null")
                list7: list[BatchIndexAndErrorMessage] = []
                for _ in range(n6):
                    batch_index_3, n8 = _unpack_iB(data, position)
                    position += 5
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    batch_index_error_message_3: str | None
                    if n8:
                        batch_index_error_message_3 = data[position : position + n8 - 1].decode("utf-8", "replace")
                        position += n8 - 1
                    else:
                        batch_index_error_message_3 = None
                    tags9 = data[position]
                    position += 1
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list7.append(BatchIndexAndErrorMessage(batch_index_3, batch_index_error_message_3))
                record_errors_2 = list7
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                error_message_2: str | None
                if n10:
                    error_message_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    error_message_2 = None
                tags11 = data[position]
                position += 1
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    position = skip_tags(data, position, tags11)
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, record_errors_2, error_message_2, LeaderIdAndEpoch()))
            partition_responses_1 = list5
            tags12 = data[position]
            position += 1
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                position = skip_tags(data, position, tags12)
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        throttle_time_ms, tags13 = _unpack_iB(data, position)
        position += 5
        if tags13:
            if tags13 > 127:
                tags13, position = read_tag_count_tail(data, position, tags13)
            position = skip_tags(data, position, tags13)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v10(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[TopicProduceResponse]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
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
            partition_responses_1: list[PartitionProduceResponse]
            n4 -= 1
            if n4 < 0 or n4 * 33 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list5: list[PartitionProduceResponse] = []
            for _ in range(n4):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, n6 = _unpack_ihqqqB(data, position)
                position += 31
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                record_errors_2: list[BatchIndexAndErrorMessage]
                n6 -= 1
                if n6 < 0 or n6 * 6 > size - position:
                    raise DecodeError("record_errors has more elements than bytes, or is null")
                list7: list[BatchIndexAndErrorMessage] = []
                for _ in range(n6):
                    batch_index_3, n8 = _unpack_iB(data, position)
                    position += 5
                    if n8 > 127:
                        n8, position = read_uvarint_tail(data, position, n8)
                    batch_index_error_message_3: str | None
                    if n8:
                        batch_index_error_message_3 = data[position : position + n8 - 1].decode("utf-8", "replace")
                        position += n8 - 1
                    else:
                        batch_index_error_message_3 = None
                    tags9 = data[position]
                    position += 1
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list7.append(BatchIndexAndErrorMessage(batch_index_3, batch_index_error_message_3))
                record_errors_2 = list7
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                error_message_2: str | None
                if n10:
                    error_message_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    error_message_2 = None
                tags11 = data[position]
                position += 1
                current_leader_2: LeaderIdAndEpoch = LeaderIdAndEpoch()
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    previous13 = -1
                    for _ in range(tags11):
                        tag12, end14, position = read_tag(data, position, previous13)
                        previous13 = tag12
                        if tag12 == 0:
                            leader_id_4, leader_epoch_4, tags15 = _unpack_iiB(data, position)
                            position += 9
                            if tags15:
                                if tags15 > 127:
                                    tags15, position = read_tag_count_tail(data, position, tags15)
                                position = skip_tags(data, position, tags15)
                            current_leader_2 = LeaderIdAndEpoch(leader_id_4, leader_epoch_4)
                            if position != end14:
                                raise DecodeError("current_leader does not fill its tag")
                        position = end14
                list5.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, record_errors_2, error_message_2, current_leader_2))
            partition_responses_1 = list5
            tags16 = data[position]
            position += 1
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list2.append(TopicProduceResponse(name_1, ZERO_UUID, partition_responses_1))
        responses = list2
        throttle_time_ms, tags17 = _unpack_iB(data, position)
        position += 5
        node_endpoints: list[NodeEndpoint] = []
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            previous19 = -1
            for _ in range(tags17):
                tag18, end20, position = read_tag(data, position, previous19)
                previous19 = tag18
                if tag18 == 0:
                    n21 = data[position]
                    position += 1
                    if n21 > 127:
                        n21, position = read_uvarint_tail(data, position, n21)
                    n21 -= 1
                    if n21 < 0 or n21 * 11 > size - position:
                        raise DecodeError("node_endpoints has more elements than bytes, or is null")
                    list22: list[NodeEndpoint] = []
                    for _ in range(n21):
                        node_id_5, n23 = _unpack_iB(data, position)
                        position += 5
                        if n23 > 127:
                            n23, position = read_uvarint_tail(data, position, n23)
                        if not n23:
                            raise DecodeError("host is null")
                        host_5 = data[position : position + n23 - 1].decode("utf-8", "replace")
                        position += n23 - 1
                        port_5, n24 = _unpack_iB(data, position)
                        position += 5
                        if n24 > 127:
                            n24, position = read_uvarint_tail(data, position, n24)
                        rack_5: str | None
                        if n24:
                            rack_5 = data[position : position + n24 - 1].decode("utf-8", "replace")
                            position += n24 - 1
                        else:
                            rack_5 = None
                        tags25 = data[position]
                        position += 1
                        if tags25:
                            if tags25 > 127:
                                tags25, position = read_tag_count_tail(data, position, tags25)
                            position = skip_tags(data, position, tags25)
                        list22.append(NodeEndpoint(node_id_5, host_5, port_5, rack_5))
                    node_endpoints = list22
                    if position != end20:
                        raise DecodeError("node_endpoints does not fill its tag")
                position = end20
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, node_endpoints)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_produce_response_v13(data: bytes, position: int) -> ProduceResponse:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[TopicProduceResponse]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[TopicProduceResponse] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partition_responses_1: list[PartitionProduceResponse]
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - position:
                raise DecodeError("partition_responses has more elements than bytes, or is null")
            list4: list[PartitionProduceResponse] = []
            for _ in range(n3):
                index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, n5 = _unpack_ihqqqB(data, position)
                position += 31
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                record_errors_2: list[BatchIndexAndErrorMessage]
                n5 -= 1
                if n5 < 0 or n5 * 6 > size - position:
                    raise DecodeError("record_errors has more elements than bytes, or is null")
                list6: list[BatchIndexAndErrorMessage] = []
                for _ in range(n5):
                    batch_index_3, n7 = _unpack_iB(data, position)
                    position += 5
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    batch_index_error_message_3: str | None
                    if n7:
                        batch_index_error_message_3 = data[position : position + n7 - 1].decode("utf-8", "replace")
                        position += n7 - 1
                    else:
                        batch_index_error_message_3 = None
                    tags8 = data[position]
                    position += 1
                    if tags8:
                        if tags8 > 127:
                            tags8, position = read_tag_count_tail(data, position, tags8)
                        position = skip_tags(data, position, tags8)
                    list6.append(BatchIndexAndErrorMessage(batch_index_3, batch_index_error_message_3))
                record_errors_2 = list6
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                error_message_2: str | None
                if n9:
                    error_message_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                    position += n9 - 1
                else:
                    error_message_2 = None
                tags10 = data[position]
                position += 1
                current_leader_2: LeaderIdAndEpoch = LeaderIdAndEpoch()
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    previous12 = -1
                    for _ in range(tags10):
                        tag11, end13, position = read_tag(data, position, previous12)
                        previous12 = tag11
                        if tag11 == 0:
                            leader_id_4, leader_epoch_4, tags14 = _unpack_iiB(data, position)
                            position += 9
                            if tags14:
                                if tags14 > 127:
                                    tags14, position = read_tag_count_tail(data, position, tags14)
                                position = skip_tags(data, position, tags14)
                            current_leader_2 = LeaderIdAndEpoch(leader_id_4, leader_epoch_4)
                            if position != end13:
                                raise DecodeError("current_leader does not fill its tag")
                        position = end13
                list4.append(PartitionProduceResponse(index_2, error_code_2, base_offset_2, log_append_time_ms_2, log_start_offset_2, record_errors_2, error_message_2, current_leader_2))
            partition_responses_1 = list4
            tags15 = data[position]
            position += 1
            if tags15:
                if tags15 > 127:
                    tags15, position = read_tag_count_tail(data, position, tags15)
                position = skip_tags(data, position, tags15)
            list2.append(TopicProduceResponse("", topic_id_1, partition_responses_1))
        responses = list2
        throttle_time_ms, tags16 = _unpack_iB(data, position)
        position += 5
        node_endpoints: list[NodeEndpoint] = []
        if tags16:
            if tags16 > 127:
                tags16, position = read_tag_count_tail(data, position, tags16)
            previous18 = -1
            for _ in range(tags16):
                tag17, end19, position = read_tag(data, position, previous18)
                previous18 = tag17
                if tag17 == 0:
                    n20 = data[position]
                    position += 1
                    if n20 > 127:
                        n20, position = read_uvarint_tail(data, position, n20)
                    n20 -= 1
                    if n20 < 0 or n20 * 11 > size - position:
                        raise DecodeError("node_endpoints has more elements than bytes, or is null")
                    list21: list[NodeEndpoint] = []
                    for _ in range(n20):
                        node_id_5, n22 = _unpack_iB(data, position)
                        position += 5
                        if n22 > 127:
                            n22, position = read_uvarint_tail(data, position, n22)
                        if not n22:
                            raise DecodeError("host is null")
                        host_5 = data[position : position + n22 - 1].decode("utf-8", "replace")
                        position += n22 - 1
                        port_5, n23 = _unpack_iB(data, position)
                        position += 5
                        if n23 > 127:
                            n23, position = read_uvarint_tail(data, position, n23)
                        rack_5: str | None
                        if n23:
                            rack_5 = data[position : position + n23 - 1].decode("utf-8", "replace")
                            position += n23 - 1
                        else:
                            rack_5 = None
                        tags24 = data[position]
                        position += 1
                        if tags24:
                            if tags24 > 127:
                                tags24, position = read_tag_count_tail(data, position, tags24)
                            position = skip_tags(data, position, tags24)
                        list21.append(NodeEndpoint(node_id_5, host_5, port_5, rack_5))
                    node_endpoints = list21
                    if position != end19:
                        raise DecodeError("node_endpoints does not fill its tag")
                position = end19
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ProduceResponse(responses, throttle_time_ms, node_endpoints)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_produce_response_v0(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_responses
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihq(item8.index, item8.error_code, item8.base_offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v1(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_responses
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihq(item8.index, item8.error_code, item8.base_offset))
        parts.append(_pack_i(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v2(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_responses
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihqq(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms))
        parts.append(_pack_i(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v5(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_responses
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ihqqq(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset))
        parts.append(_pack_i(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v8(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partition_responses
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.record_errors
                n10 = len(items9)
                parts.append(_pack_ihqqqi(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset, n10))
                for item11 in items9:
                    b12 = item11.batch_index_error_message
                    b14 = b"" if b12 is None else b12.encode()
                    n13 = -1 if b12 is None else len(b14)
                    parts += (_pack_ih(item11.batch_index, n13), b14)
                b15 = item8.error_message
                b17 = b"" if b15 is None else b15.encode()
                n16 = -1 if b15 is None else len(b17)
                parts += (_pack_h(n16), b17)
        parts.append(_pack_i(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v9(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_responses
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.record_errors
                n10 = len(items9) + 1
                parts.append(_pack_ihqqqB(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset, n10) if n10 < 128 else _pack_ihqqq(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset) + uvarint(n10))
                for item11 in items9:
                    b12 = item11.batch_index_error_message
                    b14 = b"" if b12 is None else b12.encode()
                    n13 = 0 if b12 is None else len(b14) + 1
                    parts += (_pack_iB(item11.batch_index, n13) if n13 < 128 else _pack_i(item11.batch_index) + uvarint(n13), b14, b"\0")
                b15 = item8.error_message
                b17 = b"" if b15 is None else b15.encode()
                n16 = 0 if b15 is None else len(b17) + 1
                parts += (_pack_B(n16) if n16 < 128 else uvarint(n16), b17, b"\0")
            parts.append(b"\0")
        parts.append(_pack_ix(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v10(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_responses
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.record_errors
                n10 = len(items9) + 1
                parts.append(_pack_ihqqqB(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset, n10) if n10 < 128 else _pack_ihqqq(item8.index, item8.error_code, item8.base_offset, item8.log_append_time_ms, item8.log_start_offset) + uvarint(n10))
                for item11 in items9:
                    b12 = item11.batch_index_error_message
                    b14 = b"" if b12 is None else b12.encode()
                    n13 = 0 if b12 is None else len(b14) + 1
                    parts += (_pack_iB(item11.batch_index, n13) if n13 < 128 else _pack_i(item11.batch_index) + uvarint(n13), b14, b"\0")
                b15 = item8.error_message
                b17 = b"" if b15 is None else b15.encode()
                n16 = 0 if b15 is None else len(b17) + 1
                parts += (_pack_B(n16) if n16 < 128 else uvarint(n16), b17)
                count18 = 0
                tags19: list[bytes] = []
                if item8.current_leader.leader_id != -1 or item8.current_leader.leader_epoch != -1:
                    struct21 = item8.current_leader
                    parts20: list[bytes] = [_pack_iix(struct21.leader_id, struct21.leader_epoch)]
                    body22 = b"".join(parts20)
                    tags19 += (uvarint(0), uvarint(len(body22)), body22)
                    count18 += 1
                parts += (uvarint(count18), *tags19)
            parts.append(b"\0")
        parts.append(_pack_i(message.throttle_time_ms))
        count23 = 0
        tags24: list[bytes] = []
        if message.node_endpoints:
            items26 = message.node_endpoints
            n27 = len(items26) + 1
            parts25: list[bytes] = [_pack_B(n27) if n27 < 128 else uvarint(n27)]
            for item28 in items26:
                b29 = item28.host.encode()
                n30 = len(b29) + 1
                b31 = item28.rack
                b33 = b"" if b31 is None else b31.encode()
                n32 = 0 if b31 is None else len(b33) + 1
                parts25 += (_pack_iB(item28.node_id, n30) if n30 < 128 else _pack_i(item28.node_id) + uvarint(n30), b29, _pack_iB(item28.port, n32) if n32 < 128 else _pack_i(item28.port) + uvarint(n32), b33, b"\0")
            body34 = b"".join(parts25)
            tags24 += (uvarint(0), uvarint(len(body34)), body34)
            count23 += 1
        parts += (uvarint(count23), *tags24)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


def encode_produce_response_v13(message: ProduceResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            items4 = item3.partition_responses
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                items7 = item6.record_errors
                n8 = len(items7) + 1
                parts.append(_pack_ihqqqB(item6.index, item6.error_code, item6.base_offset, item6.log_append_time_ms, item6.log_start_offset, n8) if n8 < 128 else _pack_ihqqq(item6.index, item6.error_code, item6.base_offset, item6.log_append_time_ms, item6.log_start_offset) + uvarint(n8))
                for item9 in items7:
                    b10 = item9.batch_index_error_message
                    b12 = b"" if b10 is None else b10.encode()
                    n11 = 0 if b10 is None else len(b12) + 1
                    parts += (_pack_iB(item9.batch_index, n11) if n11 < 128 else _pack_i(item9.batch_index) + uvarint(n11), b12, b"\0")
                b13 = item6.error_message
                b15 = b"" if b13 is None else b13.encode()
                n14 = 0 if b13 is None else len(b15) + 1
                parts += (_pack_B(n14) if n14 < 128 else uvarint(n14), b15)
                count16 = 0
                tags17: list[bytes] = []
                if item6.current_leader.leader_id != -1 or item6.current_leader.leader_epoch != -1:
                    struct19 = item6.current_leader
                    parts18: list[bytes] = [_pack_iix(struct19.leader_id, struct19.leader_epoch)]
                    body20 = b"".join(parts18)
                    tags17 += (uvarint(0), uvarint(len(body20)), body20)
                    count16 += 1
                parts += (uvarint(count16), *tags17)
            parts.append(b"\0")
        parts.append(_pack_i(message.throttle_time_ms))
        count21 = 0
        tags22: list[bytes] = []
        if message.node_endpoints:
            items24 = message.node_endpoints
            n25 = len(items24) + 1
            parts23: list[bytes] = [_pack_B(n25) if n25 < 128 else uvarint(n25)]
            for item26 in items24:
                b27 = item26.host.encode()
                n28 = len(b27) + 1
                b29 = item26.rack
                b31 = b"" if b29 is None else b29.encode()
                n30 = 0 if b29 is None else len(b31) + 1
                parts23 += (_pack_iB(item26.node_id, n28) if n28 < 128 else _pack_i(item26.node_id) + uvarint(n28), b27, _pack_iB(item26.port, n30) if n30 < 128 else _pack_i(item26.port) + uvarint(n30), b31, b"\0")
            body32 = b"".join(parts23)
            tags22 += (uvarint(0), uvarint(len(body32)), body32)
            count21 += 1
        parts += (uvarint(count21), *tags22)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ProduceResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ProduceRequest]]] = {
    0: decode_produce_request_v0,
    1: decode_produce_request_v0,
    2: decode_produce_request_v0,
    3: decode_produce_request_v3,
    4: decode_produce_request_v3,
    5: decode_produce_request_v3,
    6: decode_produce_request_v3,
    7: decode_produce_request_v3,
    8: decode_produce_request_v3,
    9: decode_produce_request_v9,
    10: decode_produce_request_v9,
    11: decode_produce_request_v9,
    12: decode_produce_request_v9,
    13: decode_produce_request_v13,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ProduceRequest], bytes]]] = {
    0: encode_produce_request_v0,
    1: encode_produce_request_v0,
    2: encode_produce_request_v0,
    3: encode_produce_request_v3,
    4: encode_produce_request_v3,
    5: encode_produce_request_v3,
    6: encode_produce_request_v3,
    7: encode_produce_request_v3,
    8: encode_produce_request_v3,
    9: encode_produce_request_v9,
    10: encode_produce_request_v9,
    11: encode_produce_request_v9,
    12: encode_produce_request_v9,
    13: encode_produce_request_v13,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ProduceResponse]]] = {
    0: decode_produce_response_v0,
    1: decode_produce_response_v1,
    2: decode_produce_response_v2,
    3: decode_produce_response_v2,
    4: decode_produce_response_v2,
    5: decode_produce_response_v5,
    6: decode_produce_response_v5,
    7: decode_produce_response_v5,
    8: decode_produce_response_v8,
    9: decode_produce_response_v9,
    10: decode_produce_response_v10,
    11: decode_produce_response_v10,
    12: decode_produce_response_v10,
    13: decode_produce_response_v13,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ProduceResponse], bytes]]] = {
    0: encode_produce_response_v0,
    1: encode_produce_response_v1,
    2: encode_produce_response_v2,
    3: encode_produce_response_v2,
    4: encode_produce_response_v2,
    5: encode_produce_response_v5,
    6: encode_produce_response_v5,
    7: encode_produce_response_v5,
    8: encode_produce_response_v8,
    9: encode_produce_response_v9,
    10: encode_produce_response_v10,
    11: encode_produce_response_v10,
    12: encode_produce_response_v10,
    13: encode_produce_response_v13,
}
