"""Transaction log: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.transaction_log`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.transaction_log import (
    PartitionsSchema,
    TransactionLogValue,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    read_tag,
    read_tag_count_tail,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hqhib = Struct(">hqhib").pack
_pack_hqhibB = Struct(">hqhibB").pack
_pack_hqhibi = Struct(">hqhibi").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_pack_qq = Struct(">qq").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qhibB = Struct(">qhibB").unpack_from
_unpack_qhibi = Struct(">qhibi").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from


def decode_transaction_log_value_v0(data: bytes, position: int) -> TransactionLogValue:
    try:
        size = len(data)
        producer_id, producer_epoch, transaction_timeout_ms, transaction_status, n1 = _unpack_qhibi(data, position)
        position += 19
        transaction_partitions: list[PartitionsSchema] | None
        if n1 < 0:
            transaction_partitions = None
        else:
            if n1 < 0 or n1 * 6 > size - position:
                raise DecodeError("transaction_partitions has more elements than bytes, or is null")
            list2: list[PartitionsSchema] = []
            for _ in range(n1):
                (n3,) = _unpack_h(data, position)
                position += 2
                if n3 < 0:
                    raise DecodeError("topic is null")
                topic_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
                (n4,) = _unpack_i(data, position)
                position += 4
                partition_ids_1: list[int]
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("partition_ids has more elements than bytes, or is null")
                partition_ids_1 = list(unpack_from(f">{n4}i", data, position))
                position += n4 * 4
                list2.append(PartitionsSchema(topic_1, partition_ids_1))
            transaction_partitions = list2
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _unpack_qq(data, position)
        position += 16
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TransactionLogValue(producer_id, -1, -1, producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_transaction_log_value_v1(data: bytes, position: int) -> TransactionLogValue:
    try:
        size = len(data)
        producer_id, producer_epoch, transaction_timeout_ms, transaction_status, n1 = _unpack_qhibB(data, position)
        position += 16
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        transaction_partitions: list[PartitionsSchema] | None
        if not n1:
            transaction_partitions = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 3 > size - position:
                raise DecodeError("transaction_partitions has more elements than bytes, or is null")
            list2: list[PartitionsSchema] = []
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
                partition_ids_1: list[int]
                n4 -= 1
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("partition_ids has more elements than bytes, or is null")
                partition_ids_1 = list(unpack_from(f">{n4}i", data, position))
                position += n4 * 4
                tags5 = data[position]
                position += 1
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    position = skip_tags(data, position, tags5)
                list2.append(PartitionsSchema(topic_1, partition_ids_1))
            transaction_partitions = list2
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, tags6 = _unpack_qqB(data, position)
        position += 17
        previous_producer_id: int = -1
        next_producer_id: int = -1
        client_transaction_version: int = 0
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            previous8 = -1
            for _ in range(tags6):
                tag7, end9, position = read_tag(data, position, previous8)
                previous8 = tag7
                if tag7 == 0:
                    (previous_producer_id,) = _unpack_q(data, position)
                    position += 8
                    if position != end9:
                        raise DecodeError("previous_producer_id does not fill its tag")
                elif tag7 == 1:
                    (next_producer_id,) = _unpack_q(data, position)
                    position += 8
                    if position != end9:
                        raise DecodeError("next_producer_id does not fill its tag")
                elif tag7 == 2:
                    (client_transaction_version,) = _unpack_h(data, position)
                    position += 2
                    if position != end9:
                        raise DecodeError("client_transaction_version does not fill its tag")
                position = end9
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TransactionLogValue(producer_id, previous_producer_id, next_producer_id, producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, client_transaction_version)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_transaction_log_value_v0(message: TransactionLogValue) -> bytes:
    try:
        items1 = message.transaction_partitions
        if items1 is None:
            items1, n2 = [], -1
        else:
            n2 = len(items1)
        parts: list[bytes] = [_pack_hqhibi(0, message.producer_id, message.producer_epoch, message.transaction_timeout_ms, message.transaction_status, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partition_ids
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        parts.append(_pack_qq(message.transaction_last_update_timestamp_ms, message.transaction_start_timestamp_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TransactionLogValue", error) from error


def encode_transaction_log_value_v1(message: TransactionLogValue) -> bytes:
    try:
        items1 = message.transaction_partitions
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hqhibB(1, message.producer_id, message.producer_epoch, message.transaction_timeout_ms, message.transaction_status, n2) if n2 < 128 else _pack_hqhib(1, message.producer_id, message.producer_epoch, message.transaction_timeout_ms, message.transaction_status) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_ids
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}i", *items6), b"\0")
        parts.append(_pack_qq(message.transaction_last_update_timestamp_ms, message.transaction_start_timestamp_ms))
        count8 = 0
        tags9: list[bytes] = []
        if message.previous_producer_id != -1:
            parts10: list[bytes] = [_pack_q(message.previous_producer_id)]
            body11 = b"".join(parts10)
            tags9 += (uvarint(0), uvarint(len(body11)), body11)
            count8 += 1
        if message.next_producer_id != -1:
            parts12: list[bytes] = [_pack_q(message.next_producer_id)]
            body13 = b"".join(parts12)
            tags9 += (uvarint(1), uvarint(len(body13)), body13)
            count8 += 1
        if message.client_transaction_version:
            parts14: list[bytes] = [_pack_h(message.client_transaction_version)]
            body15 = b"".join(parts14)
            tags9 += (uvarint(2), uvarint(len(body15)), body15)
            count8 += 1
        parts += (uvarint(count8), *tags9)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TransactionLogValue", error) from error


DECODE_TRANSACTION_LOG_VALUE: Final[dict[int, Callable[[bytes, int], TransactionLogValue]]] = {
    0: decode_transaction_log_value_v0,
    1: decode_transaction_log_value_v1,
}

ENCODE_TRANSACTION_LOG_VALUE: Final[dict[int, Callable[[TransactionLogValue], bytes]]] = {
    0: encode_transaction_log_value_v0,
    1: encode_transaction_log_value_v1,
}
