"""ConsumerGroupDescribe: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.consumer_group_describe`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
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

_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_ix = Struct(">ix").pack
_pack_ox = Struct(">?x").pack
_pack_xB = Struct(">xB").pack
_pack_xbx = Struct(">xbx").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_consumer_group_describe_request_v0(data: bytes, position: int, left: int) -> ConsumerGroupDescribeRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        group_ids: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("group_ids has more elements than bytes, or is null")
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
                raise DecodeError("group_ids is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        group_ids = list2
        include_authorized_operations, tags5 = _unpack_oB(data, position)
        position += 2
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_describe_request_v0(message: ConsumerGroupDescribeRequest) -> bytes:
    try:
        items1 = message.group_ids
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(_pack_ox(message.include_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupDescribeRequest", error) from error


def decode_consumer_group_describe_response_v0(data: bytes, position: int) -> ConsumerGroupDescribeResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[DescribedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 20 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            error_message_1: str | None
            if n3:
                error_message_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                error_message_1 = None
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            group_epoch_1, assignment_epoch_1, n6 = _unpack_iiB(data, position)
            position += 9
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            if not n6:
                raise DecodeError("assignor_name is null")
            assignor_name_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            members_1: list[Member]
            n7 -= 1
            if n7 < 0 or n7 * 16 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[Member] = []
            for _ in range(n7):
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                if not n9:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                instance_id_2: str | None
                if n10:
                    instance_id_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    instance_id_2 = None
                n11 = data[position]
                position += 1
                if n11 > 127:
                    n11, position = read_uvarint_tail(data, position, n11)
                rack_id_2: str | None
                if n11:
                    rack_id_2 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                else:
                    rack_id_2 = None
                member_epoch_2, n12 = _unpack_iB(data, position)
                position += 5
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                if not n12:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n12 - 1].decode("utf-8", "replace")
                position += n12 - 1
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                if not n13:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n13 - 1].decode("utf-8", "replace")
                position += n13 - 1
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                subscribed_topic_names_2: list[str]
                n14 -= 1
                if n14 < 0 or n14 > size - position:
                    raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
                list15: list[str] = []
                for _ in range(n14):
                    n17 = data[position]
                    position += 1
                    if n17 > 127:
                        n17, position = read_uvarint_tail(data, position, n17)
                    if not n17:
                        raise DecodeError("subscribed_topic_names is null")
                    element16 = data[position : position + n17 - 1].decode("utf-8", "replace")
                    position += n17 - 1
                    list15.append(element16)
                subscribed_topic_names_2 = list15
                n18 = data[position]
                position += 1
                if n18 > 127:
                    n18, position = read_uvarint_tail(data, position, n18)
                subscribed_topic_regex_2: str | None
                if n18:
                    subscribed_topic_regex_2 = data[position : position + n18 - 1].decode("utf-8", "replace")
                    position += n18 - 1
                else:
                    subscribed_topic_regex_2 = None
                n19 = data[position]
                position += 1
                if n19 > 127:
                    n19, position = read_uvarint_tail(data, position, n19)
                topic_partitions_3: list[TopicPartitions]
                n19 -= 1
                if n19 < 0 or n19 * 19 > size - position:
                    raise DecodeError("topic_partitions has more elements than bytes, or is null")
                list20: list[TopicPartitions] = []
                for _ in range(n19):
                    topic_id_4, n21 = _unpack_16sB(data, position)
                    position += 17
                    if n21 > 127:
                        n21, position = read_uvarint_tail(data, position, n21)
                    if not n21:
                        raise DecodeError("topic_name is null")
                    topic_name_4 = data[position : position + n21 - 1].decode("utf-8", "replace")
                    position += n21 - 1
                    n22 = data[position]
                    position += 1
                    if n22 > 127:
                        n22, position = read_uvarint_tail(data, position, n22)
                    partitions_4: list[int]
                    n22 -= 1
                    if n22 < 0 or n22 * 4 > size - position:
                        raise DecodeError("partitions has more elements than bytes, or is null")
                    partitions_4 = list(unpack_from(f">{n22}i", data, position))
                    position += n22 * 4
                    tags23 = data[position]
                    position += 1
                    if tags23:
                        if tags23 > 127:
                            tags23, position = read_tag_count_tail(data, position, tags23)
                        position = skip_tags(data, position, tags23)
                    list20.append(TopicPartitions(topic_id_4, topic_name_4, partitions_4))
                topic_partitions_3 = list20
                tags24 = data[position]
                position += 1
                if tags24:
                    if tags24 > 127:
                        tags24, position = read_tag_count_tail(data, position, tags24)
                    position = skip_tags(data, position, tags24)
                assignment_2 = Assignment(topic_partitions_3)
                n25 = data[position]
                position += 1
                if n25 > 127:
                    n25, position = read_uvarint_tail(data, position, n25)
                topic_partitions_5: list[TopicPartitions]
                n25 -= 1
                if n25 < 0 or n25 * 19 > size - position:
                    raise DecodeError("topic_partitions has more elements than bytes, or is null")
                list26: list[TopicPartitions] = []
                for _ in range(n25):
                    topic_id_6, n27 = _unpack_16sB(data, position)
                    position += 17
                    if n27 > 127:
                        n27, position = read_uvarint_tail(data, position, n27)
                    if not n27:
                        raise DecodeError("topic_name is null")
                    topic_name_6 = data[position : position + n27 - 1].decode("utf-8", "replace")
                    position += n27 - 1
                    n28 = data[position]
                    position += 1
                    if n28 > 127:
                        n28, position = read_uvarint_tail(data, position, n28)
                    partitions_6: list[int]
                    n28 -= 1
                    if n28 < 0 or n28 * 4 > size - position:
                        raise DecodeError("partitions has more elements than bytes, or is null")
                    partitions_6 = list(unpack_from(f">{n28}i", data, position))
                    position += n28 * 4
                    tags29 = data[position]
                    position += 1
                    if tags29:
                        if tags29 > 127:
                            tags29, position = read_tag_count_tail(data, position, tags29)
                        position = skip_tags(data, position, tags29)
                    list26.append(TopicPartitions(topic_id_6, topic_name_6, partitions_6))
                topic_partitions_5 = list26
                tags30 = data[position]
                position += 1
                if tags30:
                    if tags30 > 127:
                        tags30, position = read_tag_count_tail(data, position, tags30)
                    position = skip_tags(data, position, tags30)
                target_assignment_2 = Assignment(topic_partitions_5)
                tags31 = data[position]
                position += 1
                if tags31:
                    if tags31 > 127:
                        tags31, position = read_tag_count_tail(data, position, tags31)
                    position = skip_tags(data, position, tags31)
                list8.append(Member(member_id_2, instance_id_2, rack_id_2, member_epoch_2, client_id_2, client_host_2, subscribed_topic_names_2, subscribed_topic_regex_2, assignment_2, target_assignment_2, -1))
            members_1 = list8
            authorized_operations_1, tags32 = _unpack_iB(data, position)
            position += 5
            if tags32:
                if tags32 > 127:
                    tags32, position = read_tag_count_tail(data, position, tags32)
                position = skip_tags(data, position, tags32)
            list2.append(DescribedGroup(error_code_1, error_message_1, group_id_1, group_state_1, group_epoch_1, assignment_epoch_1, assignor_name_1, members_1, authorized_operations_1))
        groups = list2
        tags33 = data[position]
        position += 1
        if tags33:
            if tags33 > 127:
                tags33, position = read_tag_count_tail(data, position, tags33)
            position = skip_tags(data, position, tags33)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_consumer_group_describe_response_v1(data: bytes, position: int) -> ConsumerGroupDescribeResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[DescribedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 20 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            error_message_1: str | None
            if n3:
                error_message_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                error_message_1 = None
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            group_epoch_1, assignment_epoch_1, n6 = _unpack_iiB(data, position)
            position += 9
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            if not n6:
                raise DecodeError("assignor_name is null")
            assignor_name_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            members_1: list[Member]
            n7 -= 1
            if n7 < 0 or n7 * 17 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[Member] = []
            for _ in range(n7):
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                if not n9:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                instance_id_2: str | None
                if n10:
                    instance_id_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    instance_id_2 = None
                n11 = data[position]
                position += 1
                if n11 > 127:
                    n11, position = read_uvarint_tail(data, position, n11)
                rack_id_2: str | None
                if n11:
                    rack_id_2 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                else:
                    rack_id_2 = None
                member_epoch_2, n12 = _unpack_iB(data, position)
                position += 5
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                if not n12:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n12 - 1].decode("utf-8", "replace")
                position += n12 - 1
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                if not n13:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n13 - 1].decode("utf-8", "replace")
                position += n13 - 1
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                subscribed_topic_names_2: list[str]
                n14 -= 1
                if n14 < 0 or n14 > size - position:
                    raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
                list15: list[str] = []
                for _ in range(n14):
                    n17 = data[position]
                    position += 1
                    if n17 > 127:
                        n17, position = read_uvarint_tail(data, position, n17)
                    if not n17:
                        raise DecodeError("subscribed_topic_names is null")
                    element16 = data[position : position + n17 - 1].decode("utf-8", "replace")
                    position += n17 - 1
                    list15.append(element16)
                subscribed_topic_names_2 = list15
                n18 = data[position]
                position += 1
                if n18 > 127:
                    n18, position = read_uvarint_tail(data, position, n18)
                subscribed_topic_regex_2: str | None
                if n18:
                    subscribed_topic_regex_2 = data[position : position + n18 - 1].decode("utf-8", "replace")
                    position += n18 - 1
                else:
                    subscribed_topic_regex_2 = None
                n19 = data[position]
                position += 1
                if n19 > 127:
                    n19, position = read_uvarint_tail(data, position, n19)
                topic_partitions_3: list[TopicPartitions]
                n19 -= 1
                if n19 < 0 or n19 * 19 > size - position:
                    raise DecodeError("topic_partitions has more elements than bytes, or is null")
                list20: list[TopicPartitions] = []
                for _ in range(n19):
                    topic_id_4, n21 = _unpack_16sB(data, position)
                    position += 17
                    if n21 > 127:
                        n21, position = read_uvarint_tail(data, position, n21)
                    if not n21:
                        raise DecodeError("topic_name is null")
                    topic_name_4 = data[position : position + n21 - 1].decode("utf-8", "replace")
                    position += n21 - 1
                    n22 = data[position]
                    position += 1
                    if n22 > 127:
                        n22, position = read_uvarint_tail(data, position, n22)
                    partitions_4: list[int]
                    n22 -= 1
                    if n22 < 0 or n22 * 4 > size - position:
                        raise DecodeError("partitions has more elements than bytes, or is null")
                    partitions_4 = list(unpack_from(f">{n22}i", data, position))
                    position += n22 * 4
                    tags23 = data[position]
                    position += 1
                    if tags23:
                        if tags23 > 127:
                            tags23, position = read_tag_count_tail(data, position, tags23)
                        position = skip_tags(data, position, tags23)
                    list20.append(TopicPartitions(topic_id_4, topic_name_4, partitions_4))
                topic_partitions_3 = list20
                tags24 = data[position]
                position += 1
                if tags24:
                    if tags24 > 127:
                        tags24, position = read_tag_count_tail(data, position, tags24)
                    position = skip_tags(data, position, tags24)
                assignment_2 = Assignment(topic_partitions_3)
                n25 = data[position]
                position += 1
                if n25 > 127:
                    n25, position = read_uvarint_tail(data, position, n25)
                topic_partitions_5: list[TopicPartitions]
                n25 -= 1
                if n25 < 0 or n25 * 19 > size - position:
                    raise DecodeError("topic_partitions has more elements than bytes, or is null")
                list26: list[TopicPartitions] = []
                for _ in range(n25):
                    topic_id_6, n27 = _unpack_16sB(data, position)
                    position += 17
                    if n27 > 127:
                        n27, position = read_uvarint_tail(data, position, n27)
                    if not n27:
                        raise DecodeError("topic_name is null")
                    topic_name_6 = data[position : position + n27 - 1].decode("utf-8", "replace")
                    position += n27 - 1
                    n28 = data[position]
                    position += 1
                    if n28 > 127:
                        n28, position = read_uvarint_tail(data, position, n28)
                    partitions_6: list[int]
                    n28 -= 1
                    if n28 < 0 or n28 * 4 > size - position:
                        raise DecodeError("partitions has more elements than bytes, or is null")
                    partitions_6 = list(unpack_from(f">{n28}i", data, position))
                    position += n28 * 4
                    tags29 = data[position]
                    position += 1
                    if tags29:
                        if tags29 > 127:
                            tags29, position = read_tag_count_tail(data, position, tags29)
                        position = skip_tags(data, position, tags29)
                    list26.append(TopicPartitions(topic_id_6, topic_name_6, partitions_6))
                topic_partitions_5 = list26
                tags30 = data[position]
                position += 1
                if tags30:
                    if tags30 > 127:
                        tags30, position = read_tag_count_tail(data, position, tags30)
                    position = skip_tags(data, position, tags30)
                target_assignment_2 = Assignment(topic_partitions_5)
                member_type_2, tags31 = _unpack_bB(data, position)
                position += 2
                if tags31:
                    if tags31 > 127:
                        tags31, position = read_tag_count_tail(data, position, tags31)
                    position = skip_tags(data, position, tags31)
                list8.append(Member(member_id_2, instance_id_2, rack_id_2, member_epoch_2, client_id_2, client_host_2, subscribed_topic_names_2, subscribed_topic_regex_2, assignment_2, target_assignment_2, member_type_2))
            members_1 = list8
            authorized_operations_1, tags32 = _unpack_iB(data, position)
            position += 5
            if tags32:
                if tags32 > 127:
                    tags32, position = read_tag_count_tail(data, position, tags32)
                position = skip_tags(data, position, tags32)
            list2.append(DescribedGroup(error_code_1, error_message_1, group_id_1, group_state_1, group_epoch_1, assignment_epoch_1, assignor_name_1, members_1, authorized_operations_1))
        groups = list2
        tags33 = data[position]
        position += 1
        if tags33:
            if tags33 > 127:
                tags33, position = read_tag_count_tail(data, position, tags33)
            position = skip_tags(data, position, tags33)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_describe_response_v0(message: ConsumerGroupDescribeResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.group_id.encode()
            n8 = len(b7) + 1
            b9 = item3.group_state.encode()
            n10 = len(b9) + 1
            b11 = item3.assignor_name.encode()
            n12 = len(b11) + 1
            items13 = item3.members
            n14 = len(items13) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_iiB(item3.group_epoch, item3.assignment_epoch, n12) if n12 < 128 else _pack_ii(item3.group_epoch, item3.assignment_epoch) + uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14))
            for item15 in items13:
                b16 = item15.member_id.encode()
                n17 = len(b16) + 1
                b18 = item15.instance_id
                b20 = b"" if b18 is None else b18.encode()
                n19 = 0 if b18 is None else len(b20) + 1
                b21 = item15.rack_id
                b23 = b"" if b21 is None else b21.encode()
                n22 = 0 if b21 is None else len(b23) + 1
                b24 = item15.client_id.encode()
                n25 = len(b24) + 1
                b26 = item15.client_host.encode()
                n27 = len(b26) + 1
                items28 = item15.subscribed_topic_names
                n29 = len(items28) + 1
                parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b16, _pack_B(n19) if n19 < 128 else uvarint(n19), b20, _pack_B(n22) if n22 < 128 else uvarint(n22), b23, _pack_iB(item15.member_epoch, n25) if n25 < 128 else _pack_i(item15.member_epoch) + uvarint(n25), b24, _pack_B(n27) if n27 < 128 else uvarint(n27), b26, _pack_B(n29) if n29 < 128 else uvarint(n29))
                for item30 in items28:
                    b31 = item30.encode()
                    n32 = len(b31) + 1
                    parts += (_pack_B(n32) if n32 < 128 else uvarint(n32), b31)
                b33 = item15.subscribed_topic_regex
                b35 = b"" if b33 is None else b33.encode()
                n34 = 0 if b33 is None else len(b35) + 1
                struct36 = item15.assignment
                items37 = struct36.topic_partitions
                n38 = len(items37) + 1
                parts += (_pack_B(n34) if n34 < 128 else uvarint(n34), b35, _pack_B(n38) if n38 < 128 else uvarint(n38))
                for item39 in items37:
                    b40 = item39.topic_name.encode()
                    n41 = len(b40) + 1
                    items42 = item39.partitions
                    n43 = len(items42) + 1
                    parts += (_pack_16sB(item39.topic_id, n41) if n41 < 128 else _pack_16s(item39.topic_id) + uvarint(n41), b40, _pack_B(n43) if n43 < 128 else uvarint(n43), pack(f">{len(items42)}i", *items42), b"\0")
                struct44 = item15.target_assignment
                items45 = struct44.topic_partitions
                n46 = len(items45) + 1
                parts.append(_pack_xB(n46) if n46 < 128 else b"\0" + uvarint(n46))
                for item47 in items45:
                    b48 = item47.topic_name.encode()
                    n49 = len(b48) + 1
                    items50 = item47.partitions
                    n51 = len(items50) + 1
                    parts += (_pack_16sB(item47.topic_id, n49) if n49 < 128 else _pack_16s(item47.topic_id) + uvarint(n49), b48, _pack_B(n51) if n51 < 128 else uvarint(n51), pack(f">{len(items50)}i", *items50), b"\0")
                parts.append(b"\0\0")
            parts.append(_pack_ix(item3.authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupDescribeResponse", error) from error


def encode_consumer_group_describe_response_v1(message: ConsumerGroupDescribeResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.group_id.encode()
            n8 = len(b7) + 1
            b9 = item3.group_state.encode()
            n10 = len(b9) + 1
            b11 = item3.assignor_name.encode()
            n12 = len(b11) + 1
            items13 = item3.members
            n14 = len(items13) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_iiB(item3.group_epoch, item3.assignment_epoch, n12) if n12 < 128 else _pack_ii(item3.group_epoch, item3.assignment_epoch) + uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14))
            for item15 in items13:
                b16 = item15.member_id.encode()
                n17 = len(b16) + 1
                b18 = item15.instance_id
                b20 = b"" if b18 is None else b18.encode()
                n19 = 0 if b18 is None else len(b20) + 1
                b21 = item15.rack_id
                b23 = b"" if b21 is None else b21.encode()
                n22 = 0 if b21 is None else len(b23) + 1
                b24 = item15.client_id.encode()
                n25 = len(b24) + 1
                b26 = item15.client_host.encode()
                n27 = len(b26) + 1
                items28 = item15.subscribed_topic_names
                n29 = len(items28) + 1
                parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b16, _pack_B(n19) if n19 < 128 else uvarint(n19), b20, _pack_B(n22) if n22 < 128 else uvarint(n22), b23, _pack_iB(item15.member_epoch, n25) if n25 < 128 else _pack_i(item15.member_epoch) + uvarint(n25), b24, _pack_B(n27) if n27 < 128 else uvarint(n27), b26, _pack_B(n29) if n29 < 128 else uvarint(n29))
                for item30 in items28:
                    b31 = item30.encode()
                    n32 = len(b31) + 1
                    parts += (_pack_B(n32) if n32 < 128 else uvarint(n32), b31)
                b33 = item15.subscribed_topic_regex
                b35 = b"" if b33 is None else b33.encode()
                n34 = 0 if b33 is None else len(b35) + 1
                struct36 = item15.assignment
                items37 = struct36.topic_partitions
                n38 = len(items37) + 1
                parts += (_pack_B(n34) if n34 < 128 else uvarint(n34), b35, _pack_B(n38) if n38 < 128 else uvarint(n38))
                for item39 in items37:
                    b40 = item39.topic_name.encode()
                    n41 = len(b40) + 1
                    items42 = item39.partitions
                    n43 = len(items42) + 1
                    parts += (_pack_16sB(item39.topic_id, n41) if n41 < 128 else _pack_16s(item39.topic_id) + uvarint(n41), b40, _pack_B(n43) if n43 < 128 else uvarint(n43), pack(f">{len(items42)}i", *items42), b"\0")
                struct44 = item15.target_assignment
                items45 = struct44.topic_partitions
                n46 = len(items45) + 1
                parts.append(_pack_xB(n46) if n46 < 128 else b"\0" + uvarint(n46))
                for item47 in items45:
                    b48 = item47.topic_name.encode()
                    n49 = len(b48) + 1
                    items50 = item47.partitions
                    n51 = len(items50) + 1
                    parts += (_pack_16sB(item47.topic_id, n49) if n49 < 128 else _pack_16s(item47.topic_id) + uvarint(n49), b48, _pack_B(n51) if n51 < 128 else uvarint(n51), pack(f">{len(items50)}i", *items50), b"\0")
                parts.append(_pack_xbx(item15.member_type))
            parts.append(_pack_ix(item3.authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupDescribeResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ConsumerGroupDescribeRequest]]] = {
    0: decode_consumer_group_describe_request_v0,
    1: decode_consumer_group_describe_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ConsumerGroupDescribeRequest], bytes]]] = {
    0: encode_consumer_group_describe_request_v0,
    1: encode_consumer_group_describe_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ConsumerGroupDescribeResponse]]] = {
    0: decode_consumer_group_describe_response_v0,
    1: decode_consumer_group_describe_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ConsumerGroupDescribeResponse], bytes]]] = {
    0: encode_consumer_group_describe_response_v0,
    1: encode_consumer_group_describe_response_v1,
}
