"""Share group records: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.share_group_records`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.share_group_records import (
    SharedPartitions,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
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
_pack_hiib = Struct(">hiib").pack
_pack_hiibB = Struct(">hiibB").pack
_pack_hix = Struct(">hix").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iibB = Struct(">iibB").unpack_from


def decode_share_group_current_member_assignment_value_v0(data: bytes, position: int) -> ShareGroupCurrentMemberAssignmentValue:
    try:
        size = len(data)
        member_epoch, previous_member_epoch, state, n1 = _unpack_iibB(data, position)
        position += 10
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        assigned_partitions: list[SharedPartitions]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("assigned_partitions has more elements than bytes, or is null")
        list2: list[SharedPartitions] = []
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
            list2.append(SharedPartitions(topic_id_1, partitions_1))
        assigned_partitions = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_current_member_assignment_value_v0(message: ShareGroupCurrentMemberAssignmentValue) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hiibB(0, message.member_epoch, message.previous_member_epoch, message.state, n2) if n2 < 128 else _pack_hiib(0, message.member_epoch, message.previous_member_epoch, message.state) + uvarint(n2)]
        for item3 in items1:
            items4 = item3.partitions
            n5 = len(items4) + 1
            parts += (_pack_16sB(item3.topic_id, n5) if n5 < 128 else _pack_16s(item3.topic_id) + uvarint(n5), pack(f">{len(items4)}i", *items4), b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupCurrentMemberAssignmentValue", error) from error


def decode_share_group_member_metadata_value_v0(data: bytes, position: int) -> ShareGroupMemberMetadataValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        rack_id: str | None
        if n1:
            rack_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            rack_id = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("client_id is null")
        client_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        if not n3:
            raise DecodeError("client_host is null")
        client_host = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        subscribed_topic_names: list[str]
        n4 -= 1
        if n4 < 0 or n4 > size - position:
            raise DecodeError("subscribed_topic_names has more elements than bytes, or is null")
        list5: list[str] = []
        for _ in range(n4):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("subscribed_topic_names is null")
            element6 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            list5.append(element6)
        subscribed_topic_names = list5
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupMemberMetadataValue(rack_id, client_id, client_host, subscribed_topic_names)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_member_metadata_value_v0(message: ShareGroupMemberMetadataValue) -> bytes:
    try:
        b1 = message.rack_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.client_id.encode()
        n5 = len(b4) + 1
        b6 = message.client_host.encode()
        n7 = len(b6) + 1
        items8 = message.subscribed_topic_names
        n9 = len(items8) + 1
        parts: list[bytes] = [_pack_hB(0, n2) if n2 < 128 else _pack_h(0) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9)]
        for item10 in items8:
            b11 = item10.encode()
            n12 = len(b11) + 1
            parts += (_pack_B(n12) if n12 < 128 else uvarint(n12), b11)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupMemberMetadataValue", error) from error


def decode_share_group_metadata_value_v0(data: bytes, position: int) -> ShareGroupMetadataValue:
    try:
        size = len(data)
        epoch, tags1 = _unpack_iB(data, position)
        position += 5
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupMetadataValue(epoch)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_metadata_value_v0(message: ShareGroupMetadataValue) -> bytes:
    try:
        return _pack_hix(0, message.epoch)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupMetadataValue", error) from error


def decode_share_group_target_assignment_member_value_v0(data: bytes, position: int) -> ShareGroupTargetAssignmentMemberValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topic_partitions: list[SharedPartitions]
        n1 -= 1
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("topic_partitions has more elements than bytes, or is null")
        list2: list[SharedPartitions] = []
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
            list2.append(SharedPartitions(topic_id_1, partitions_1))
        topic_partitions = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupTargetAssignmentMemberValue(topic_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_target_assignment_member_value_v0(message: ShareGroupTargetAssignmentMemberValue) -> bytes:
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
        raise unwritable("ShareGroupTargetAssignmentMemberValue", error) from error


def decode_share_group_target_assignment_metadata_value_v0(data: bytes, position: int) -> ShareGroupTargetAssignmentMetadataValue:
    try:
        size = len(data)
        assignment_epoch, tags1 = _unpack_iB(data, position)
        position += 5
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ShareGroupTargetAssignmentMetadataValue(assignment_epoch)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_share_group_target_assignment_metadata_value_v0(message: ShareGroupTargetAssignmentMetadataValue) -> bytes:
    try:
        return _pack_hix(0, message.assignment_epoch)
    except UNENCODABLE as error:
        raise unwritable("ShareGroupTargetAssignmentMetadataValue", error) from error


DECODE_SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Final[dict[int, Callable[[bytes, int], ShareGroupCurrentMemberAssignmentValue]]] = {
    0: decode_share_group_current_member_assignment_value_v0,
}

ENCODE_SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Final[dict[int, Callable[[ShareGroupCurrentMemberAssignmentValue], bytes]]] = {
    0: encode_share_group_current_member_assignment_value_v0,
}

DECODE_SHARE_GROUP_MEMBER_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ShareGroupMemberMetadataValue]]] = {
    0: decode_share_group_member_metadata_value_v0,
}

ENCODE_SHARE_GROUP_MEMBER_METADATA_VALUE: Final[dict[int, Callable[[ShareGroupMemberMetadataValue], bytes]]] = {
    0: encode_share_group_member_metadata_value_v0,
}

DECODE_SHARE_GROUP_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ShareGroupMetadataValue]]] = {
    0: decode_share_group_metadata_value_v0,
}

ENCODE_SHARE_GROUP_METADATA_VALUE: Final[dict[int, Callable[[ShareGroupMetadataValue], bytes]]] = {
    0: encode_share_group_metadata_value_v0,
}

DECODE_SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Final[dict[int, Callable[[bytes, int], ShareGroupTargetAssignmentMemberValue]]] = {
    0: decode_share_group_target_assignment_member_value_v0,
}

ENCODE_SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Final[dict[int, Callable[[ShareGroupTargetAssignmentMemberValue], bytes]]] = {
    0: encode_share_group_target_assignment_member_value_v0,
}

DECODE_SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Final[dict[int, Callable[[bytes, int], ShareGroupTargetAssignmentMetadataValue]]] = {
    0: decode_share_group_target_assignment_metadata_value_v0,
}

ENCODE_SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Final[dict[int, Callable[[ShareGroupTargetAssignmentMetadataValue], bytes]]] = {
    0: encode_share_group_target_assignment_metadata_value_v0,
}
