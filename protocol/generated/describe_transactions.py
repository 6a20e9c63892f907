"""DescribeTransactions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_transactions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_iqqh = Struct(">iqqh").pack
_pack_iqqhB = Struct(">iqqhB").pack
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iqqhB = Struct(">iqqhB").unpack_from


def decode_describe_transactions_request_v0(data: bytes, position: int, left: int) -> DescribeTransactionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        transactional_ids: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("transactional_ids has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("transactional_ids is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        transactional_ids = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeTransactionsRequest(transactional_ids)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_transactions_request_v0(message: DescribeTransactionsRequest) -> bytes:
    try:
        items1 = message.transactional_ids
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeTransactionsRequest", error) from error


def decode_describe_transactions_response_v0(data: bytes, position: int) -> DescribeTransactionsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        transaction_states: list[TransactionState]
        n1 -= 1
        if n1 < 0 or n1 * 28 > size - position:
            raise DecodeError("transaction_states has more elements than bytes, or is null")
        list2: list[TransactionState] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
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
            if not n4:
                raise DecodeError("transaction_state is null")
            transaction_state_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            transaction_timeout_ms_1, transaction_start_time_ms_1, producer_id_1, producer_epoch_1, n5 = _unpack_iqqhB(data, position)
            position += 23
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            topics_1: list[TopicData]
            n5 -= 1
            if n5 < 0 or n5 * 3 > size - position:
                raise DecodeError("topics has more elements than bytes, or is null")
            list6: list[TopicData] = []
            for _ in range(n5):
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                if not n7:
                    raise DecodeError("topic is null")
                topic_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                partitions_2: list[int]
                n8 -= 1
                if n8 < 0 or n8 * 4 > size - position:
                    raise DecodeError("partitions has more elements than bytes, or is null")
                partitions_2 = list(unpack_from(f">{n8}i", data, position))
                position += n8 * 4
                tags9 = data[position]
                position += 1
                if tags9:
                    if tags9 > 127:
                        tags9, position = read_tag_count_tail(data, position, tags9)
                    position = skip_tags(data, position, tags9)
                list6.append(TopicData(topic_2, partitions_2))
            topics_1 = list6
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                position = skip_tags(data, position, tags10)
            list2.append(TransactionState(error_code_1, transactional_id_1, transaction_state_1, transaction_timeout_ms_1, transaction_start_time_ms_1, producer_id_1, producer_epoch_1, topics_1))
        transaction_states = list2
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeTransactionsResponse(throttle_time_ms, transaction_states)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_transactions_response_v0(message: DescribeTransactionsResponse) -> bytes:
    try:
        items1 = message.transaction_states
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.transactional_id.encode()
            n5 = len(b4) + 1
            b6 = item3.transaction_state.encode()
            n7 = len(b6) + 1
            items8 = item3.topics
            n9 = len(items8) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_iqqhB(item3.transaction_timeout_ms, item3.transaction_start_time_ms, item3.producer_id, item3.producer_epoch, n9) if n9 < 128 else _pack_iqqh(item3.transaction_timeout_ms, item3.transaction_start_time_ms, item3.producer_id, item3.producer_epoch) + uvarint(n9))
            for item10 in items8:
                b11 = item10.topic.encode()
                n12 = len(b11) + 1
                items13 = item10.partitions
                n14 = len(items13) + 1
                parts += (_pack_B(n12) if n12 < 128 else uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14), pack(f">{len(items13)}i", *items13), b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeTransactionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeTransactionsRequest]]] = {
    0: decode_describe_transactions_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeTransactionsRequest], bytes]]] = {
    0: encode_describe_transactions_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeTransactionsResponse]]] = {
    0: decode_describe_transactions_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeTransactionsResponse], bytes]]] = {
    0: encode_describe_transactions_response_v0,
}
