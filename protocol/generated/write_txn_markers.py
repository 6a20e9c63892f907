"""WriteTxnMarkers: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.write_txn_markers`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
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
_pack_ibx = Struct(">ibx").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_pack_ix = Struct(">ix").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_pack_qho = Struct(">qh?").pack
_pack_qhoB = Struct(">qh?B").pack
_pack_qhoi = Struct(">qh?i").pack
_pack_qi = Struct(">qi").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qhoB = Struct(">qh?B").unpack_from
_unpack_qhoi = Struct(">qh?i").unpack_from
_unpack_qi = Struct(">qi").unpack_from


def decode_write_txn_markers_request_v0(data: bytes, position: int, left: int) -> WriteTxnMarkersRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        markers: list[WritableTxnMarker]
        if n1 < 0 or n1 * 19 > size - position:
            raise DecodeError("markers has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[WritableTxnMarker] = []
        for _ in range(n1):
            producer_id_1, producer_epoch_1, transaction_result_1, n3 = _unpack_qhoi(data, position)
            position += 15
            topics_1: list[WritableTxnMarkerTopic]
            if n3 < 0 or n3 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[WritableTxnMarkerTopic] = []
            for _ in range(n3):
                (n5,) = _unpack_h(data, position)
                position += 2
                if n5 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
                (n6,) = _unpack_i(data, position)
                position += 4
                partition_indexes_2: list[int]
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_2 = list(unpack_from(f">{n6}i", data, position))
                position += n6 * 4
                list4.append(WritableTxnMarkerTopic(name_2, partition_indexes_2))
            topics_1 = list4
            (coordinator_epoch_1,) = _unpack_i(data, position)
            position += 4
            list2.append(WritableTxnMarker(producer_id_1, producer_epoch_1, transaction_result_1, topics_1, coordinator_epoch_1, 0))
        markers = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return WriteTxnMarkersRequest(markers)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_write_txn_markers_request_v1(data: bytes, position: int, left: int) -> WriteTxnMarkersRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        markers: list[WritableTxnMarker]
        n1 -= 1
        if n1 < 0 or n1 * 17 > size - position:
            raise DecodeError("markers has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[WritableTxnMarker] = []
        for _ in range(n1):
            producer_id_1, producer_epoch_1, transaction_result_1, n3 = _unpack_qhoB(data, position)
            position += 12
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            topics_1: list[WritableTxnMarkerTopic]
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[WritableTxnMarkerTopic] = []
            for _ in range(n3):
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                    if n5 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n5:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                partition_indexes_2: list[int]
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_2 = list(unpack_from(f">{n6}i", data, position))
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
                list4.append(WritableTxnMarkerTopic(name_2, partition_indexes_2))
            topics_1 = list4
            coordinator_epoch_1, tags8 = _unpack_iB(data, position)
            position += 5
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(WritableTxnMarker(producer_id_1, producer_epoch_1, transaction_result_1, topics_1, coordinator_epoch_1, 0))
        markers = list2
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
        return WriteTxnMarkersRequest(markers)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_write_txn_markers_request_v2(data: bytes, position: int, left: int) -> WriteTxnMarkersRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        markers: list[WritableTxnMarker]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("markers has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[WritableTxnMarker] = []
        for _ in range(n1):
            producer_id_1, producer_epoch_1, transaction_result_1, n3 = _unpack_qhoB(data, position)
            position += 12
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            topics_1: list[WritableTxnMarkerTopic]
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[WritableTxnMarkerTopic] = []
            for _ in range(n3):
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                    if n5 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n5:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                partition_indexes_2: list[int]
                n6 -= 1
                if n6 < 0 or n6 * 4 > size - position:
                    raise DecodeError("partition_indexes has more elements than bytes, or is null")
                left -= n6 + 7 >> 3
                if left < 0:
                    raise TooManyElementsError
                partition_indexes_2 = list(unpack_from(f">{n6}i", data, position))
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
                list4.append(WritableTxnMarkerTopic(name_2, partition_indexes_2))
            topics_1 = list4
            coordinator_epoch_1, transaction_version_1, tags8 = _unpack_ibB(data, position)
            position += 6
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(WritableTxnMarker(producer_id_1, producer_epoch_1, transaction_result_1, topics_1, coordinator_epoch_1, transaction_version_1))
        markers = list2
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
        return WriteTxnMarkersRequest(markers)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_write_txn_markers_request_v0(message: WriteTxnMarkersRequest) -> bytes:
    try:
        items1 = message.markers
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            items4 = item3.topics
            n5 = len(items4)
            parts.append(_pack_qhoi(item3.producer_id, item3.producer_epoch, item3.transaction_result, n5))
            for item6 in items4:
                b7 = item6.name.encode()
                n8 = len(b7)
                items9 = item6.partition_indexes
                n10 = len(items9)
                parts += (_pack_h(n8), b7, _pack_i(n10), pack(f">{len(items9)}i", *items9))
            parts.append(_pack_i(item3.coordinator_epoch))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("WriteTxnMarkersRequest", error) from error


def encode_write_txn_markers_request_v1(message: WriteTxnMarkersRequest) -> bytes:
    try:
        items1 = message.markers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            items4 = item3.topics
            n5 = len(items4) + 1
            parts.append(_pack_qhoB(item3.producer_id, item3.producer_epoch, item3.transaction_result, n5) if n5 < 128 else _pack_qho(item3.producer_id, item3.producer_epoch, item3.transaction_result) + uvarint(n5))
            for item6 in items4:
                b7 = item6.name.encode()
                n8 = len(b7) + 1
                items9 = item6.partition_indexes
                n10 = len(items9) + 1
                parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            parts.append(_pack_ix(item3.coordinator_epoch))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("WriteTxnMarkersRequest", error) from error


def encode_write_txn_markers_request_v2(message: WriteTxnMarkersRequest) -> bytes:
    try:
        items1 = message.markers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            items4 = item3.topics
            n5 = len(items4) + 1
            parts.append(_pack_qhoB(item3.producer_id, item3.producer_epoch, item3.transaction_result, n5) if n5 < 128 else _pack_qho(item3.producer_id, item3.producer_epoch, item3.transaction_result) + uvarint(n5))
            for item6 in items4:
                b7 = item6.name.encode()
                n8 = len(b7) + 1
                items9 = item6.partition_indexes
                n10 = len(items9) + 1
                parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            parts.append(_pack_ibx(item3.coordinator_epoch, item3.transaction_version))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("WriteTxnMarkersRequest", error) from error


def decode_write_txn_markers_response_v0(data: bytes, position: int) -> WriteTxnMarkersResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        markers: list[WritableTxnMarkerResult]
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("markers has more elements than bytes, or is null")
        list2: list[WritableTxnMarkerResult] = []
        for _ in range(n1):
            producer_id_1, n3 = _unpack_qi(data, position)
            position += 12
            topics_1: list[WritableTxnMarkerTopicResult]
            if n3 < 0 or n3 * 6 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list4: list[WritableTxnMarkerTopicResult] = []
            for _ in range(n3):
                (n5,) = _unpack_h(data, position)
                position += 2
                if n5 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
                (n6,) = _unpack_i(data, position)
                position += 4
                partitions_2: list[WritableTxnMarkerPartitionResult]
                if n6 < 0 or n6 * 6 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list7: list[WritableTxnMarkerPartitionResult] = []
                for _ in range(n6):
                    partition_index_3, error_code_3 = _unpack_ih(data, position)
                    position += 6
                    list7.append(WritableTxnMarkerPartitionResult(partition_index_3, error_code_3))
                partitions_2 = list7
                list4.append(WritableTxnMarkerTopicResult(name_2, partitions_2))
            topics_1 = list4
            list2.append(WritableTxnMarkerResult(producer_id_1, topics_1))
        markers = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return WriteTxnMarkersResponse(markers)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_write_txn_markers_response_v1(data: bytes, position: int) -> WriteTxnMarkersResponse:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        markers: list[WritableTxnMarkerResult]
        n1 -= 1
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("markers has more elements than bytes, or is null")
        list2: list[WritableTxnMarkerResult] = []
        for _ in range(n1):
            producer_id_1, n3 = _unpack_qB(data, position)
            position += 9
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            topics_1: list[WritableTxnMarkerTopicResult]
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list4: list[WritableTxnMarkerTopicResult] = []
            for _ in range(n3):
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                if not n5:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                partitions_2: list[WritableTxnMarkerPartitionResult]
                n6 -= 1
                if n6 < 0 or n6 * 7 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                list7: list[WritableTxnMarkerPartitionResult] = []
                for _ in range(n6):
                    partition_index_3, error_code_3, tags8 = _unpack_ihB(data, position)
                    position += 7
                    if tags8:
                        if tags8 > 127:
                            tags8, position = read_tag_count_tail(data, position, tags8)
                        position = skip_tags(data, position, tags8)
                    list7.append(WritableTxnMarkerPartitionResult(partition_index_3, error_code_3))
                partitions_2 = list7
                tags9 = data[position]
                position += 1
                if tags9:
                    if tags9 > 127:
                        tags9, position = read_tag_count_tail(data, position, tags9)
                    position = skip_tags(data, position, tags9)
                list4.append(WritableTxnMarkerTopicResult(name_2, partitions_2))
            topics_1 = list4
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                position = skip_tags(data, position, tags10)
            list2.append(WritableTxnMarkerResult(producer_id_1, topics_1))
        markers = list2
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return WriteTxnMarkersResponse(markers)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_write_txn_markers_response_v0(message: WriteTxnMarkersResponse) -> bytes:
    try:
        items1 = message.markers
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            items4 = item3.topics
            n5 = len(items4)
            parts.append(_pack_qi(item3.producer_id, n5))
            for item6 in items4:
                b7 = item6.name.encode()
                n8 = len(b7)
                items9 = item6.partitions
                n10 = len(items9)
                parts += (_pack_h(n8), b7, _pack_i(n10))
                for item11 in items9:
                    parts.append(_pack_ih(item11.partition_index, item11.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("WriteTxnMarkersResponse", error) from error


def encode_write_txn_markers_response_v1(message: WriteTxnMarkersResponse) -> bytes:
    try:
        items1 = message.markers
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            items4 = item3.topics
            n5 = len(items4) + 1
            parts.append(_pack_qB(item3.producer_id, n5) if n5 < 128 else _pack_q(item3.producer_id) + uvarint(n5))
            for item6 in items4:
                b7 = item6.name.encode()
                n8 = len(b7) + 1
                items9 = item6.partitions
                n10 = len(items9) + 1
                parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
                for item11 in items9:
                    parts.append(_pack_ihx(item11.partition_index, item11.error_code))
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("WriteTxnMarkersResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], WriteTxnMarkersRequest]]] = {
    0: decode_write_txn_markers_request_v0,
    1: decode_write_txn_markers_request_v1,
    2: decode_write_txn_markers_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[WriteTxnMarkersRequest], bytes]]] = {
    0: encode_write_txn_markers_request_v0,
    1: encode_write_txn_markers_request_v1,
    2: encode_write_txn_markers_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], WriteTxnMarkersResponse]]] = {
    0: decode_write_txn_markers_response_v0,
    1: decode_write_txn_markers_response_v1,
    2: decode_write_txn_markers_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[WriteTxnMarkersResponse], bytes]]] = {
    0: encode_write_txn_markers_response_v0,
    1: encode_write_txn_markers_response_v1,
    2: encode_write_txn_markers_response_v1,
}
