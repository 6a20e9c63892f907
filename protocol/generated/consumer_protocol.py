"""Consumer protocol: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.consumer_protocol`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    unreadable,
    unwritable,
)

_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from


def decode_assignment_v0(data: bytes, position: int) -> Assignment:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        assigned_partitions: list[TopicPartitions]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("assigned_partitions has more elements than bytes, or is null")
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
            partitions_1 = list(unpack_from(f">{n4}i", data, position))
            position += n4 * 4
            list2.append(TopicPartitions(topic_1, partitions_1))
        assigned_partitions = list2
        (n5,) = _unpack_i(data, position)
        position += 4
        user_data: bytes | None
        if n5 >= 0:
            user_data = data[position : position + n5]
            position += n5
        else:
            user_data = None
        if position > size:
            raise DecodeError(TOO_SHORT)
        return Assignment(assigned_partitions, user_data)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_assignment_v0(message: Assignment) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(0, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        b8 = message.user_data
        if b8 is None:
            b8, n9 = b"", -1
        else:
            n9 = len(b8)
        parts += (_pack_i(n9), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Assignment", error) from error


def encode_assignment_v1(message: Assignment) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(1, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        b8 = message.user_data
        if b8 is None:
            b8, n9 = b"", -1
        else:
            n9 = len(b8)
        parts += (_pack_i(n9), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Assignment", error) from error


def encode_assignment_v2(message: Assignment) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(2, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        b8 = message.user_data
        if b8 is None:
            b8, n9 = b"", -1
        else:
            n9 = len(b8)
        parts += (_pack_i(n9), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Assignment", error) from error


def encode_assignment_v3(message: Assignment) -> bytes:
    try:
        items1 = message.assigned_partitions
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(3, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7), pack(f">{len(items6)}i", *items6))
        b8 = message.user_data
        if b8 is None:
            b8, n9 = b"", -1
        else:
            n9 = len(b8)
        parts += (_pack_i(n9), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Assignment", error) from error


def decode_subscription_v0(data: bytes, position: int) -> Subscription:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("topics is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        topics = list2
        (n5,) = _unpack_i(data, position)
        position += 4
        user_data: bytes | None
        if n5 >= 0:
            user_data = data[position : position + n5]
            position += n5
        else:
            user_data = None
        if position > size:
            raise DecodeError(TOO_SHORT)
        return Subscription(topics, user_data, [], -1, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_subscription_v1(data: bytes, position: int) -> Subscription:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("topics is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        topics = list2
        (n5,) = _unpack_i(data, position)
        position += 4
        user_data: bytes | None
        if n5 >= 0:
            user_data = data[position : position + n5]
            position += n5
        else:
            user_data = None
        (n6,) = _unpack_i(data, position)
        position += 4
        owned_partitions: list[TopicPartitions]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("owned_partitions has more elements than bytes, or is null")
        list7: list[TopicPartitions] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_1 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(TopicPartitions(topic_1, partitions_1))
        owned_partitions = list7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return Subscription(topics, user_data, owned_partitions, -1, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_subscription_v2(data: bytes, position: int) -> Subscription:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("topics is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        topics = list2
        (n5,) = _unpack_i(data, position)
        position += 4
        user_data: bytes | None
        if n5 >= 0:
            user_data = data[position : position + n5]
            position += n5
        else:
            user_data = None
        (n6,) = _unpack_i(data, position)
        position += 4
        owned_partitions: list[TopicPartitions]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("owned_partitions has more elements than bytes, or is null")
        list7: list[TopicPartitions] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_1 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(TopicPartitions(topic_1, partitions_1))
        owned_partitions = list7
        (generation_id,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return Subscription(topics, user_data, owned_partitions, generation_id, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_subscription_v3(data: bytes, position: int) -> Subscription:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("topics is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        topics = list2
        (n5,) = _unpack_i(data, position)
        position += 4
        user_data: bytes | None
        if n5 >= 0:
            user_data = data[position : position + n5]
            position += n5
        else:
            user_data = None
        (n6,) = _unpack_i(data, position)
        position += 4
        owned_partitions: list[TopicPartitions]
        if n6 < 0 or n6 * 6 > size - position:
            raise DecodeError("owned_partitions has more elements than bytes, or is null")
        list7: list[TopicPartitions] = []
        for _ in range(n6):
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[int]
            if n9 < 0 or n9 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            partitions_1 = list(unpack_from(f">{n9}i", data, position))
            position += n9 * 4
            list7.append(TopicPartitions(topic_1, partitions_1))
        owned_partitions = list7
        generation_id, n10 = _unpack_ih(data, position)
        position += 6
        rack_id: str | None
        if n10 >= 0:
            rack_id = data[position : position + n10].decode("utf-8", "replace")
            position += n10
        else:
            rack_id = None
        if position > size:
            raise DecodeError(TOO_SHORT)
        return Subscription(topics, user_data, owned_partitions, generation_id, rack_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_subscription_v0(message: Subscription) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(0, n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        b6 = message.user_data
        if b6 is None:
            b6, n7 = b"", -1
        else:
            n7 = len(b6)
        parts += (_pack_i(n7), b6)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Subscription", error) from error


def encode_subscription_v1(message: Subscription) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(1, n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        b6 = message.user_data
        if b6 is None:
            b6, n7 = b"", -1
        else:
            n7 = len(b6)
        items8 = message.owned_partitions
        n9 = len(items8)
        parts += (_pack_i(n7), b6, _pack_i(n9))
        for item10 in items8:
            b11 = item10.topic.encode()
            n12 = len(b11)
            items13 = item10.partitions
            n14 = len(items13)
            parts += (_pack_h(n12), b11, _pack_i(n14), pack(f">{len(items13)}i", *items13))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Subscription", error) from error


def encode_subscription_v2(message: Subscription) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(2, n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        b6 = message.user_data
        if b6 is None:
            b6, n7 = b"", -1
        else:
            n7 = len(b6)
        items8 = message.owned_partitions
        n9 = len(items8)
        parts += (_pack_i(n7), b6, _pack_i(n9))
        for item10 in items8:
            b11 = item10.topic.encode()
            n12 = len(b11)
            items13 = item10.partitions
            n14 = len(items13)
            parts += (_pack_h(n12), b11, _pack_i(n14), pack(f">{len(items13)}i", *items13))
        parts.append(_pack_i(message.generation_id))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Subscription", error) from error


def encode_subscription_v3(message: Subscription) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(3, n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        b6 = message.user_data
        if b6 is None:
            b6, n7 = b"", -1
        else:
            n7 = len(b6)
        items8 = message.owned_partitions
        n9 = len(items8)
        parts += (_pack_i(n7), b6, _pack_i(n9))
        for item10 in items8:
            b11 = item10.topic.encode()
            n12 = len(b11)
            items13 = item10.partitions
            n14 = len(items13)
            parts += (_pack_h(n12), b11, _pack_i(n14), pack(f">{len(items13)}i", *items13))
        b15 = message.rack_id
        b17 = b"" if b15 is None else b15.encode()
        n16 = -1 if b15 is None else len(b17)
        parts += (_pack_ih(message.generation_id, n16), b17)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("Subscription", error) from error


DECODE_ASSIGNMENT: Final[dict[int, Callable[[bytes, int], Assignment]]] = {
    0: decode_assignment_v0,
    1: decode_assignment_v0,
    2: decode_assignment_v0,
    3: decode_assignment_v0,
}

ENCODE_ASSIGNMENT: Final[dict[int, Callable[[Assignment], bytes]]] = {
    0: encode_assignment_v0,
    1: encode_assignment_v1,
    2: encode_assignment_v2,
    3: encode_assignment_v3,
}

DECODE_SUBSCRIPTION: Final[dict[int, Callable[[bytes, int], Subscription]]] = {
    0: decode_subscription_v0,
    1: decode_subscription_v1,
    2: decode_subscription_v2,
    3: decode_subscription_v3,
}

ENCODE_SUBSCRIPTION: Final[dict[int, Callable[[Subscription], bytes]]] = {
    0: encode_subscription_v0,
    1: encode_subscription_v1,
    2: encode_subscription_v2,
    3: encode_subscription_v3,
}
