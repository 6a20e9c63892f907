"""ElectLeaders: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.elect_leaders`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
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
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_bi = Struct(">bi").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from


def decode_elect_leaders_request_v0(data: bytes, position: int, left: int) -> ElectLeadersRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topic_partitions: list[TopicPartitions] | None
        if n1 < 0:
            topic_partitions = None
        else:
            if n1 < 0 or n1 * 6 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[TopicPartitions] = []
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
                list2.append(TopicPartitions(topic_1, partitions_1))
            topic_partitions = list2
        (timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersRequest(0, topic_partitions, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_elect_leaders_request_v1(data: bytes, position: int, left: int) -> ElectLeadersRequest:
    try:
        size = len(data)
        election_type, n1 = _unpack_bi(data, position)
        position += 5
        topic_partitions: list[TopicPartitions] | None
        if n1 < 0:
            topic_partitions = None
        else:
            if n1 < 0 or n1 * 6 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[TopicPartitions] = []
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
                list2.append(TopicPartitions(topic_1, partitions_1))
            topic_partitions = list2
        (timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersRequest(election_type, topic_partitions, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_elect_leaders_request_v2(data: bytes, position: int, left: int) -> ElectLeadersRequest:
    try:
        size = len(data)
        election_type, n1 = _unpack_bB(data, position)
        position += 2
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topic_partitions: list[TopicPartitions] | None
        if not n1:
            topic_partitions = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - position:
                raise DecodeError("topic_partitions has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[TopicPartitions] = []
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
                list2.append(TopicPartitions(topic_1, partitions_1))
            topic_partitions = list2
        timeout_ms, tags6 = _unpack_iB(data, position)
        position += 5
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            left -= tags6
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersRequest(election_type, topic_partitions, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_elect_leaders_request_v0(message: ElectLeadersRequest) -> bytes:
    try:
        items1 = message.topic_partitions
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
        parts.append(_pack_i(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersRequest", error) from error


def encode_elect_leaders_request_v1(message: ElectLeadersRequest) -> bytes:
    try:
        items1 = message.topic_partitions
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_bi(message.election_type, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        parts.append(_pack_i(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersRequest", error) from error


def encode_elect_leaders_request_v2(message: ElectLeadersRequest) -> bytes:
    try:
        items1 = message.topic_partitions
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_bB(message.election_type, n2) if n2 < 128 else _pack_b(message.election_type) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}i", *items6), b"\0")
        parts.append(_pack_ix(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersRequest", error) from error


def decode_elect_leaders_response_v0(data: bytes, position: int) -> ElectLeadersResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        replica_election_results: list[ReplicaElectionResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("replica_election_results has more elements than bytes, or is null")
        list2: list[ReplicaElectionResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_result_1: list[PartitionResult]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("partition_result has more elements than bytes, or is null")
            list5: list[PartitionResult] = []
            for _ in range(n4):
                partition_id_2, error_code_2, n6 = _unpack_ihh(data, position)
                position += 8
                error_message_2: str | None
                if n6 >= 0:
                    error_message_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    error_message_2 = None
                list5.append(PartitionResult(partition_id_2, error_code_2, error_message_2))
            partition_result_1 = list5
            list2.append(ReplicaElectionResult(topic_1, partition_result_1))
        replica_election_results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersResponse(throttle_time_ms, 0, replica_election_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_elect_leaders_response_v1(data: bytes, position: int) -> ElectLeadersResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihi(data, position)
        position += 10
        replica_election_results: list[ReplicaElectionResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("replica_election_results has more elements than bytes, or is null")
        list2: list[ReplicaElectionResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partition_result_1: list[PartitionResult]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("partition_result has more elements than bytes, or is null")
            list5: list[PartitionResult] = []
            for _ in range(n4):
                partition_id_2, error_code_2, n6 = _unpack_ihh(data, position)
                position += 8
                error_message_2: str | None
                if n6 >= 0:
                    error_message_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    error_message_2 = None
                list5.append(PartitionResult(partition_id_2, error_code_2, error_message_2))
            partition_result_1 = list5
            list2.append(ReplicaElectionResult(topic_1, partition_result_1))
        replica_election_results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_elect_leaders_response_v2(data: bytes, position: int) -> ElectLeadersResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        replica_election_results: list[ReplicaElectionResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("replica_election_results has more elements than bytes, or is null")
        list2: list[ReplicaElectionResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partition_result_1: list[PartitionResult]
            n4 -= 1
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("partition_result has more elements than bytes, or is null")
            list5: list[PartitionResult] = []
            for _ in range(n4):
                partition_id_2, error_code_2, n6 = _unpack_ihB(data, position)
                position += 7
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                error_message_2: str | None
                if n6:
                    error_message_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                else:
                    error_message_2 = None
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    position = skip_tags(data, position, tags7)
                list5.append(PartitionResult(partition_id_2, error_code_2, error_message_2))
            partition_result_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                position = skip_tags(data, position, tags8)
            list2.append(ReplicaElectionResult(topic_1, partition_result_1))
        replica_election_results = list2
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_elect_leaders_response_v0(message: ElectLeadersResponse) -> bytes:
    try:
        items1 = message.replica_election_results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partition_result
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.error_message
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_ihh(item8.partition_id, item8.error_code, n10), b11)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersResponse", error) from error


def encode_elect_leaders_response_v1(message: ElectLeadersResponse) -> bytes:
    try:
        items1 = message.replica_election_results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ihi(message.throttle_time_ms, message.error_code, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partition_result
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.error_message
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_ihh(item8.partition_id, item8.error_code, n10), b11)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersResponse", error) from error


def encode_elect_leaders_response_v2(message: ElectLeadersResponse) -> bytes:
    try:
        items1 = message.replica_election_results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_result
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.error_message
                b11 = b"" if b9 is None else b9.encode()
                n10 = 0 if b9 is None else len(b11) + 1
                parts += (_pack_ihB(item8.partition_id, item8.error_code, n10) if n10 < 128 else _pack_ih(item8.partition_id, item8.error_code) + uvarint(n10), b11, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ElectLeadersResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ElectLeadersRequest]]] = {
    0: decode_elect_leaders_request_v0,
    1: decode_elect_leaders_request_v1,
    2: decode_elect_leaders_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ElectLeadersRequest], bytes]]] = {
    0: encode_elect_leaders_request_v0,
    1: encode_elect_leaders_request_v1,
    2: encode_elect_leaders_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ElectLeadersResponse]]] = {
    0: decode_elect_leaders_response_v0,
    1: decode_elect_leaders_response_v1,
    2: decode_elect_leaders_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ElectLeadersResponse], bytes]]] = {
    0: encode_elect_leaders_response_v0,
    1: encode_elect_leaders_response_v1,
    2: encode_elect_leaders_response_v2,
}
