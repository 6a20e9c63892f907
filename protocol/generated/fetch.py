"""Fetch: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.fetch`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
    SnapshotId,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihiB = Struct(">ihiB").pack
_pack_ihii = Struct(">ihii").pack
_pack_ihqi = Struct(">ihqi").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqB = Struct(">ihqqqB").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_ii = Struct(">ii").pack
_pack_iiibii = Struct(">iiibii").pack
_pack_iiibiiB = Struct(">iiibiiB").pack
_pack_iiii = Struct(">iiii").pack
_pack_iiiibi = Struct(">iiiibi").pack
_pack_iiiibii = Struct(">iiiibii").pack
_pack_iiiibiiB = Struct(">iiiibiiB").pack
_pack_iiiibiii = Struct(">iiiibiii").pack
_pack_iiiii = Struct(">iiiii").pack
_pack_iiqiqi = Struct(">iiqiqi").pack
_pack_iiqiqix = Struct(">iiqiqix").pack
_pack_iiqqi = Struct(">iiqqi").pack
_pack_iix = Struct(">iix").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqqi = Struct(">iqqi").pack
_pack_iqx = Struct(">iqx").pack
_pack_q = Struct(">q").pack
_pack_qix = Struct(">qix").pack
_pack_qq = Struct(">qq").pack
_pack_qqx = Struct(">qqx").pack
_unpack_16s = Struct(">16s").unpack_from
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ihqi = Struct(">ihqi").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iiibiiB = Struct(">iiibiiB").unpack_from
_unpack_iiii = Struct(">iiii").unpack_from
_unpack_iiiibi = Struct(">iiiibi").unpack_from
_unpack_iiiibiiB = Struct(">iiiibiiB").unpack_from
_unpack_iiiibiii = Struct(">iiiibiii").unpack_from
_unpack_iiiii = Struct(">iiiii").unpack_from
_unpack_iiqiqiB = Struct(">iiqiqiB").unpack_from
_unpack_iiqqi = Struct(">iiqqi").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqi = Struct(">iqi").unpack_from
_unpack_iqqi = Struct(">iqqi").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from


def decode_fetch_request_v0(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, n1 = _unpack_iiii(data, position)
        position += 16
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, fetch_offset_2, partition_max_bytes_2 = _unpack_iqi(data, position)
                position += 16
                list5.append(FetchPartition(partition_2, -1, fetch_offset_2, -1, -1, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, 2147483647, 0, 0, -1, topics, [], "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v3(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, n1 = _unpack_iiiii(data, position)
        position += 20
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, fetch_offset_2, partition_max_bytes_2 = _unpack_iqi(data, position)
                position += 16
                list5.append(FetchPartition(partition_2, -1, fetch_offset_2, -1, -1, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, 0, 0, -1, topics, [], "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v4(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n1 = _unpack_iiiibi(data, position)
        position += 21
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 16 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, fetch_offset_2, partition_max_bytes_2 = _unpack_iqi(data, position)
                position += 16
                list5.append(FetchPartition(partition_2, -1, fetch_offset_2, -1, -1, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v5(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n1 = _unpack_iiiibi(data, position)
        position += 21
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 24 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, fetch_offset_2, log_start_offset_2, partition_max_bytes_2 = _unpack_iqqi(data, position)
                position += 24
                list5.append(FetchPartition(partition_2, -1, fetch_offset_2, -1, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, [], "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v7(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiiibiii(data, position)
        position += 29
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 24 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, fetch_offset_2, log_start_offset_2, partition_max_bytes_2 = _unpack_iqqi(data, position)
                position += 24
                list5.append(FetchPartition(partition_2, -1, fetch_offset_2, -1, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        (n6,) = _unpack_i(data, position)
        position += 4
        forgotten_topics_data: list[ForgottenTopic]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n6
        if left < 0:
            raise TooManyElementsError
        list7: list[ForgottenTopic] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_3 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_3: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n9 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(ForgottenTopic(topic_3, ZERO_UUID, partitions_3))
        forgotten_topics_data = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v9(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiiibiii(data, position)
        position += 29
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 28 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, fetch_offset_2, log_start_offset_2, partition_max_bytes_2 = _unpack_iiqqi(data, position)
                position += 28
                list5.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, -1, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        (n6,) = _unpack_i(data, position)
        position += 4
        forgotten_topics_data: list[ForgottenTopic]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n6
        if left < 0:
            raise TooManyElementsError
        list7: list[ForgottenTopic] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_3 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_3: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n9 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(ForgottenTopic(topic_3, ZERO_UUID, partitions_3))
        forgotten_topics_data = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, "")
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v11(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiiibiii(data, position)
        position += 29
        topics: list[FetchTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[FetchPartition]
            if n4 < 0 or n4 * 28 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, fetch_offset_2, log_start_offset_2, partition_max_bytes_2 = _unpack_iiqqi(data, position)
                position += 28
                list5.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, -1, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        (n6,) = _unpack_i(data, position)
        position += 4
        forgotten_topics_data: list[ForgottenTopic]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n6
        if left < 0:
            raise TooManyElementsError
        list7: list[ForgottenTopic] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_3 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_3: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n9 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(ForgottenTopic(topic_3, ZERO_UUID, partitions_3))
        forgotten_topics_data = list7
        (n10,) = _unpack_h(data, position)
        position += 2
        if n10 < 0:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n10].decode("utf-8", "replace")
        position += n10
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(None, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v12(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiiibiiB(data, position)
        position += 26
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[FetchTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
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
            partitions_1: list[FetchPartition]
            n4 -= 1
            if n4 < 0 or n4 * 33 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[FetchPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, tags6 = _unpack_iiqiqiB(data, position)
                position += 33
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list5.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            list2.append(FetchTopic(topic_1, ZERO_UUID, partitions_1))
        topics = list2
        n8 = data[position]
        position += 1
        if n8 > 127:
            n8, position = read_uvarint_tail(data, position, n8)
        forgotten_topics_data: list[ForgottenTopic]
        n8 -= 1
        if n8 < 0 or n8 * 3 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n8
        if left < 0:
            raise TooManyElementsError
        list9: list[ForgottenTopic] = []
        for _ in range(n8):
            n10 = data[position]
            position += 1
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
                if n10 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n10:
                raise DecodeError("topic is null")
            topic_3 = data[position : position + n10 - 1].decode("utf-8", "replace")
            position += n10 - 1
            n11 = data[position]
            position += 1
            if n11 > 127:
                n11, position = read_uvarint_tail(data, position, n11)
            partitions_3: list[int]
            n11 -= 1
            if n11 < 0 or n11 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n11 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n11}i", data, position))
            position += n11 * 4
            tags12 = data[position]
            position += 1
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                left -= tags12
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags12)
            list9.append(ForgottenTopic(topic_3, ZERO_UUID, partitions_3))
        forgotten_topics_data = list9
        n13 = data[position]
        position += 1
        if n13 > 127:
            n13, position = read_uvarint_tail(data, position, n13)
            if n13 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n13:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n13 - 1].decode("utf-8", "replace")
        position += n13 - 1
        tags14 = data[position]
        position += 1
        cluster_id: str | None = None
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            left -= tags14
            if left < 0:
                raise TooManyElementsError
            previous16 = -1
            for _ in range(tags14):
                tag15, end17, position = read_tag(data, position, previous16)
                previous16 = tag15
                if tag15 == 0:
                    n18 = data[position]
                    position += 1
                    if n18 > 127:
                        n18, position = read_uvarint_tail(data, position, n18)
                        if n18 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if n18:
                        cluster_id = data[position : position + n18 - 1].decode("utf-8", "replace")
                        position += n18 - 1
                    else:
                        cluster_id = None
                    if position != end17:
                        raise DecodeError("cluster_id does not fill its tag")
                position = end17
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(cluster_id, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v13(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiiibiiB(data, position)
        position += 26
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[FetchTopic]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[FetchPartition]
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[FetchPartition] = []
            for _ in range(n3):
                partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, tags5 = _unpack_iiqiqiB(data, position)
                position += 33
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    left -= tags5
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags5)
                list4.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list4
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                left -= tags6
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags6)
            list2.append(FetchTopic("", topic_id_1, partitions_1))
        topics = list2
        n7 = data[position]
        position += 1
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        forgotten_topics_data: list[ForgottenTopic]
        n7 -= 1
        if n7 < 0 or n7 * 18 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n7
        if left < 0:
            raise TooManyElementsError
        list8: list[ForgottenTopic] = []
        for _ in range(n7):
            topic_id_3, n9 = _unpack_16sB(data, position)
            position += 17
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            partitions_3: list[int]
            n9 -= 1
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n9 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                left -= tags10
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags10)
            list8.append(ForgottenTopic("", topic_id_3, partitions_3))
        forgotten_topics_data = list8
        n11 = data[position]
        position += 1
        if n11 > 127:
            n11, position = read_uvarint_tail(data, position, n11)
            if n11 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n11:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n11 - 1].decode("utf-8", "replace")
        position += n11 - 1
        tags12 = data[position]
        position += 1
        cluster_id: str | None = None
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            left -= tags12
            if left < 0:
                raise TooManyElementsError
            previous14 = -1
            for _ in range(tags12):
                tag13, end15, position = read_tag(data, position, previous14)
                previous14 = tag13
                if tag13 == 0:
                    n16 = data[position]
                    position += 1
                    if n16 > 127:
                        n16, position = read_uvarint_tail(data, position, n16)
                        if n16 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if n16:
                        cluster_id = data[position : position + n16 - 1].decode("utf-8", "replace")
                        position += n16 - 1
                    else:
                        cluster_id = None
                    if position != end15:
                        raise DecodeError("cluster_id does not fill its tag")
                position = end15
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(cluster_id, replica_id, ReplicaState(), max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v15(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiibiiB(data, position)
        position += 22
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[FetchTopic]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[FetchPartition]
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[FetchPartition] = []
            for _ in range(n3):
                partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, tags5 = _unpack_iiqiqiB(data, position)
                position += 33
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    left -= tags5
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags5)
                list4.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, ZERO_UUID, 9223372036854775807))
            partitions_1 = list4
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                left -= tags6
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags6)
            list2.append(FetchTopic("", topic_id_1, partitions_1))
        topics = list2
        n7 = data[position]
        position += 1
        if n7 > 127:
            n7, position = read_uvarint_tail(data, position, n7)
        forgotten_topics_data: list[ForgottenTopic]
        n7 -= 1
        if n7 < 0 or n7 * 18 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n7
        if left < 0:
            raise TooManyElementsError
        list8: list[ForgottenTopic] = []
        for _ in range(n7):
            topic_id_3, n9 = _unpack_16sB(data, position)
            position += 17
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            partitions_3: list[int]
            n9 -= 1
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n9 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                left -= tags10
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags10)
            list8.append(ForgottenTopic("", topic_id_3, partitions_3))
        forgotten_topics_data = list8
        n11 = data[position]
        position += 1
        if n11 > 127:
            n11, position = read_uvarint_tail(data, position, n11)
            if n11 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n11:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n11 - 1].decode("utf-8", "replace")
        position += n11 - 1
        tags12 = data[position]
        position += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            left -= tags12
            if left < 0:
                raise TooManyElementsError
            previous14 = -1
            for _ in range(tags12):
                tag13, end15, position = read_tag(data, position, previous14)
                previous14 = tag13
                if tag13 == 0:
                    n16 = data[position]
                    position += 1
                    if n16 > 127:
                        n16, position = read_uvarint_tail(data, position, n16)
                        if n16 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if n16:
                        cluster_id = data[position : position + n16 - 1].decode("utf-8", "replace")
                        position += n16 - 1
                    else:
                        cluster_id = None
                    if position != end15:
                        raise DecodeError("cluster_id does not fill its tag")
                elif tag13 == 1:
                    replica_id_4, replica_epoch_4, tags17 = _unpack_iqB(data, position)
                    position += 13
                    if tags17:
                        if tags17 > 127:
                            tags17, position = read_tag_count_tail(data, position, tags17)
                        left -= tags17
                        if left < 0:
                            raise TooManyElementsError
                        position = skip_tags(data, position, tags17)
                    replica_state = ReplicaState(replica_id_4, replica_epoch_4)
                    if position != end15:
                        raise DecodeError("replica_state does not fill its tag")
                position = end15
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v17(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiibiiB(data, position)
        position += 22
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[FetchTopic]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[FetchPartition]
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[FetchPartition] = []
            for _ in range(n3):
                partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, tags5 = _unpack_iiqiqiB(data, position)
                position += 33
                replica_directory_id_2: bytes = ZERO_UUID
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    left -= tags5
                    if left < 0:
                        raise TooManyElementsError
                    previous7 = -1
                    for _ in range(tags5):
                        tag6, end8, position = read_tag(data, position, previous7)
                        previous7 = tag6
                        if tag6 == 0:
                            (replica_directory_id_2,) = _unpack_16s(data, position)
                            position += 16
                            if position != end8:
                                raise DecodeError("replica_directory_id does not fill its tag")
                        position = end8
                list4.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, replica_directory_id_2, 9223372036854775807))
            partitions_1 = list4
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list2.append(FetchTopic("", topic_id_1, partitions_1))
        topics = list2
        n10 = data[position]
        position += 1
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
        forgotten_topics_data: list[ForgottenTopic]
        n10 -= 1
        if n10 < 0 or n10 * 18 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n10
        if left < 0:
            raise TooManyElementsError
        list11: list[ForgottenTopic] = []
        for _ in range(n10):
            topic_id_3, n12 = _unpack_16sB(data, position)
            position += 17
            if n12 > 127:
                n12, position = read_uvarint_tail(data, position, n12)
            partitions_3: list[int]
            n12 -= 1
            if n12 < 0 or n12 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n12 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n12}i", data, position))
            position += n12 * 4
            tags13 = data[position]
            position += 1
            if tags13:
                if tags13 > 127:
                    tags13, position = read_tag_count_tail(data, position, tags13)
                left -= tags13
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags13)
            list11.append(ForgottenTopic("", topic_id_3, partitions_3))
        forgotten_topics_data = list11
        n14 = data[position]
        position += 1
        if n14 > 127:
            n14, position = read_uvarint_tail(data, position, n14)
            if n14 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n14:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n14 - 1].decode("utf-8", "replace")
        position += n14 - 1
        tags15 = data[position]
        position += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags15:
            if tags15 > 127:
                tags15, position = read_tag_count_tail(data, position, tags15)
            left -= tags15
            if left < 0:
                raise TooManyElementsError
            previous17 = -1
            for _ in range(tags15):
                tag16, end18, position = read_tag(data, position, previous17)
                previous17 = tag16
                if tag16 == 0:
                    n19 = data[position]
                    position += 1
                    if n19 > 127:
                        n19, position = read_uvarint_tail(data, position, n19)
                        if n19 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if n19:
                        cluster_id = data[position : position + n19 - 1].decode("utf-8", "replace")
                        position += n19 - 1
                    else:
                        cluster_id = None
                    if position != end18:
                        raise DecodeError("cluster_id does not fill its tag")
                elif tag16 == 1:
                    replica_id_4, replica_epoch_4, tags20 = _unpack_iqB(data, position)
                    position += 13
                    if tags20:
                        if tags20 > 127:
                            tags20, position = read_tag_count_tail(data, position, tags20)
                        left -= tags20
                        if left < 0:
                            raise TooManyElementsError
                        position = skip_tags(data, position, tags20)
                    replica_state = ReplicaState(replica_id_4, replica_epoch_4)
                    if position != end18:
                        raise DecodeError("replica_state does not fill its tag")
                position = end18
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_request_v18(data: bytes, position: int, left: int) -> FetchRequest:
    try:
        size = len(data)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n1 = _unpack_iiibiiB(data, position)
        position += 22
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[FetchTopic]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[FetchTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[FetchPartition]
            n3 -= 1
            if n3 < 0 or n3 * 33 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[FetchPartition] = []
            for _ in range(n3):
                partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, tags5 = _unpack_iiqiqiB(data, position)
                position += 33
                replica_directory_id_2: bytes = ZERO_UUID
                high_watermark_2: int = 9223372036854775807
                if tags5:
                    if tags5 > 127:
                        tags5, position = read_tag_count_tail(data, position, tags5)
                    left -= tags5
                    if left < 0:
                        raise TooManyElementsError
                    previous7 = -1
                    for _ in range(tags5):
                        tag6, end8, position = read_tag(data, position, previous7)
                        previous7 = tag6
                        if tag6 == 0:
                            (replica_directory_id_2,) = _unpack_16s(data, position)
                            position += 16
                            if position != end8:
                                raise DecodeError("replica_directory_id does not fill its tag")
                        elif tag6 == 1:
                            (high_watermark_2,) = _unpack_q(data, position)
                            position += 8
                            if position != end8:
                                raise DecodeError("high_watermark does not fill its tag")
                        position = end8
                list4.append(FetchPartition(partition_2, current_leader_epoch_2, fetch_offset_2, last_fetched_epoch_2, log_start_offset_2, partition_max_bytes_2, replica_directory_id_2, high_watermark_2))
            partitions_1 = list4
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list2.append(FetchTopic("", topic_id_1, partitions_1))
        topics = list2
        n10 = data[position]
        position += 1
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
        forgotten_topics_data: list[ForgottenTopic]
        n10 -= 1
        if n10 < 0 or n10 * 18 > size - position:
            raise DecodeError("forgotten_topics_data has more elements than bytes, or is null")
        left -= n10
        if left < 0:
            raise TooManyElementsError
        list11: list[ForgottenTopic] = []
        for _ in range(n10):
            topic_id_3, n12 = _unpack_16sB(data, position)
            position += 17
            if n12 > 127:
                n12, position = read_uvarint_tail(data, position, n12)
            partitions_3: list[int]
            n12 -= 1
            if n12 < 0 or n12 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n12 + 7 >> 3
            if left < 0:
                raise TooManyElementsError
            partitions_3 = list(unpack_from(f">{n12}i", data, position))
            position += n12 * 4
            tags13 = data[position]
            position += 1
            if tags13:
                if tags13 > 127:
                    tags13, position = read_tag_count_tail(data, position, tags13)
                left -= tags13
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags13)
            list11.append(ForgottenTopic("", topic_id_3, partitions_3))
        forgotten_topics_data = list11
        n14 = data[position]
        position += 1
        if n14 > 127:
            n14, position = read_uvarint_tail(data, position, n14)
            if n14 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n14:
            raise DecodeError("rack_id is null")
        rack_id = data[position : position + n14 - 1].decode("utf-8", "replace")
        position += n14 - 1
        tags15 = data[position]
        position += 1
        cluster_id: str | None = None
        replica_state: ReplicaState = ReplicaState()
        if tags15:
            if tags15 > 127:
                tags15, position = read_tag_count_tail(data, position, tags15)
            left -= tags15
            if left < 0:
                raise TooManyElementsError
            previous17 = -1
            for _ in range(tags15):
                tag16, end18, position = read_tag(data, position, previous17)
                previous17 = tag16
                if tag16 == 0:
                    n19 = data[position]
                    position += 1
                    if n19 > 127:
                        n19, position = read_uvarint_tail(data, position, n19)
                        if n19 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if n19:
                        cluster_id = data[position : position + n19 - 1].decode("utf-8", "replace")
                        position += n19 - 1
                    else:
                        cluster_id = None
                    if position != end18:
                        raise DecodeError("cluster_id does not fill its tag")
                elif tag16 == 1:
                    replica_id_4, replica_epoch_4, tags20 = _unpack_iqB(data, position)
                    position += 13
                    if tags20:
                        if tags20 > 127:
                            tags20, position = read_tag_count_tail(data, position, tags20)
                        left -= tags20
                        if left < 0:
                            raise TooManyElementsError
                        position = skip_tags(data, position, tags20)
                    replica_state = ReplicaState(replica_id_4, replica_epoch_4)
                    if position != end18:
                        raise DecodeError("replica_state does not fill its tag")
                position = end18
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_fetch_request_v0(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiii(message.replica_id, message.max_wait_ms, message.min_bytes, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqi(item8.partition, item8.fetch_offset, item8.partition_max_bytes))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v3(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqi(item8.partition, item8.fetch_offset, item8.partition_max_bytes))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v4(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiibi(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqi(item8.partition, item8.fetch_offset, item8.partition_max_bytes))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v5(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiibi(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqqi(item8.partition, item8.fetch_offset, item8.log_start_offset, item8.partition_max_bytes))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v7(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiibiii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqqi(item8.partition, item8.fetch_offset, item8.log_start_offset, item8.partition_max_bytes))
        items9 = message.forgotten_topics_data
        n10 = len(items9)
        parts.append(_pack_i(n10))
        for item11 in items9:
            b12 = item11.topic.encode()
            n13 = len(b12)
            items14 = item11.partitions
            n15 = len(items14)
            parts += (_pack_h(n13), b12, _pack_i(n15), pack(f">{len(items14)}i", *items14))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v9(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiibiii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iiqqi(item8.partition, item8.current_leader_epoch, item8.fetch_offset, item8.log_start_offset, item8.partition_max_bytes))
        items9 = message.forgotten_topics_data
        n10 = len(items9)
        parts.append(_pack_i(n10))
        for item11 in items9:
            b12 = item11.topic.encode()
            n13 = len(b12)
            items14 = item11.partitions
            n15 = len(items14)
            parts += (_pack_h(n13), b12, _pack_i(n15), pack(f">{len(items14)}i", *items14))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v11(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_iiiibiii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iiqqi(item8.partition, item8.current_leader_epoch, item8.fetch_offset, item8.log_start_offset, item8.partition_max_bytes))
        items9 = message.forgotten_topics_data
        n10 = len(items9)
        parts.append(_pack_i(n10))
        for item11 in items9:
            b12 = item11.topic.encode()
            n13 = len(b12)
            items14 = item11.partitions
            n15 = len(items14)
            parts += (_pack_h(n13), b12, _pack_i(n15), pack(f">{len(items14)}i", *items14))
        b16 = message.rack_id.encode()
        n17 = len(b16)
        parts += (_pack_h(n17), b16)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v12(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iiiibiiB(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2) if n2 < 128 else _pack_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iiqiqix(item8.partition, item8.current_leader_epoch, item8.fetch_offset, item8.last_fetched_epoch, item8.log_start_offset, item8.partition_max_bytes))
            parts.append(b"\0")
        items9 = message.forgotten_topics_data
        n10 = len(items9) + 1
        parts.append(_pack_B(n10) if n10 < 128 else uvarint(n10))
        for item11 in items9:
            b12 = item11.topic.encode()
            n13 = len(b12) + 1
            items14 = item11.partitions
            n15 = len(items14) + 1
            parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), pack(f">{len(items14)}i", *items14), b"\0")
        b16 = message.rack_id.encode()
        n17 = len(b16) + 1
        parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b16)
        count18 = 0
        tags19: list[bytes] = []
        if message.cluster_id is not None:
            b21 = message.cluster_id
            b23 = b"" if b21 is None else b21.encode()
            n22 = 0 if b21 is None else len(b23) + 1
            parts20: list[bytes] = [_pack_B(n22) if n22 < 128 else uvarint(n22), b23]
            body24 = b"".join(parts20)
            tags19 += (uvarint(0), uvarint(len(body24)), body24)
            count18 += 1
        parts += (uvarint(count18), *tags19)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v13(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iiiibiiB(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2) if n2 < 128 else _pack_iiiibii(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                parts.append(_pack_iiqiqix(item6.partition, item6.current_leader_epoch, item6.fetch_offset, item6.last_fetched_epoch, item6.log_start_offset, item6.partition_max_bytes))
            parts.append(b"\0")
        items7 = message.forgotten_topics_data
        n8 = len(items7) + 1
        parts.append(_pack_B(n8) if n8 < 128 else uvarint(n8))
        for item9 in items7:
            items10 = item9.partitions
            n11 = len(items10) + 1
            parts += (_pack_16sB(item9.topic_id, n11) if n11 < 128 else _pack_16s(item9.topic_id) + uvarint(n11), pack(f">{len(items10)}i", *items10), b"\0")
        b12 = message.rack_id.encode()
        n13 = len(b12) + 1
        parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12)
        count14 = 0
        tags15: list[bytes] = []
        if message.cluster_id is not None:
            b17 = message.cluster_id
            b19 = b"" if b17 is None else b17.encode()
            n18 = 0 if b17 is None else len(b19) + 1
            parts16: list[bytes] = [_pack_B(n18) if n18 < 128 else uvarint(n18), b19]
            body20 = b"".join(parts16)
            tags15 += (uvarint(0), uvarint(len(body20)), body20)
            count14 += 1
        parts += (uvarint(count14), *tags15)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v15(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iiibiiB(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2) if n2 < 128 else _pack_iiibii(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                parts.append(_pack_iiqiqix(item6.partition, item6.current_leader_epoch, item6.fetch_offset, item6.last_fetched_epoch, item6.log_start_offset, item6.partition_max_bytes))
            parts.append(b"\0")
        items7 = message.forgotten_topics_data
        n8 = len(items7) + 1
        parts.append(_pack_B(n8) if n8 < 128 else uvarint(n8))
        for item9 in items7:
            items10 = item9.partitions
            n11 = len(items10) + 1
            parts += (_pack_16sB(item9.topic_id, n11) if n11 < 128 else _pack_16s(item9.topic_id) + uvarint(n11), pack(f">{len(items10)}i", *items10), b"\0")
        b12 = message.rack_id.encode()
        n13 = len(b12) + 1
        parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12)
        count14 = 0
        tags15: list[bytes] = []
        if message.cluster_id is not None:
            b17 = message.cluster_id
            b19 = b"" if b17 is None else b17.encode()
            n18 = 0 if b17 is None else len(b19) + 1
            parts16: list[bytes] = [_pack_B(n18) if n18 < 128 else uvarint(n18), b19]
            body20 = b"".join(parts16)
            tags15 += (uvarint(0), uvarint(len(body20)), body20)
            count14 += 1
        if message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1:
            struct22 = message.replica_state
            parts21: list[bytes] = [_pack_iqx(struct22.replica_id, struct22.replica_epoch)]
            body23 = b"".join(parts21)
            tags15 += (uvarint(1), uvarint(len(body23)), body23)
            count14 += 1
        parts += (uvarint(count14), *tags15)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v17(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iiibiiB(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2) if n2 < 128 else _pack_iiibii(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                parts.append(_pack_iiqiqi(item6.partition, item6.current_leader_epoch, item6.fetch_offset, item6.last_fetched_epoch, item6.log_start_offset, item6.partition_max_bytes))
                count7 = 0
                tags8: list[bytes] = []
                if item6.replica_directory_id != ZERO_UUID:
                    parts9: list[bytes] = [_pack_16s(item6.replica_directory_id)]
                    body10 = b"".join(parts9)
                    tags8 += (uvarint(0), uvarint(len(body10)), body10)
                    count7 += 1
                parts += (uvarint(count7), *tags8)
            parts.append(b"\0")
        items11 = message.forgotten_topics_data
        n12 = len(items11) + 1
        parts.append(_pack_B(n12) if n12 < 128 else uvarint(n12))
        for item13 in items11:
            items14 = item13.partitions
            n15 = len(items14) + 1
            parts += (_pack_16sB(item13.topic_id, n15) if n15 < 128 else _pack_16s(item13.topic_id) + uvarint(n15), pack(f">{len(items14)}i", *items14), b"\0")
        b16 = message.rack_id.encode()
        n17 = len(b16) + 1
        parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b16)
        count18 = 0
        tags19: list[bytes] = []
        if message.cluster_id is not None:
            b21 = message.cluster_id
            b23 = b"" if b21 is None else b21.encode()
            n22 = 0 if b21 is None else len(b23) + 1
            parts20: list[bytes] = [_pack_B(n22) if n22 < 128 else uvarint(n22), b23]
            body24 = b"".join(parts20)
            tags19 += (uvarint(0), uvarint(len(body24)), body24)
            count18 += 1
        if message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1:
            struct26 = message.replica_state
            parts25: list[bytes] = [_pack_iqx(struct26.replica_id, struct26.replica_epoch)]
            body27 = b"".join(parts25)
            tags19 += (uvarint(1), uvarint(len(body27)), body27)
            count18 += 1
        parts += (uvarint(count18), *tags19)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def encode_fetch_request_v18(message: FetchRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iiibiiB(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch, n2) if n2 < 128 else _pack_iiibii(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                parts.append(_pack_iiqiqi(item6.partition, item6.current_leader_epoch, item6.fetch_offset, item6.last_fetched_epoch, item6.log_start_offset, item6.partition_max_bytes))
                count7 = 0
                tags8: list[bytes] = []
                if item6.replica_directory_id != ZERO_UUID:
                    parts9: list[bytes] = [_pack_16s(item6.replica_directory_id)]
                    body10 = b"".join(parts9)
                    tags8 += (uvarint(0), uvarint(len(body10)), body10)
                    count7 += 1
                if item6.high_watermark != 9223372036854775807:
                    parts11: list[bytes] = [_pack_q(item6.high_watermark)]
                    body12 = b"".join(parts11)
                    tags8 += (uvarint(1), uvarint(len(body12)), body12)
                    count7 += 1
                parts += (uvarint(count7), *tags8)
            parts.append(b"\0")
        items13 = message.forgotten_topics_data
        n14 = len(items13) + 1
        parts.append(_pack_B(n14) if n14 < 128 else uvarint(n14))
        for item15 in items13:
            items16 = item15.partitions
            n17 = len(items16) + 1
            parts += (_pack_16sB(item15.topic_id, n17) if n17 < 128 else _pack_16s(item15.topic_id) + uvarint(n17), pack(f">{len(items16)}i", *items16), b"\0")
        b18 = message.rack_id.encode()
        n19 = len(b18) + 1
        parts += (_pack_B(n19) if n19 < 128 else uvarint(n19), b18)
        count20 = 0
        tags21: list[bytes] = []
        if message.cluster_id is not None:
            b23 = message.cluster_id
            b25 = b"" if b23 is None else b23.encode()
            n24 = 0 if b23 is None else len(b25) + 1
            parts22: list[bytes] = [_pack_B(n24) if n24 < 128 else uvarint(n24), b25]
            body26 = b"".join(parts22)
            tags21 += (uvarint(0), uvarint(len(body26)), body26)
            count20 += 1
        if message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1:
            struct28 = message.replica_state
            parts27: list[bytes] = [_pack_iqx(struct28.replica_id, struct28.replica_epoch)]
            body29 = b"".join(parts27)
            tags21 += (uvarint(1), uvarint(len(body29)), body29)
            count20 += 1
        parts += (uvarint(count20), *tags21)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchRequest", error) from error


def decode_fetch_response_v0(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, n6 = _unpack_ihqi(data, position)
                position += 18
                records_2: bytes | None
                if n6 >= 0:
                    records_2 = data[position : position + n6]
                    position += n6
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, -1, -1, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), [], -1, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(0, 0, 0, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v1(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, n6 = _unpack_ihqi(data, position)
                position += 18
                records_2: bytes | None
                if n6 >= 0:
                    records_2 = data[position : position + n6]
                    position += n6
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, -1, -1, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), [], -1, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, 0, 0, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v4(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 30 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, n6 = _unpack_ihqqi(data, position)
                position += 26
                aborted_transactions_2: list[AbortedTransaction] | None
                if n6 < 0:
                    aborted_transactions_2 = None
                else:
                    if n6 < 0 or n6 * 16 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list7: list[AbortedTransaction] = []
                    for _ in range(n6):
                        producer_id_3, first_offset_3 = _unpack_qq(data, position)
                        position += 16
                        list7.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list7
                (n8,) = _unpack_i(data, position)
                position += 4
                records_2: bytes | None
                if n8 >= 0:
                    records_2 = data[position : position + n8]
                    position += n8
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, -1, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions_2, -1, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, 0, 0, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v5(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 38 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n6 = _unpack_ihqqqi(data, position)
                position += 34
                aborted_transactions_2: list[AbortedTransaction] | None
                if n6 < 0:
                    aborted_transactions_2 = None
                else:
                    if n6 < 0 or n6 * 16 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list7: list[AbortedTransaction] = []
                    for _ in range(n6):
                        producer_id_3, first_offset_3 = _unpack_qq(data, position)
                        position += 16
                        list7.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list7
                (n8,) = _unpack_i(data, position)
                position += 4
                records_2: bytes | None
                if n8 >= 0:
                    records_2 = data[position : position + n8]
                    position += n8
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions_2, -1, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, 0, 0, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v7(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, session_id, n1 = _unpack_ihii(data, position)
        position += 14
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 38 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n6 = _unpack_ihqqqi(data, position)
                position += 34
                aborted_transactions_2: list[AbortedTransaction] | None
                if n6 < 0:
                    aborted_transactions_2 = None
                else:
                    if n6 < 0 or n6 * 16 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list7: list[AbortedTransaction] = []
                    for _ in range(n6):
                        producer_id_3, first_offset_3 = _unpack_qq(data, position)
                        position += 16
                        list7.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list7
                (n8,) = _unpack_i(data, position)
                position += 4
                records_2: bytes | None
                if n8 >= 0:
                    records_2 = data[position : position + n8]
                    position += n8
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions_2, -1, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v11(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, session_id, n1 = _unpack_ihii(data, position)
        position += 14
        responses: list[FetchableTopicResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[PartitionData]
            if n4 < 0 or n4 * 42 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n6 = _unpack_ihqqqi(data, position)
                position += 34
                aborted_transactions_2: list[AbortedTransaction] | None
                if n6 < 0:
                    aborted_transactions_2 = None
                else:
                    if n6 < 0 or n6 * 16 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list7: list[AbortedTransaction] = []
                    for _ in range(n6):
                        producer_id_3, first_offset_3 = _unpack_qq(data, position)
                        position += 16
                        list7.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list7
                preferred_read_replica_2, n8 = _unpack_ii(data, position)
                position += 8
                records_2: bytes | None
                if n8 >= 0:
                    records_2 = data[position : position + n8]
                    position += n8
                else:
                    records_2 = None
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), aborted_transactions_2, preferred_read_replica_2, records_2))
            partitions_1 = list5
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v12(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, session_id, n1 = _unpack_ihiB(data, position)
        position += 11
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[FetchableTopicResponse]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
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
            partitions_1: list[PartitionData]
            n4 -= 1
            if n4 < 0 or n4 * 37 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[PartitionData] = []
            for _ in range(n4):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n6 = _unpack_ihqqqB(data, position)
                position += 31
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                aborted_transactions_2: list[AbortedTransaction] | None
                if not n6:
                    aborted_transactions_2 = None
                else:
                    n6 -= 1
                    if n6 < 0 or n6 * 17 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list7: list[AbortedTransaction] = []
                    for _ in range(n6):
                        producer_id_3, first_offset_3, tags8 = _unpack_qqB(data, position)
                        position += 17
                        if tags8:
                            if tags8 > 127:
                                tags8, position = read_tag_count_tail(data, position, tags8)
                            position = skip_tags(data, position, tags8)
                        list7.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list7
                preferred_read_replica_2, n9 = _unpack_iB(data, position)
                position += 5
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                records_2: bytes | None
                if n9:
                    records_2 = data[position : position + n9 - 1]
                    position += n9 - 1
                else:
                    records_2 = None
                tags10 = data[position]
                position += 1
                diverging_epoch_2: EpochEndOffset = EpochEndOffset()
                current_leader_2: LeaderIdAndEpoch = LeaderIdAndEpoch()
                snapshot_id_2: SnapshotId = SnapshotId()
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    previous12 = -1
                    for _ in range(tags10):
                        tag11, end13, position = read_tag(data, position, previous12)
                        previous12 = tag11
                        if tag11 == 0:
                            epoch_4, end_offset_4, tags14 = _unpack_iqB(data, position)
                            position += 13
                            if tags14:
                                if tags14 > 127:
                                    tags14, position = read_tag_count_tail(data, position, tags14)
                                position = skip_tags(data, position, tags14)
                            diverging_epoch_2 = EpochEndOffset(epoch_4, end_offset_4)
                            if position != end13:
                                raise DecodeError("diverging_epoch does not fill its tag")
                        elif tag11 == 1:
                            leader_id_5, leader_epoch_5, tags15 = _unpack_iiB(data, position)
                            position += 9
                            if tags15:
                                if tags15 > 127:
                                    tags15, position = read_tag_count_tail(data, position, tags15)
                                position = skip_tags(data, position, tags15)
                            current_leader_2 = LeaderIdAndEpoch(leader_id_5, leader_epoch_5)
                            if position != end13:
                                raise DecodeError("current_leader does not fill its tag")
                        elif tag11 == 2:
                            end_offset_6, epoch_6, tags16 = _unpack_qiB(data, position)
                            position += 13
                            if tags16:
                                if tags16 > 127:
                                    tags16, position = read_tag_count_tail(data, position, tags16)
                                position = skip_tags(data, position, tags16)
                            snapshot_id_2 = SnapshotId(end_offset_6, epoch_6)
                            if position != end13:
                                raise DecodeError("snapshot_id does not fill its tag")
                        position = end13
                list5.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, diverging_epoch_2, current_leader_2, snapshot_id_2, aborted_transactions_2, preferred_read_replica_2, records_2))
            partitions_1 = list5
            tags17 = data[position]
            position += 1
            if tags17:
                if tags17 > 127:
                    tags17, position = read_tag_count_tail(data, position, tags17)
                position = skip_tags(data, position, tags17)
            list2.append(FetchableTopicResponse(topic_1, ZERO_UUID, partitions_1))
        responses = list2
        tags18 = data[position]
        position += 1
        if tags18:
            if tags18 > 127:
                tags18, position = read_tag_count_tail(data, position, tags18)
            position = skip_tags(data, position, tags18)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v13(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, session_id, n1 = _unpack_ihiB(data, position)
        position += 11
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[FetchableTopicResponse]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[PartitionData]
            n3 -= 1
            if n3 < 0 or n3 * 37 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list4: list[PartitionData] = []
            for _ in range(n3):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n5 = _unpack_ihqqqB(data, position)
                position += 31
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                aborted_transactions_2: list[AbortedTransaction] | None
                if not n5:
                    aborted_transactions_2 = None
                else:
                    n5 -= 1
                    if n5 < 0 or n5 * 17 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list6: list[AbortedTransaction] = []
                    for _ in range(n5):
                        producer_id_3, first_offset_3, tags7 = _unpack_qqB(data, position)
                        position += 17
                        if tags7:
                            if tags7 > 127:
                                tags7, position = read_tag_count_tail(data, position, tags7)
                            position = skip_tags(data, position, tags7)
                        list6.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list6
                preferred_read_replica_2, n8 = _unpack_iB(data, position)
                position += 5
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                records_2: bytes | None
                if n8:
                    records_2 = data[position : position + n8 - 1]
                    position += n8 - 1
                else:
                    records_2 = None
                tags9 = data[position]
                position += 1
                diverging_epoch_2: EpochEndOffset = EpochEndOffset()
                current_leader_2: LeaderIdAndEpoch = LeaderIdAndEpoch()
                snapshot_id_2: SnapshotId = SnapshotId()
                if tags9:
                    if tags9 > 127:
                        tags9, position = read_tag_count_tail(data, position, tags9)
                    previous11 = -1
                    for _ in range(tags9):
                        tag10, end12, position = read_tag(data, position, previous11)
                        previous11 = tag10
                        if tag10 == 0:
                            epoch_4, end_offset_4, tags13 = _unpack_iqB(data, position)
                            position += 13
                            if tags13:
                                if tags13 > 127:
                                    tags13, position = read_tag_count_tail(data, position, tags13)
                                position = skip_tags(data, position, tags13)
                            diverging_epoch_2 = EpochEndOffset(epoch_4, end_offset_4)
                            if position != end12:
                                raise DecodeError("diverging_epoch does not fill its tag")
                        elif tag10 == 1:
                            leader_id_5, leader_epoch_5, tags14 = _unpack_iiB(data, position)
                            position += 9
                            if tags14:
                                if tags14 > 127:
                                    tags14, position = read_tag_count_tail(data, position, tags14)
                                position = skip_tags(data, position, tags14)
                            current_leader_2 = LeaderIdAndEpoch(leader_id_5, leader_epoch_5)
                            if position != end12:
                                raise DecodeError("current_leader does not fill its tag")
                        elif tag10 == 2:
                            end_offset_6, epoch_6, tags15 = _unpack_qiB(data, position)
                            position += 13
                            if tags15:
                                if tags15 > 127:
                                    tags15, position = read_tag_count_tail(data, position, tags15)
                                position = skip_tags(data, position, tags15)
                            snapshot_id_2 = SnapshotId(end_offset_6, epoch_6)
                            if position != end12:
                                raise DecodeError("snapshot_id does not fill its tag")
                        position = end12
                list4.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, diverging_epoch_2, current_leader_2, snapshot_id_2, aborted_transactions_2, preferred_read_replica_2, records_2))
            partitions_1 = list4
            tags16 = data[position]
            position += 1
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list2.append(FetchableTopicResponse("", topic_id_1, partitions_1))
        responses = list2
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_fetch_response_v16(data: bytes, position: int) -> FetchResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, session_id, n1 = _unpack_ihiB(data, position)
        position += 11
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[FetchableTopicResponse]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[FetchableTopicResponse] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[PartitionData]
            n3 -= 1
            if n3 < 0 or n3 * 37 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list4: list[PartitionData] = []
            for _ in range(n3):
                partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, n5 = _unpack_ihqqqB(data, position)
                position += 31
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                aborted_transactions_2: list[AbortedTransaction] | None
                if not n5:
                    aborted_transactions_2 = None
                else:
                    n5 -= 1
                    if n5 < 0 or n5 * 17 > size - position:
                        raise DecodeError("aborted_transactions has more elements than bytes, or is null")
                    list6: list[AbortedTransaction] = []
                    for _ in range(n5):
                        producer_id_3, first_offset_3, tags7 = _unpack_qqB(data, position)
                        position += 17
                        if tags7:
                            if tags7 > 127:
                                tags7, position = read_tag_count_tail(data, position, tags7)
                            position = skip_tags(data, position, tags7)
                        list6.append(AbortedTransaction(producer_id_3, first_offset_3))
                    aborted_transactions_2 = list6
                preferred_read_replica_2, n8 = _unpack_iB(data, position)
                position += 5
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                records_2: bytes | None
                if n8:
                    records_2 = data[position : position + n8 - 1]
                    position += n8 - 1
                else:
                    records_2 = None
                tags9 = data[position]
                position += 1
                diverging_epoch_2: EpochEndOffset = EpochEndOffset()
                current_leader_2: LeaderIdAndEpoch = LeaderIdAndEpoch()
                snapshot_id_2: SnapshotId = SnapshotId()
                if tags9:
                    if tags9 > 127:
                        tags9, position = read_tag_count_tail(data, position, tags9)
                    previous11 = -1
                    for _ in range(tags9):
                        tag10, end12, position = read_tag(data, position, previous11)
                        previous11 = tag10
                        if tag10 == 0:
                            epoch_4, end_offset_4, tags13 = _unpack_iqB(data, position)
                            position += 13
                            if tags13:
                                if tags13 > 127:
                                    tags13, position = read_tag_count_tail(data, position, tags13)
                                position = skip_tags(data, position, tags13)
                            diverging_epoch_2 = EpochEndOffset(epoch_4, end_offset_4)
                            if position != end12:
                                raise DecodeError("diverging_epoch does not fill its tag")
                        elif tag10 == 1:
                            leader_id_5, leader_epoch_5, tags14 = _unpack_iiB(data, position)
                            position += 9
                            if tags14:
                                if tags14 > 127:
                                    tags14, position = read_tag_count_tail(data, position, tags14)
                                position = skip_tags(data, position, tags14)
                            current_leader_2 = LeaderIdAndEpoch(leader_id_5, leader_epoch_5)
                            if position != end12:
                                raise DecodeError("current_leader does not fill its tag")
                        elif tag10 == 2:
                            end_offset_6, epoch_6, tags15 = _unpack_qiB(data, position)
                            position += 13
                            if tags15:
                                if tags15 > 127:
                                    tags15, position = read_tag_count_tail(data, position, tags15)
                                position = skip_tags(data, position, tags15)
                            snapshot_id_2 = SnapshotId(end_offset_6, epoch_6)
                            if position != end12:
                                raise DecodeError("snapshot_id does not fill its tag")
                        position = end12
                list4.append(PartitionData(partition_index_2, error_code_2, high_watermark_2, last_stable_offset_2, log_start_offset_2, diverging_epoch_2, current_leader_2, snapshot_id_2, aborted_transactions_2, preferred_read_replica_2, records_2))
            partitions_1 = list4
            tags16 = data[position]
            position += 1
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list2.append(FetchableTopicResponse("", topic_id_1, partitions_1))
        responses = list2
        tags17 = data[position]
        position += 1
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
                        node_id_7, n23 = _unpack_iB(data, position)
                        position += 5
                        if n23 > 127:
                            n23, position = read_uvarint_tail(data, position, n23)
                        if not n23:
                            raise DecodeError("host is null")
                        host_7 = data[position : position + n23 - 1].decode("utf-8", "replace")
                        position += n23 - 1
                        port_7, n24 = _unpack_iB(data, position)
                        position += 5
                        if n24 > 127:
                            n24, position = read_uvarint_tail(data, position, n24)
                        rack_7: str | None
                        if n24:
                            rack_7 = data[position : position + n24 - 1].decode("utf-8", "replace")
                            position += n24 - 1
                        else:
                            rack_7 = None
                        tags25 = data[position]
                        position += 1
                        if tags25:
                            if tags25 > 127:
                                tags25, position = read_tag_count_tail(data, position, tags25)
                            position = skip_tags(data, position, tags25)
                        list22.append(NodeEndpoint(node_id_7, host_7, port_7, rack_7))
                    node_endpoints = list22
                    if position != end20:
                        raise DecodeError("node_endpoints does not fill its tag")
                position = end20
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_fetch_response_v0(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.records
                if b9 is None:
                    b9, n10 = b"", -1
                else:
                    n10 = len(b9)
                parts += (_pack_ihqi(item8.partition_index, item8.error_code, item8.high_watermark, n10), b9)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v1(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.records
                if b9 is None:
                    b9, n10 = b"", -1
                else:
                    n10 = len(b9)
                parts += (_pack_ihqi(item8.partition_index, item8.error_code, item8.high_watermark, n10), b9)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v4(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.aborted_transactions
                if items9 is None:
                    items9, n10 = [], -1
                else:
                    n10 = len(items9)
                parts.append(_pack_ihqqi(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, n10))
                for item11 in items9:
                    parts.append(_pack_qq(item11.producer_id, item11.first_offset))
                b12 = item8.records
                if b12 is None:
                    b12, n13 = b"", -1
                else:
                    n13 = len(b12)
                parts += (_pack_i(n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v5(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.aborted_transactions
                if items9 is None:
                    items9, n10 = [], -1
                else:
                    n10 = len(items9)
                parts.append(_pack_ihqqqi(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, item8.log_start_offset, n10))
                for item11 in items9:
                    parts.append(_pack_qq(item11.producer_id, item11.first_offset))
                b12 = item8.records
                if b12 is None:
                    b12, n13 = b"", -1
                else:
                    n13 = len(b12)
                parts += (_pack_i(n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v7(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ihii(message.throttle_time_ms, message.error_code, message.session_id, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.aborted_transactions
                if items9 is None:
                    items9, n10 = [], -1
                else:
                    n10 = len(items9)
                parts.append(_pack_ihqqqi(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, item8.log_start_offset, n10))
                for item11 in items9:
                    parts.append(_pack_qq(item11.producer_id, item11.first_offset))
                b12 = item8.records
                if b12 is None:
                    b12, n13 = b"", -1
                else:
                    n13 = len(b12)
                parts += (_pack_i(n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v11(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ihii(message.throttle_time_ms, message.error_code, message.session_id, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                items9 = item8.aborted_transactions
                if items9 is None:
                    items9, n10 = [], -1
                else:
                    n10 = len(items9)
                parts.append(_pack_ihqqqi(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, item8.log_start_offset, n10))
                for item11 in items9:
                    parts.append(_pack_qq(item11.producer_id, item11.first_offset))
                b12 = item8.records
                if b12 is None:
                    b12, n13 = b"", -1
                else:
                    n13 = len(b12)
                parts += (_pack_ii(item8.preferred_read_replica, n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v12(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.session_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.session_id) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                items9 = item8.aborted_transactions
                if items9 is None:
                    items9, n10 = [], 0
                else:
                    n10 = len(items9) + 1
                parts.append(_pack_ihqqqB(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, item8.log_start_offset, n10) if n10 < 128 else _pack_ihqqq(item8.partition_index, item8.error_code, item8.high_watermark, item8.last_stable_offset, item8.log_start_offset) + uvarint(n10))
                for item11 in items9:
                    parts.append(_pack_qqx(item11.producer_id, item11.first_offset))
                b12 = item8.records
                if b12 is None:
                    b12, n13 = b"", 0
                else:
                    n13 = len(b12) + 1
                parts += (_pack_iB(item8.preferred_read_replica, n13) if n13 < 128 else _pack_i(item8.preferred_read_replica) + uvarint(n13), b12)
                count14 = 0
                tags15: list[bytes] = []
                if item8.diverging_epoch.epoch != -1 or item8.diverging_epoch.end_offset != -1:
                    struct17 = item8.diverging_epoch
                    parts16: list[bytes] = [_pack_iqx(struct17.epoch, struct17.end_offset)]
                    body18 = b"".join(parts16)
                    tags15 += (uvarint(0), uvarint(len(body18)), body18)
                    count14 += 1
                if item8.current_leader.leader_id != -1 or item8.current_leader.leader_epoch != -1:
                    struct20 = item8.current_leader
                    parts19: list[bytes] = [_pack_iix(struct20.leader_id, struct20.leader_epoch)]
                    body21 = b"".join(parts19)
                    tags15 += (uvarint(1), uvarint(len(body21)), body21)
                    count14 += 1
                if item8.snapshot_id.end_offset != -1 or item8.snapshot_id.epoch != -1:
                    struct23 = item8.snapshot_id
                    parts22: list[bytes] = [_pack_qix(struct23.end_offset, struct23.epoch)]
                    body24 = b"".join(parts22)
                    tags15 += (uvarint(2), uvarint(len(body24)), body24)
                    count14 += 1
                parts += (uvarint(count14), *tags15)
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v13(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.session_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.session_id) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                items7 = item6.aborted_transactions
                if items7 is None:
                    items7, n8 = [], 0
                else:
                    n8 = len(items7) + 1
                parts.append(_pack_ihqqqB(item6.partition_index, item6.error_code, item6.high_watermark, item6.last_stable_offset, item6.log_start_offset, n8) if n8 < 128 else _pack_ihqqq(item6.partition_index, item6.error_code, item6.high_watermark, item6.last_stable_offset, item6.log_start_offset) + uvarint(n8))
                for item9 in items7:
                    parts.append(_pack_qqx(item9.producer_id, item9.first_offset))
                b10 = item6.records
                if b10 is None:
                    b10, n11 = b"", 0
                else:
                    n11 = len(b10) + 1
                parts += (_pack_iB(item6.preferred_read_replica, n11) if n11 < 128 else _pack_i(item6.preferred_read_replica) + uvarint(n11), b10)
                count12 = 0
                tags13: list[bytes] = []
                if item6.diverging_epoch.epoch != -1 or item6.diverging_epoch.end_offset != -1:
                    struct15 = item6.diverging_epoch
                    parts14: list[bytes] = [_pack_iqx(struct15.epoch, struct15.end_offset)]
                    body16 = b"".join(parts14)
                    tags13 += (uvarint(0), uvarint(len(body16)), body16)
                    count12 += 1
                if item6.current_leader.leader_id != -1 or item6.current_leader.leader_epoch != -1:
                    struct18 = item6.current_leader
                    parts17: list[bytes] = [_pack_iix(struct18.leader_id, struct18.leader_epoch)]
                    body19 = b"".join(parts17)
                    tags13 += (uvarint(1), uvarint(len(body19)), body19)
                    count12 += 1
                if item6.snapshot_id.end_offset != -1 or item6.snapshot_id.epoch != -1:
                    struct21 = item6.snapshot_id
                    parts20: list[bytes] = [_pack_qix(struct21.end_offset, struct21.epoch)]
                    body22 = b"".join(parts20)
                    tags13 += (uvarint(2), uvarint(len(body22)), body22)
                    count12 += 1
                parts += (uvarint(count12), *tags13)
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FetchResponse", error) from error


def encode_fetch_response_v16(message: FetchResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.session_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.session_id) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts.append(_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5))
            for item6 in items4:
                items7 = item6.aborted_transactions
                if items7 is None:
                    items7, n8 = [], 0
                else:
                    n8 = len(items7) + 1
                parts.append(_pack_ihqqqB(item6.partition_index, item6.error_code, item6.high_watermark, item6.last_stable_offset, item6.log_start_offset, n8) if n8 < 128 else _pack_ihqqq(item6.partition_index, item6.error_code, item6.high_watermark, item6.last_stable_offset, item6.log_start_offset) + uvarint(n8))
                for item9 in items7:
                    parts.append(_pack_qqx(item9.producer_id, item9.first_offset))
                b10 = item6.records
                if b10 is None:
                    b10, n11 = b"", 0
                else:
                    n11 = len(b10) + 1
                parts += (_pack_iB(item6.preferred_read_replica, n11) if n11 < 128 else _pack_i(item6.preferred_read_replica) + uvarint(n11), b10)
                count12 = 0
                tags13: list[bytes] = []
                if item6.diverging_epoch.epoch != -1 or item6.diverging_epoch.end_offset != -1:
                    struct15 = item6.diverging_epoch
                    parts14: list[bytes] = [_pack_iqx(struct15.epoch, struct15.end_offset)]
                    body16 = b"".join(parts14)
                    tags13 += (uvarint(0), uvarint(len(body16)), body16)
                    count12 += 1
                if item6.current_leader.leader_id != -1 or item6.current_leader.leader_epoch != -1:
                    struct18 = item6.current_leader
                    parts17: list[bytes] = [_pack_iix(struct18.leader_id, struct18.leader_epoch)]
                    body19 = b"".join(parts17)
                    tags13 += (uvarint(1), uvarint(len(body19)), body19)
                    count12 += 1
                if item6.snapshot_id.end_offset != -1 or item6.snapshot_id.epoch != -1:
                    struct21 = item6.snapshot_id
                    parts20: list[bytes] = [_pack_qix(struct21.end_offset, struct21.epoch)]
                    body22 = b"".join(parts20)
                    tags13 += (uvarint(2), uvarint(len(body22)), body22)
                    count12 += 1
                parts += (uvarint(count12), *tags13)
            parts.append(b"\0")
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
        raise unwritable("FetchResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], FetchRequest]]] = {
    0: decode_fetch_request_v0,
    1: decode_fetch_request_v0,
    2: decode_fetch_request_v0,
    3: decode_fetch_request_v3,
    4: decode_fetch_request_v4,
    5: decode_fetch_request_v5,
    6: decode_fetch_request_v5,
    7: decode_fetch_request_v7,
    8: decode_fetch_request_v7,
    9: decode_fetch_request_v9,
    10: decode_fetch_request_v9,
    11: decode_fetch_request_v11,
    12: decode_fetch_request_v12,
    13: decode_fetch_request_v13,
    14: decode_fetch_request_v13,
    15: decode_fetch_request_v15,
    16: decode_fetch_request_v15,
    17: decode_fetch_request_v17,
    18: decode_fetch_request_v18,
}

ENCODE_REQUEST: Final[dict[int, Callable[[FetchRequest], bytes]]] = {
    0: encode_fetch_request_v0,
    1: encode_fetch_request_v0,
    2: encode_fetch_request_v0,
    3: encode_fetch_request_v3,
    4: encode_fetch_request_v4,
    5: encode_fetch_request_v5,
    6: encode_fetch_request_v5,
    7: encode_fetch_request_v7,
    8: encode_fetch_request_v7,
    9: encode_fetch_request_v9,
    10: encode_fetch_request_v9,
    11: encode_fetch_request_v11,
    12: encode_fetch_request_v12,
    13: encode_fetch_request_v13,
    14: encode_fetch_request_v13,
    15: encode_fetch_request_v15,
    16: encode_fetch_request_v15,
    17: encode_fetch_request_v17,
    18: encode_fetch_request_v18,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], FetchResponse]]] = {
    0: decode_fetch_response_v0,
    1: decode_fetch_response_v1,
    2: decode_fetch_response_v1,
    3: decode_fetch_response_v1,
    4: decode_fetch_response_v4,
    5: decode_fetch_response_v5,
    6: decode_fetch_response_v5,
    7: decode_fetch_response_v7,
    8: decode_fetch_response_v7,
    9: decode_fetch_response_v7,
    10: decode_fetch_response_v7,
    11: decode_fetch_response_v11,
    12: decode_fetch_response_v12,
    13: decode_fetch_response_v13,
    14: decode_fetch_response_v13,
    15: decode_fetch_response_v13,
    16: decode_fetch_response_v16,
    17: decode_fetch_response_v16,
    18: decode_fetch_response_v16,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[FetchResponse], bytes]]] = {
    0: encode_fetch_response_v0,
    1: encode_fetch_response_v1,
    2: encode_fetch_response_v1,
    3: encode_fetch_response_v1,
    4: encode_fetch_response_v4,
    5: encode_fetch_response_v5,
    6: encode_fetch_response_v5,
    7: encode_fetch_response_v7,
    8: encode_fetch_response_v7,
    9: encode_fetch_response_v7,
    10: encode_fetch_response_v7,
    11: encode_fetch_response_v11,
    12: encode_fetch_response_v12,
    13: encode_fetch_response_v13,
    14: encode_fetch_response_v13,
    15: encode_fetch_response_v13,
    16: encode_fetch_response_v16,
    17: encode_fetch_response_v16,
    18: encode_fetch_response_v16,
}
