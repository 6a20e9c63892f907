"""Consumer group records: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.consumer_group_records`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    RackedPartition,
    SubscribedTopic,
    TargetPartitions,
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

_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_B = Struct(">B").pack
_pack_bi = Struct(">bi").pack
_pack_biB = Struct(">biB").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hi = Struct(">hi").pack
_pack_hiib = Struct(">hiib").pack
_pack_hiibB = Struct(">hiibB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_q = Struct(">q").pack
_pack_qqx = Struct(">qqx").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iibB = Struct(">iibB").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from


def decode_consumer_group_current_member_assignment_value_v0(data: bytes, position: int) -> ConsumerGroupCurrentMemberAssignmentValue:
    try:
        size = len(data)
        member_epoch, previous_member_epoch, state, n1 = _unpack_iibB(data, position)
        position += 10
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        assigned_partitions: list[CurrentPartitions]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("assigned_partitions has more elements than bytes, or is null")
        list2: list[CurrentPartitions] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[int]
            n3 -= 1
            if n3 < 0 or n3 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_1 = list(unpack_from(f">{n3}i", data, position))
            position += n3 * 4
            tags4 = data[position]
            position += 1
            assignment_epochs_1: list[int] | None = None
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                previous6 = -1
                for _ in range(tags4):
                    tag5, end7, position = read_tag(data, position, previous6)
                    previous6 = tag5
                    if tag5 == 0:
                        n8 = data[position]
                        position += 1
                        if n8 > 127:
                            n8, position = read_uvarint_tail(data, position, n8)
                        if not n8:
                            assignment_epochs_1 = None
                        else:
                            n8 -= 1
                            if n8 < 0 or n8 * 4 > size - position:
                                raise DecodeError("assignment_epochs has more elements than bytes, or is null")
                            assignment_epochs_1 = list(unpack_from(f">{n8}i", data, position))
                            position += n8 * 4
                        if position != end7:
                            raise DecodeError("assignment_epochs does not fill its tag")
                    position = end7
            list2.append(CurrentPartitions(topic_id_1, partitions_1, assignment_epochs_1))
        assigned_partitions = list2
        n9 = data[position]
        position += 1
        if n9 > 127:
            n9, position = read_uvarint_tail(data, position, n9)
        partitions_pending_revocation: list[CurrentPartitions]
        n9 -= 1
        if n9 < 0 or n9 * 18 > size - position:
            raise DecodeError("partitions_pending_revocation has more elements than bytes, or is null")
        list10: list[CurrentPartitions] = []
        for _ in range(n9):
            topic_id_2, n11 = _unpack_16sB(data, position)
            position += 17
            if n11 > 127:
                n11, position = read_uvarint_tail(data, position, n11)
            partitions_2: list[int]
            n11 -= 1
            if n11 < 0 or n11 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_2 = list(unpack_from(f">{n11}i", data, position))
            position += n11 * 4
            tags12 = data[position]
            position += 1
            assignment_epochs_2: list[int] | None = None
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                previous14 = -1
                for _ in range(tags12):
                    tag13, end15, position = read_tag(data, position, previous14)
                    previous14 = tag13
                    if tag13 == 0:
                        n16 = data[position]
                        position += 1
                        if n16 > 127:
                            n16, position = read_uvarint_tail(data, position, n16)
                        if not n16:
                            assignment_epochs_2 = None
                        else:
                            n16 -= 1
                            if n16 < 0 or n16 * 4 > size - position:
                                raise DecodeError("assignment_epochs has more elements than bytes, or is null")
                            assignment_epochs_2 = list(unpack_from(f">{n16}i", data, position))
                            position += n16 * 4
                        if position != end15:
                            raise DecodeError("assignment_epochs does not fill its tag")
                    position = end15
            list10.append(CurrentPartitions(topic_id_2, partitions_2, assignment_epochs_2))
        partitions_pending_revocation = list10
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_current_member_assignment_value_v0(message: ConsumerGroupCurrentMemberAssignmentValue) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hiibB(0, message.member_epoch, message.previous_member_epoch, message.state, n2) if n2 < 128 else _pack_hiib(0, message.member_epoch, message.previous_member_epoch, message.state) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), pack(f">{len(items4)}i", *items4))
            count6 = 0
            tags7: list[bytes] = []
            if item3.assignment_epochs is not None:
                items9 = item3.assignment_epochs
                n10 = len(items9) + 1
                parts8: list[bytes] = [_pack_B(n10) if n10 < 128 else uvarint(n10), pack(f">{len(items9)}i", *items9)]
                body11 = b"".join(parts8)
                tags7 += (uvarint(0), uvarint(len(body11)), body11)
                count6 += 1
            else:
                tags7 += (uvarint(0), b"\1\0")
                count6 += 1
            parts += (uvarint(count6), *tags7)
        items12 = message.partitions_pending_revocation
        n13 = len(items12) + 1
        parts.append(_pack_B(n13) if n13 < 128 else uvarint(n13))
        for item14 in items12:
            items15 = item14.partitions
            n16 = len(items15) + 1
            parts += (_pack_16sB(item14.topic_id, n16) if n16 < 128 else _pack_16s(item14.topic_id) + uvarint(n16), pack(f">{len(items15)}i", *items15))
            count17 = 0
            tags18: list[bytes] = []
            if item14.assignment_epochs is not None:
                items20 = item14.assignment_epochs
                n21 = len(items20) + 1
                parts19: list[bytes] = [_pack_B(n21) if n21 < 128 else uvarint(n21), pack(f">{len(items20)}i", *items20)]
                body22 = b"".join(parts19)
                tags18 += (uvarint(0), uvarint(len(body22)), body22)
                count17 += 1
            else:
                tags18 += (uvarint(0), b"\1\0")
                count17 += 1
            parts += (uvarint(count17), *tags18)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupCurrentMemberAssignmentValue", error) from error


def decode_consumer_group_member_metadata_value_v0(data: bytes, position: int) -> ConsumerGroupMemberMetadataValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        instance_id: str | None
        if n1:
            instance_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            instance_id = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        rack_id: str | None
        if n2:
            rack_id = data[position : position + n2 - 1].decode("utf-8", "replace")
            position += n2 - 1
        else:
            rack_id = None
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        if not n3:
            raise DecodeError("client_id is null")
        client_id = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        if not n4:
            raise DecodeError("client_host is null")
        client_host = data[position : position + n4 - 1].decode("utf-8", "replace")
        position += n4 - 1
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        subscribed_topic_names: list[str]
        n5 -= 1
        if n5 < 0 or n5 > size - position:
            raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
        list6: list[str] = []
        for _ in range(n5):
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("subscribed_topic_names is null")
            element7 = data[position : position + n8 - 1].decode("utf-8", "replace")
            position += n8 - 1
            list6.append(element7)
        subscribed_topic_names = list6
        n9 = data[position]
        position += 1
        if n9 > 127:
            n9, position = read_uvarint_tail(data, position, n9)
        subscribed_topic_regex: str | None
        if n9:
            subscribed_topic_regex = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
        else:
            subscribed_topic_regex = None
        rebalance_timeout_ms, n10 = _unpack_iB(data, position)
        position += 5
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
        server_assignor: str | None
        if n10:
            server_assignor = data[position : position + n10 - 1].decode("utf-8", "replace")
            position += n10 - 1
        else:
            server_assignor = None
        tags11 = data[position]
        position += 1
        classic_member_metadata: ClassicMemberMetadata | None = None
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            previous13 = -1
            for _ in range(tags11):
                tag12, end14, position = read_tag(data, position, previous13)
                previous13 = tag12
                if tag12 == 0:
                    (n15,) = _unpack_b(data, position)
                    position += 1
                    if n15 <= 0:
                        classic_member_metadata = None
                    else:
                        session_timeout_ms_1, n16 = _unpack_iB(data, position)
                        position += 5
                        if n16 > 127:
                            n16, position = read_uvarint_tail(data, position, n16)
                        supported_protocols_1: list[ClassicProtocol]
                        n16 -= 1
                        if n16 < 0 or n16 * 3 > size - position:
                            raise DecodeError("supported_protocols has more elements than bytes, or is null")
                        list17: list[ClassicProtocol] = []
                        for _ in range(n16):
                            n18 = data[position]
                            position += 1
                            if n18 > 127:
                                n18, position = read_uvarint_tail(data, position, n18)
                            if not n18:
                                raise DecodeError("name is null")
                            name_2 = data[position : position + n18 - 1].decode("utf-8", "replace")
                            position += n18 - 1
                            n19 = data[position]
                            position += 1
                            if n19 > 127:
                                n19, position = read_uvarint_tail(data, position, n19)
                            if not n19:
                                raise DecodeError("metadata is null")
                            metadata_2 = data[position : position + n19 - 1]
                            position += n19 - 1
                            tags20 = data[position]
                            position += 1
                            if tags20:
                                if tags20 > 127:
                                    tags20, position = read_tag_count_tail(data, position, tags20)
                                position = skip_tags(data, position, tags20)
                            list17.append(ClassicProtocol(name_2, metadata_2))
                        supported_protocols_1 = list17
                        tags21 = data[position]
                        position += 1
                        if tags21:
                            if tags21 > 127:
                                tags21, position = read_tag_count_tail(data, position, tags21)
                            position = skip_tags(data, position, tags21)
                        classic_member_metadata = ClassicMemberMetadata(session_timeout_ms_1, supported_protocols_1)
                    if position != end14:
                        raise DecodeError("classic_member_metadata does not fill its tag")
                position = end14
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupMemberMetadataValue(instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, classic_member_metadata)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_member_metadata_value_v0(message: ConsumerGroupMemberMetadataValue) -> bytes:
    try:
        b1 = message.instance_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.rack_id
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        b7 = message.client_id.encode()
        n8 = len(b7) + 1
        b9 = message.client_host.encode()
        n10 = len(b9) + 1
        items11 = message.subscribed_topic_names
        n12 = len(items11) + 1
        parts: list[bytes] = [_pack_hB(0, n2) if n2 < 128 else _pack_h(0) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12)]
        for item13 in items11:
            b14 = item13.encode()
            n15 = len(b14) + 1
            parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14)
        b16 = message.subscribed_topic_regex
        b18 = b"" if b16 is None else b16.encode()
        n17 = 0 if b16 is None else len(b18) + 1
        b19 = message.server_assignor
        b21 = b"" if b19 is None else b19.encode()
        n20 = 0 if b19 is None else len(b21) + 1
        parts += (_pack_B(n17) if n17 < 128 else uvarint(n17), b18, _pack_iB(message.rebalance_timeout_ms, n20) if n20 < 128 else _pack_i(message.rebalance_timeout_ms) + uvarint(n20), b21)
        count22 = 0
        tags23: list[bytes] = []
        if message.classic_member_metadata is not None:
            struct25 = message.classic_member_metadata
            items26 = struct25.supported_protocols
            n27 = len(items26) + 1
            parts24: list[bytes] = [_pack_biB(1, struct25.session_timeout_ms, n27) if n27 < 128 else _pack_bi(1, struct25.session_timeout_ms) + uvarint(n27)]
            for item28 in items26:
                b29 = item28.name.encode()
                n30 = len(b29) + 1
                b31 = item28.metadata
                n32 = len(b31) + 1
                parts24 += (_pack_B(n30) if n30 < 128 else uvarint(n30), b29, _pack_B(n32) if n32 < 128 else uvarint(n32), b31, b"\0")
            parts24.append(b"\0")
            body33 = b"".join(parts24)
            tags23 += (uvarint(0), uvarint(len(body33)), body33)
            count22 += 1
        else:
            tags23 += (uvarint(0), b"\1\0")
            count22 += 1
        parts += (uvarint(count22), *tags23)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupMemberMetadataValue", error) from error


def decode_consumer_group_metadata_value_v0(data: bytes, position: int) -> ConsumerGroupMetadataValue:
    try:
        size = len(data)
        epoch, tags1 = _unpack_iB(data, position)
        position += 5
        metadata_hash: int = 0
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            previous3 = -1
            for _ in range(tags1):
                tag2, end4, position = read_tag(data, position, previous3)
                previous3 = tag2
                if tag2 == 0:
                    (metadata_hash,) = _unpack_q(data, position)
                    position += 8
                    if position != end4:
                        raise DecodeError("metadata_hash does not fill its tag")
                position = end4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupMetadataValue(epoch, metadata_hash)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_metadata_value_v0(message: ConsumerGroupMetadataValue) -> bytes:
    try:
        parts: list[bytes] = [_pack_hi(0, message.epoch)]
        count1 = 0
        tags2: list[bytes] = []
        if message.metadata_hash:
            parts3: list[bytes] = [_pack_q(message.metadata_hash)]
            body4 = b"".join(parts3)
            tags2 += (uvarint(0), uvarint(len(body4)), body4)
            count1 += 1
        parts += (uvarint(count1), *tags2)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupMetadataValue", error) from error


def decode_consumer_group_partition_metadata_value_v0(data: bytes, position: int) -> ConsumerGroupPartitionMetadataValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[SubscribedTopic]
        n1 -= 1
        if n1 < 0 or n1 * 23 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[SubscribedTopic] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("topic_name is null")
            topic_name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            num_partitions_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partition_metadata_1: list[RackedPartition]
            n4 -= 1
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partition_metadata has more elements than bytes, or is null")
            list5: list[RackedPartition] = []
            for _ in range(n4):
                partition_2, n6 = _unpack_iB(data, position)
                position += 5
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                racks_2: list[str]
                n6 -= 1
                if n6 < 0 or n6 > size - position:
                    raise DecodeError("racks has more elements than bytes, or is null")
                list7: list[str] = []
                for _ in range(n6):
                    n9 = data[position]
                    position += 1
                    if n9 > 127:
                        n9, position = read_uvarint_tail(data, position, n9)
                    if not n9:
                        raise DecodeError("racks is null")
                    element8 = data[position : position + n9 - 1].decode("utf-8", "replace")
                    position += n9 - 1
                    list7.append(element8)
                racks_2 = list7
                tags10 = data[position]
                position += 1
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(RackedPartition(partition_2, racks_2))
            partition_metadata_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(SubscribedTopic(topic_id_1, topic_name_1, num_partitions_1, partition_metadata_1))
        topics = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupPartitionMetadataValue(topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_partition_metadata_value_v0(message: ConsumerGroupPartitionMetadataValue) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(0, n2) if n2 < 128 else _pack_h(0) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic_name.encode()
            n5 = len(b4) + 1
            items6 = item3.partition_metadata
            n7 = len(items6) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), b4, _pack_iB(item3.num_partitions, n7) if n7 < 128 else _pack_i(item3.num_partitions) + uvarint(n7))
            for item8 in items6:
                items9 = item8.racks
                n10 = len(items9) + 1
                parts.append(_pack_iB(item8.partition, n10) if n10 < 128 else _pack_i(item8.partition) + uvarint(n10))
                for item11 in items9:
                    b12 = item11.encode()
                    n13 = len(b12) + 1
                    parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12)
                parts.append(b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupPartitionMetadataValue", error) from error


def decode_consumer_group_regular_expression_value_v0(data: bytes, position: int) -> ConsumerGroupRegularExpressionValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("topics is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        topics = list2
        version, timestamp, tags5 = _unpack_qqB(data, position)
        position += 17
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupRegularExpressionValue(topics, version, timestamp)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_regular_expression_value_v0(message: ConsumerGroupRegularExpressionValue) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(0, n2) if n2 < 128 else _pack_h(0) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(_pack_qqx(message.version, message.timestamp))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupRegularExpressionValue", error) from error


def decode_consumer_group_target_assignment_member_value_v0(data: bytes, position: int) -> ConsumerGroupTargetAssignmentMemberValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topic_partitions: list[TargetPartitions]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topic_partitions has more elements than bytes, or is null")
        list2: list[TargetPartitions] = []
        for _ in range(n1):
            topic_id_1, n3 = _unpack_16sB(data, position)
            position += 17
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            partitions_1: list[int]
            n3 -= 1
            if n3 < 0 or n3 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_1 = list(unpack_from(f">{n3}i", data, position))
            position += n3 * 4
            tags4 = data[position]
            position += 1
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(TargetPartitions(topic_id_1, partitions_1))
        topic_partitions = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupTargetAssignmentMemberValue(topic_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_target_assignment_member_value_v0(message: ConsumerGroupTargetAssignmentMemberValue) -> bytes:
    try:
        items1 = message.topic_partitions
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(0, n2) if n2 < 128 else _pack_h(0) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), pack(f">{len(items4)}i", *items4), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupTargetAssignmentMemberValue", error) from error


def decode_consumer_group_target_assignment_metadata_value_v0(data: bytes, position: int) -> ConsumerGroupTargetAssignmentMetadataValue:
    try:
        size = len(data)
        assignment_epoch, tags1 = _unpack_iB(data, position)
        position += 5
        assignment_timestamp: int = 0
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            previous3 = -1
            for _ in range(tags1):
                tag2, end4, position = read_tag(data, position, previous3)
                previous3 = tag2
                if tag2 == 0:
                    (assignment_timestamp,) = _unpack_q(data, position)
                    position += 8
                    if position != end4:
                        raise DecodeError("assignment_timestamp does not fill its tag")
                position = end4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_consumer_group_target_assignment_metadata_value_v0(message: ConsumerGroupTargetAssignmentMetadataValue) -> bytes:
    try:
        parts: list[bytes] = [_pack_hi(0, message.assignment_epoch)]
        count1 = 0
        tags2: list[bytes] = []
        if message.assignment_timestamp:
            parts3: list[bytes] = [_pack_q(message.assignment_timestamp)]
            body4 = b"".join(parts3)
            tags2 += (uvarint(0), uvarint(len(body4)), body4)
            count1 += 1
        parts += (uvarint(count1), *tags2)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ConsumerGroupTargetAssignmentMetadataValue", error) from error


DECODE_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupCurrentMemberAssignmentValue]]] = {
    0: decode_consumer_group_current_member_assignment_value_v0,
}

ENCODE_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Final[dict[int, Callable[[ConsumerGroupCurrentMemberAssignmentValue], bytes]]] = {
    0: encode_consumer_group_current_member_assignment_value_v0,
}

DECODE_CONSUMER_GROUP_MEMBER_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupMemberMetadataValue]]] = {
    0: decode_consumer_group_member_metadata_value_v0,
}

ENCODE_CONSUMER_GROUP_MEMBER_METADATA_VALUE: Final[dict[int, Callable[[ConsumerGroupMemberMetadataValue], bytes]]] = {
    0: encode_consumer_group_member_metadata_value_v0,
}

DECODE_CONSUMER_GROUP_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupMetadataValue]]] = {
    0: decode_consumer_group_metadata_value_v0,
}

ENCODE_CONSUMER_GROUP_METADATA_VALUE: Final[dict[int, Callable[[ConsumerGroupMetadataValue], bytes]]] = {
    0: encode_consumer_group_metadata_value_v0,
}

DECODE_CONSUMER_GROUP_PARTITION_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupPartitionMetadataValue]]] = {
    0: decode_consumer_group_partition_metadata_value_v0,
}

ENCODE_CONSUMER_GROUP_PARTITION_METADATA_VALUE: Final[dict[int, Callable[[ConsumerGroupPartitionMetadataValue], bytes]]] = {
    0: encode_consumer_group_partition_metadata_value_v0,
}

DECODE_CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupRegularExpressionValue]]] = {
    0: decode_consumer_group_regular_expression_value_v0,
}

ENCODE_CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE: Final[dict[int, Callable[[ConsumerGroupRegularExpressionValue], bytes]]] = {
    0: encode_consumer_group_regular_expression_value_v0,
}

DECODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupTargetAssignmentMemberValue]]] = {
    0: decode_consumer_group_target_assignment_member_value_v0,
}

ENCODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Final[dict[int, Callable[[ConsumerGroupTargetAssignmentMemberValue], bytes]]] = {
    0: encode_consumer_group_target_assignment_member_value_v0,
}

DECODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ConsumerGroupTargetAssignmentMetadataValue]]] = {
    0: decode_consumer_group_target_assignment_metadata_value_v0,
}

ENCODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Final[dict[int, Callable[[ConsumerGroupTargetAssignmentMetadataValue], bytes]]] = {
    0: encode_consumer_group_target_assignment_metadata_value_v0,
}
