"""TxnOffsetCommit: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.txn_offset_commit`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqiB = Struct(">iqiB").pack
_pack_iqih = Struct(">iqih").pack
_pack_qhi = Struct(">qhi").pack
_pack_qhiB = Struct(">qhiB").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_unpack_qhiB = Struct(">qhiB").unpack_from


def decode_txn_offset_commit_request_v0(data: bytes, position: int, left: int) -> TxnOffsetCommitRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        producer_id, producer_epoch, n3 = _unpack_qhi(data, position)
        position += 14
        topics: list[TxnOffsetCommitRequestTopic]
        if n3 < 0 or n3 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n3
        if left < 0:
            raise TooManyElementsError
        list4: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n3):
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[TxnOffsetCommitRequestPartition]
            if n6 < 0 or n6 * 14 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n6
            if left < 0:
                raise TooManyElementsError
            list7: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n6):
                partition_index_2, committed_offset_2, n8 = _unpack_iqh(data, position)
                position += 14
                committed_metadata_2: str | None
                if n8 >= 0:
                    committed_metadata_2 = data[position : position + n8].decode("utf-8", "replace")
                    position += n8
                else:
                    committed_metadata_2 = None
                list7.append(TxnOffsetCommitRequestPartition(partition_index_2, committed_offset_2, -1, committed_metadata_2))
            partitions_1 = list7
            list4.append(TxnOffsetCommitRequestTopic(name_1, ZERO_UUID, partitions_1))
        topics = list4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_txn_offset_commit_request_v2(data: bytes, position: int, left: int) -> TxnOffsetCommitRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        producer_id, producer_epoch, n3 = _unpack_qhi(data, position)
        position += 14
        topics: list[TxnOffsetCommitRequestTopic]
        if n3 < 0 or n3 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n3
        if left < 0:
            raise TooManyElementsError
        list4: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n3):
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[TxnOffsetCommitRequestPartition]
            if n6 < 0 or n6 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n6
            if left < 0:
                raise TooManyElementsError
            list7: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n6):
                partition_index_2, committed_offset_2, committed_leader_epoch_2, n8 = _unpack_iqih(data, position)
                position += 18
                committed_metadata_2: str | None
                if n8 >= 0:
                    committed_metadata_2 = data[position : position + n8].decode("utf-8", "replace")
                    position += n8
                else:
                    committed_metadata_2 = None
                list7.append(TxnOffsetCommitRequestPartition(partition_index_2, committed_offset_2, committed_leader_epoch_2, committed_metadata_2))
            partitions_1 = list7
            list4.append(TxnOffsetCommitRequestTopic(name_1, ZERO_UUID, partitions_1))
        topics = list4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_txn_offset_commit_request_v3(data: bytes, position: int, left: int) -> TxnOffsetCommitRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        producer_id, producer_epoch, generation_id, n3 = _unpack_qhiB(data, position)
        position += 15
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n3:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
            if n4 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        group_instance_id: str | None
        if n4:
            group_instance_id = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
        else:
            group_instance_id = None
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        topics: list[TxnOffsetCommitRequestTopic]
        n5 -= 1
        if n5 < 0 or n5 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
                if n7 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n7:
                raise DecodeError("name is null")
            name_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            partitions_1: list[TxnOffsetCommitRequestPartition]
            n8 -= 1
            if n8 < 0 or n8 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n8
            if left < 0:
                raise TooManyElementsError
            list9: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n8):
                partition_index_2, committed_offset_2, committed_leader_epoch_2, n10 = _unpack_iqiB(data, position)
                position += 17
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                    if n10 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                committed_metadata_2: str | None
                if n10:
                    committed_metadata_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    committed_metadata_2 = None
                tags11 = data[position]
                position += 1
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    left -= tags11
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags11)
                list9.append(TxnOffsetCommitRequestPartition(partition_index_2, committed_offset_2, committed_leader_epoch_2, committed_metadata_2))
            partitions_1 = list9
            tags12 = data[position]
            position += 1
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                left -= tags12
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags12)
            list6.append(TxnOffsetCommitRequestTopic(name_1, ZERO_UUID, partitions_1))
        topics = list6
        tags13 = data[position]
        position += 1
        if tags13:
            if tags13 > 127:
                tags13, position = read_tag_count_tail(data, position, tags13)
            left -= tags13
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags13)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_txn_offset_commit_request_v6(data: bytes, position: int, left: int) -> TxnOffsetCommitRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        producer_id, producer_epoch, generation_id, n3 = _unpack_qhiB(data, position)
        position += 15
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n3:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
            if n4 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        group_instance_id: str | None
        if n4:
            group_instance_id = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
        else:
            group_instance_id = None
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        topics: list[TxnOffsetCommitRequestTopic]
        n5 -= 1
        if n5 < 0 or n5 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[TxnOffsetCommitRequestTopic] = []
        for _ in range(n5):
            topic_id_1, n7 = _unpack_16sB(data, position)
            position += 17
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            partitions_1: list[TxnOffsetCommitRequestPartition]
            n7 -= 1
            if n7 < 0 or n7 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n7
            if left < 0:
                raise TooManyElementsError
            list8: list[TxnOffsetCommitRequestPartition] = []
            for _ in range(n7):
                partition_index_2, committed_offset_2, committed_leader_epoch_2, n9 = _unpack_iqiB(data, position)
                position += 17
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                    if n9 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                committed_metadata_2: str | None
                if n9:
                    committed_metadata_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                    position += n9 - 1
                else:
                    committed_metadata_2 = None
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    left -= tags10
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags10)
                list8.append(TxnOffsetCommitRequestPartition(partition_index_2, committed_offset_2, committed_leader_epoch_2, committed_metadata_2))
            partitions_1 = list8
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                left -= tags11
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags11)
            list6.append(TxnOffsetCommitRequestTopic("", topic_id_1, partitions_1))
        topics = list6
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            left -= tags12
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_txn_offset_commit_request_v0(message: TxnOffsetCommitRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1)
        b3 = message.group_id.encode()
        n4 = len(b3)
        items5 = message.topics
        n6 = len(items5)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_h(n4), b3, _pack_qhi(message.producer_id, message.producer_epoch, n6)]
        for item7 in items5:
            b8 = item7.name.encode()
            n9 = len(b8)
            items10 = item7.partitions
            n11 = len(items10)
            parts += (_pack_h(n9), b8, _pack_i(n11))
            for item12 in items10:
                b13 = item12.committed_metadata
                b15 = b"" if b13 is None else b13.encode()
                n14 = -1 if b13 is None else len(b15)
                parts += (_pack_iqh(item12.partition_index, item12.committed_offset, n14), b15)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitRequest", error) from error


def encode_txn_offset_commit_request_v2(message: TxnOffsetCommitRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1)
        b3 = message.group_id.encode()
        n4 = len(b3)
        items5 = message.topics
        n6 = len(items5)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_h(n4), b3, _pack_qhi(message.producer_id, message.producer_epoch, n6)]
        for item7 in items5:
            b8 = item7.name.encode()
            n9 = len(b8)
            items10 = item7.partitions
            n11 = len(items10)
            parts += (_pack_h(n9), b8, _pack_i(n11))
            for item12 in items10:
                b13 = item12.committed_metadata
                b15 = b"" if b13 is None else b13.encode()
                n14 = -1 if b13 is None else len(b15)
                parts += (_pack_iqih(item12.partition_index, item12.committed_offset, item12.committed_leader_epoch, n14), b15)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitRequest", error) from error


def encode_txn_offset_commit_request_v3(message: TxnOffsetCommitRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1) + 1
        b3 = message.group_id.encode()
        n4 = len(b3) + 1
        b5 = message.member_id.encode()
        n6 = len(b5) + 1
        b7 = message.group_instance_id
        b9 = b"" if b7 is None else b7.encode()
        n8 = 0 if b7 is None else len(b9) + 1
        items10 = message.topics
        n11 = len(items10) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_qhiB(message.producer_id, message.producer_epoch, message.generation_id, n6) if n6 < 128 else _pack_qhi(message.producer_id, message.producer_epoch, message.generation_id) + uvarint(n6), b5, _pack_B(n8) if n8 < 128 else uvarint(n8), b9, _pack_B(n11) if n11 < 128 else uvarint(n11)]
        for item12 in items10:
            b13 = item12.name.encode()
            n14 = len(b13) + 1
            items15 = item12.partitions
            n16 = len(items15) + 1
            parts += (_pack_B(n14) if n14 < 128 else uvarint(n14), b13, _pack_B(n16) if n16 < 128 else uvarint(n16))
            for item17 in items15:
                b18 = item17.committed_metadata
                b20 = b"" if b18 is None else b18.encode()
                n19 = 0 if b18 is None else len(b20) + 1
                parts += (_pack_iqiB(item17.partition_index, item17.committed_offset, item17.committed_leader_epoch, n19) if n19 < 128 else _pack_iqi(item17.partition_index, item17.committed_offset, item17.committed_leader_epoch) + uvarint(n19), b20, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitRequest", error) from error


def encode_txn_offset_commit_request_v6(message: TxnOffsetCommitRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1) + 1
        b3 = message.group_id.encode()
        n4 = len(b3) + 1
        b5 = message.member_id.encode()
        n6 = len(b5) + 1
        b7 = message.group_instance_id
        b9 = b"" if b7 is None else b7.encode()
        n8 = 0 if b7 is None else len(b9) + 1
        items10 = message.topics
        n11 = len(items10) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_qhiB(message.producer_id, message.producer_epoch, message.generation_id, n6) if n6 < 128 else _pack_qhi(message.producer_id, message.producer_epoch, message.generation_id) + uvarint(n6), b5, _pack_B(n8) if n8 < 128 else uvarint(n8), b9, _pack_B(n11) if n11 < 128 else uvarint(n11)]
        for item12 in items10:
            items13 = item12.partitions
            n14 = len(items13) + 1
            parts.append(_pack_16sB(item12.topic_id, n14) if n14 < 128 else _pack_16s(item12.topic_id) + uvarint(n14))
            for item15 in items13:
                b16 = item15.committed_metadata
                b18 = b"" if b16 is None else b16.encode()
                n17 = 0 if b16 is None else len(b18) + 1
                parts += (_pack_iqiB(item15.partition_index, item15.committed_offset, item15.committed_leader_epoch, n17) if n17 < 128 else _pack_iqi(item15.partition_index, item15.committed_offset, item15.committed_leader_epoch) + uvarint(n17), b18, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitRequest", error) from error


def decode_txn_offset_commit_response_v0(data: bytes, position: int) -> TxnOffsetCommitResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[TxnOffsetCommitResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[TxnOffsetCommitResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[TxnOffsetCommitResponsePartition]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n4):
                partition_index_2, error_code_2 = _unpack_ih(data, position)
                position += 6
                list5.append(TxnOffsetCommitResponsePartition(partition_index_2, error_code_2))
            partitions_1 = list5
            list2.append(TxnOffsetCommitResponseTopic(name_1, ZERO_UUID, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_txn_offset_commit_response_v3(data: bytes, position: int) -> TxnOffsetCommitResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[TxnOffsetCommitResponseTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[TxnOffsetCommitResponseTopic] = []
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
            partitions_1: list[TxnOffsetCommitResponsePartition]
            n4 -= 1
            if n4 < 0 or n4 * 7 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n4):
                partition_index_2, error_code_2, tags6 = _unpack_ihB(data, position)
                position += 7
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(TxnOffsetCommitResponsePartition(partition_index_2, error_code_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(TxnOffsetCommitResponseTopic(name_1, ZERO_UUID, partitions_1))
        topics = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_txn_offset_commit_response_v6(data: bytes, position: int) -> TxnOffsetCommitResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[TxnOffsetCommitResponseTopic]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[TxnOffsetCommitResponseTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[TxnOffsetCommitResponsePartition]
            n3 -= 1
            if n3 < 0 or n3 * 7 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list4: list[TxnOffsetCommitResponsePartition] = []
            for _ in range(n3):
                partition_index_2, error_code_2, tags5 = _unpack_ihB(data, position)
                position += 7
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    position = skip_tags(data, position, tags5)
                list4.append(TxnOffsetCommitResponsePartition(partition_index_2, error_code_2))
            partitions_1 = list4
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                position = skip_tags(data, position, tags6)
            list2.append(TxnOffsetCommitResponseTopic("", topic_id_1, partitions_1))
        topics = list2
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return TxnOffsetCommitResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_txn_offset_commit_response_v0(message: TxnOffsetCommitResponse) -> bytes:
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
                parts.append(_pack_ih(item8.partition_index, item8.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitResponse", error) from error


def encode_txn_offset_commit_response_v3(message: TxnOffsetCommitResponse) -> bytes:
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
                parts.append(_pack_ihx(item8.partition_index, item8.error_code))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitResponse", error) from error


def encode_txn_offset_commit_response_v6(message: TxnOffsetCommitResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                parts.append(_pack_ihx(item6.partition_index, item6.error_code))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("TxnOffsetCommitResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], TxnOffsetCommitRequest]]] = {
    0: decode_txn_offset_commit_request_v0,
    1: decode_txn_offset_commit_request_v0,
    2: decode_txn_offset_commit_request_v2,
    3: decode_txn_offset_commit_request_v3,
    4: decode_txn_offset_commit_request_v3,
    5: decode_txn_offset_commit_request_v3,
    6: decode_txn_offset_commit_request_v6,
}

ENCODE_REQUEST: Final[dict[int, Callable[[TxnOffsetCommitRequest], bytes]]] = {
    0: encode_txn_offset_commit_request_v0,
    1: encode_txn_offset_commit_request_v0,
    2: encode_txn_offset_commit_request_v2,
    3: encode_txn_offset_commit_request_v3,
    4: encode_txn_offset_commit_request_v3,
    5: encode_txn_offset_commit_request_v3,
    6: encode_txn_offset_commit_request_v6,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], TxnOffsetCommitResponse]]] = {
    0: decode_txn_offset_commit_response_v0,
    1: decode_txn_offset_commit_response_v0,
    2: decode_txn_offset_commit_response_v0,
    3: decode_txn_offset_commit_response_v3,
    4: decode_txn_offset_commit_response_v3,
    5: decode_txn_offset_commit_response_v3,
    6: decode_txn_offset_commit_response_v6,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[TxnOffsetCommitResponse], bytes]]] = {
    0: encode_txn_offset_commit_response_v0,
    1: encode_txn_offset_commit_response_v0,
    2: encode_txn_offset_commit_response_v0,
    3: encode_txn_offset_commit_response_v3,
    4: encode_txn_offset_commit_response_v3,
    5: encode_txn_offset_commit_response_v3,
    6: encode_txn_offset_commit_response_v6,
}
