"""AddPartitionsToTxn: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.add_partitions_to_txn`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
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
_pack_ihB = Struct(">ihB").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack
_pack_qh = Struct(">qh").pack
_pack_qhB = Struct(">qhB").pack
_pack_qhi = Struct(">qhi").pack
_pack_qho = Struct(">qh?").pack
_pack_qhoB = Struct(">qh?B").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_unpack_qhoB = Struct(">qh?B").unpack_from


def decode_add_partitions_to_txn_request_v0(data: bytes, position: int, left: int) -> AddPartitionsToTxnRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("v3_and_below_transactional_id is null")
        v3_and_below_transactional_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        v3_and_below_producer_id, v3_and_below_producer_epoch, n2 = _unpack_qhi(data, position)
        position += 14
        v3_and_below_topics: list[AddPartitionsToTxnTopic]
        if n2 < 0 or n2 * 6 > size - position:
            raise DecodeError("v3_and_below_topics has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[AddPartitionsToTxnTopic] = []
        for _ in range(n2):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[int]
            if n5 < 0 or n5 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n5 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_1 = list(unpack_from(f">{n5}i", data, position))
            position += n5 * 4
            list3.append(AddPartitionsToTxnTopic(name_1, partitions_1))
        v3_and_below_topics = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_partitions_to_txn_request_v3(data: bytes, position: int, left: int) -> AddPartitionsToTxnRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("v3_and_below_transactional_id is null")
        v3_and_below_transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        v3_and_below_producer_id, v3_and_below_producer_epoch, n2 = _unpack_qhB(data, position)
        position += 11
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        v3_and_below_topics: list[AddPartitionsToTxnTopic]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("v3_and_below_topics has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[AddPartitionsToTxnTopic] = []
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
            partitions_1: list[int]
            n5 -= 1
            if n5 < 0 or n5 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n5 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_1 = list(unpack_from(f">{n5}i", data, position))
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
            list3.append(AddPartitionsToTxnTopic(name_1, partitions_1))
        v3_and_below_topics = list3
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
        return AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_partitions_to_txn_request_v4(data: bytes, position: int, left: int) -> AddPartitionsToTxnRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        transactions: list[AddPartitionsToTxnTransaction]
        n1 -= 1
        if n1 < 0 or n1 * 14 > size - position:
            raise DecodeError("transactions has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AddPartitionsToTxnTransaction] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("transactional_id is null")
            transactional_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            producer_id_1, producer_epoch_1, verify_only_1, n4 = _unpack_qhoB(data, position)
            position += 12
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topics_1: list[AddPartitionsToTxnTopic]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[AddPartitionsToTxnTopic] = []
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
                list5.append(AddPartitionsToTxnTopic(name_2, partitions_2))
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
            list2.append(AddPartitionsToTxnTransaction(transactional_id_1, producer_id_1, producer_epoch_1, verify_only_1, topics_1))
        transactions = list2
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
        return AddPartitionsToTxnRequest(transactions, "", 0, 0, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_add_partitions_to_txn_request_v0(message: AddPartitionsToTxnRequest) -> bytes:
    try:
        b1 = message.v3_and_below_transactional_id.encode()
        n2 = len(b1)
        items3 = message.v3_and_below_topics
        n4 = len(items3)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_qhi(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch, n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6)
            items8 = item5.partitions
            n9 = len(items8)
            parts += (_pack_h(n7), b6, _pack_i(n9), pack(f">{len(items8)}i", *items8))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AddPartitionsToTxnRequest", error) from error


def encode_add_partitions_to_txn_request_v3(message: AddPartitionsToTxnRequest) -> bytes:
    try:
        b1 = message.v3_and_below_transactional_id.encode()
        n2 = len(b1) + 1
        items3 = message.v3_and_below_topics
        n4 = len(items3) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_qhB(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch, n4) if n4 < 128 else _pack_qh(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch) + uvarint(n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6) + 1
            items8 = item5.partitions
            n9 = len(items8) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), pack(f">{len(items8)}i", *items8), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AddPartitionsToTxnRequest", error) from error


def encode_add_partitions_to_txn_request_v4(message: AddPartitionsToTxnRequest) -> bytes:
    try:
        items1 = message.transactions
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.transactional_id.encode()
            n5 = len(b4) + 1
            items6 = item3.topics
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_qhoB(item3.producer_id, item3.producer_epoch, item3.verify_only, n7) if n7 < 128 else _pack_qho(item3.producer_id, item3.producer_epoch, item3.verify_only) + uvarint(n7))
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
        raise unwritable("AddPartitionsToTxnRequest", error) from error


def decode_add_partitions_to_txn_response_v0(data: bytes, position: int) -> AddPartitionsToTxnResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("results_by_topic_v3_and_below has more elements than bytes, or is null")
        list2: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            results_by_partition_1: list[AddPartitionsToTxnPartitionResult]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("results_by_partition has more elements than bytes, or is null")
            list5: list[AddPartitionsToTxnPartitionResult] = []
            for _ in range(n4):
                partition_index_2, partition_error_code_2 = _unpack_ih(data, position)
                position += 6
                list5.append(AddPartitionsToTxnPartitionResult(partition_index_2, partition_error_code_2))
            results_by_partition_1 = list5
            list2.append(AddPartitionsToTxnTopicResult(name_1, results_by_partition_1))
        results_by_topic_v3_and_below = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_partitions_to_txn_response_v3(data: bytes, position: int) -> AddPartitionsToTxnResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("results_by_topic_v3_and_below has more elements than bytes, or is null")
        list2: list[AddPartitionsToTxnTopicResult] = []
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
            results_by_partition_1: list[AddPartitionsToTxnPartitionResult]
            n4 -= 1
            if n4 < 0 or n4 * 7 > size - position:
                raise DecodeError("results_by_partition has more elements than bytes, or is null")
            list5: list[AddPartitionsToTxnPartitionResult] = []
            for _ in range(n4):
                partition_index_2, partition_error_code_2, tags6 = _unpack_ihB(data, position)
                position += 7
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(AddPartitionsToTxnPartitionResult(partition_index_2, partition_error_code_2))
            results_by_partition_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(AddPartitionsToTxnTopicResult(name_1, results_by_partition_1))
        results_by_topic_v3_and_below = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_partitions_to_txn_response_v4(data: bytes, position: int) -> AddPartitionsToTxnResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results_by_transaction: list[AddPartitionsToTxnResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("results_by_transaction has more elements than bytes, or is null")
        list2: list[AddPartitionsToTxnResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("transactional_id is null")
            transactional_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            topic_results_1: list[AddPartitionsToTxnTopicResult]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("topic_results has more elements than bytes, or is null")
            list5: list[AddPartitionsToTxnTopicResult] = []
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
                results_by_partition_2: list[AddPartitionsToTxnPartitionResult]
                n7 -= 1
                if n7 < 0 or n7 * 7 > size - position:
                    raise DecodeError("results_by_partition has more elements than bytes, or is null")
                list8: list[AddPartitionsToTxnPartitionResult] = []
                for _ in range(n7):
                    partition_index_3, partition_error_code_3, tags9 = _unpack_ihB(data, position)
                    position += 7
                    if tags9:
                        if tags9 > 127:
                            tags9, position = read_tag_count_tail(data, position, tags9)
                        position = skip_tags(data, position, tags9)
                    list8.append(AddPartitionsToTxnPartitionResult(partition_index_3, partition_error_code_3))
                results_by_partition_2 = list8
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(AddPartitionsToTxnTopicResult(name_2, results_by_partition_2))
            topic_results_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(AddPartitionsToTxnResult(transactional_id_1, topic_results_1))
        results_by_transaction = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_add_partitions_to_txn_response_v0(message: AddPartitionsToTxnResponse) -> bytes:
    try:
        items1 = message.results_by_topic_v3_and_below
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.results_by_partition
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ih(item8.partition_index, item8.partition_error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AddPartitionsToTxnResponse", error) from error


def encode_add_partitions_to_txn_response_v3(message: AddPartitionsToTxnResponse) -> bytes:
    try:
        items1 = message.results_by_topic_v3_and_below
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.results_by_partition
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_ihx(item8.partition_index, item8.partition_error_code))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AddPartitionsToTxnResponse", error) from error


def encode_add_partitions_to_txn_response_v4(message: AddPartitionsToTxnResponse) -> bytes:
    try:
        items1 = message.results_by_transaction
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.transactional_id.encode()
            n5 = len(b4) + 1
            items6 = item3.topic_results
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                items11 = item8.results_by_partition
                n12 = len(items11) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12))
                for item13 in items11:
                    parts.append(_pack_ihx(item13.partition_index, item13.partition_error_code))
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AddPartitionsToTxnResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AddPartitionsToTxnRequest]]] = {
    0: decode_add_partitions_to_txn_request_v0,
    1: decode_add_partitions_to_txn_request_v0,
    2: decode_add_partitions_to_txn_request_v0,
    3: decode_add_partitions_to_txn_request_v3,
    4: decode_add_partitions_to_txn_request_v4,
    5: decode_add_partitions_to_txn_request_v4,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AddPartitionsToTxnRequest], bytes]]] = {
    0: encode_add_partitions_to_txn_request_v0,
    1: encode_add_partitions_to_txn_request_v0,
    2: encode_add_partitions_to_txn_request_v0,
    3: encode_add_partitions_to_txn_request_v3,
    4: encode_add_partitions_to_txn_request_v4,
    5: encode_add_partitions_to_txn_request_v4,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AddPartitionsToTxnResponse]]] = {
    0: decode_add_partitions_to_txn_response_v0,
    1: decode_add_partitions_to_txn_response_v0,
    2: decode_add_partitions_to_txn_response_v0,
    3: decode_add_partitions_to_txn_response_v3,
    4: decode_add_partitions_to_txn_response_v4,
    5: decode_add_partitions_to_txn_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AddPartitionsToTxnResponse], bytes]]] = {
    0: encode_add_partitions_to_txn_response_v0,
    1: encode_add_partitions_to_txn_response_v0,
    2: encode_add_partitions_to_txn_response_v0,
    3: encode_add_partitions_to_txn_response_v3,
    4: encode_add_partitions_to_txn_response_v4,
    5: encode_add_partitions_to_txn_response_v4,
}
