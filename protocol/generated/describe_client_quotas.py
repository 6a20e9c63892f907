"""DescribeClientQuotas: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_client_quotas`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
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
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bh = Struct(">bh").pack
_pack_d = Struct(">d").pack
_pack_dx = Struct(">dx").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_pack_o = Struct(">?").pack
_pack_ox = Struct(">?x").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_d = Struct(">d").unpack_from
_unpack_dB = Struct(">dB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_describe_client_quotas_request_v0(data: bytes, position: int, left: int) -> DescribeClientQuotasRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        components: list[ComponentData]
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("components has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ComponentData] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("entity_type is null")
            entity_type_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            match_type_1, n4 = _unpack_bh(data, position)
            position += 3
            match_1: str | None
            if n4 >= 0:
                match_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                match_1 = None
            list2.append(ComponentData(entity_type_1, match_type_1, match_1))
        components = list2
        (strict,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClientQuotasRequest(components, strict)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_client_quotas_request_v1(data: bytes, position: int, left: int) -> DescribeClientQuotasRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        components: list[ComponentData]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("components has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ComponentData] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("entity_type is null")
            entity_type_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            match_type_1, n4 = _unpack_bB(data, position)
            position += 2
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            match_1: str | None
            if n4:
                match_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                match_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                left -= tags5
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags5)
            list2.append(ComponentData(entity_type_1, match_type_1, match_1))
        components = list2
        strict, tags6 = _unpack_oB(data, position)
        position += 2
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            left -= tags6
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClientQuotasRequest(components, strict)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_client_quotas_request_v0(message: DescribeClientQuotasRequest) -> bytes:
    try:
        items1 = message.components
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.entity_type.encode()
            n5 = len(b4)
            b6 = item3.match
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_h(n5), b4, _pack_bh(item3.match_type, n7), b8)
        parts.append(_pack_o(message.strict))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClientQuotasRequest", error) from error


def encode_describe_client_quotas_request_v1(message: DescribeClientQuotasRequest) -> bytes:
    try:
        items1 = message.components
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.entity_type.encode()
            n5 = len(b4) + 1
            b6 = item3.match
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_bB(item3.match_type, n7) if n7 < 128 else _pack_b(item3.match_type) + uvarint(n7), b8, b"\0")
        parts.append(_pack_ox(message.strict))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClientQuotasRequest", error) from error


def decode_describe_client_quotas_response_v0(data: bytes, position: int) -> DescribeClientQuotasResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihh(data, position)
        position += 8
        error_message: str | None
        if n1 >= 0:
            error_message = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            error_message = None
        (n2,) = _unpack_i(data, position)
        position += 4
        entries: list[EntryData] | None
        if n2 < 0:
            entries = None
        else:
            if n2 < 0 or n2 * 8 > size - position:
                raise DecodeError("entries has more elements than bytes, or is null")
            list3: list[EntryData] = []
            for _ in range(n2):
                (n4,) = _unpack_i(data, position)
                position += 4
                entity_1: list[EntityData]
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("entity has more elements than bytes, or is null")
                list5: list[EntityData] = []
                for _ in range(n4):
                    (n6,) = _unpack_h(data, position)
                    position += 2
                    if n6 < 0:
                        raise DecodeError("entity_type is null")
                    entity_type_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                    (n7,) = _unpack_h(data, position)
                    position += 2
                    entity_name_2: str | None
                    if n7 >= 0:
                        entity_name_2 = data[position : position + n7].decode("utf-8", "replace")
                        position += n7
                    else:
                        entity_name_2 = None
                    list5.append(EntityData(entity_type_2, entity_name_2))
                entity_1 = list5
                (n8,) = _unpack_i(data, position)
                position += 4
                values_1: list[ValueData]
                if n8 < 0 or n8 * 10 > size - position:
                    raise DecodeError("values has more elements than bytes, or is null")
                list9: list[ValueData] = []
                for _ in range(n8):
                    (n10,) = _unpack_h(data, position)
                    position += 2
                    if n10 < 0:
                        raise DecodeError("key is null")
                    key_3 = data[position : position + n10].decode("utf-8", "replace")
                    position += n10
                    (value_3,) = _unpack_d(data, position)
                    position += 8
                    list9.append(ValueData(key_3, value_3))
                values_1 = list9
                list3.append(EntryData(entity_1, values_1))
            entries = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_client_quotas_response_v1(data: bytes, position: int) -> DescribeClientQuotasResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        entries: list[EntryData] | None
        if not n2:
            entries = None
        else:
            n2 -= 1
            if n2 < 0 or n2 * 3 > size - position:
                raise DecodeError("entries has more elements than bytes, or is null")
            list3: list[EntryData] = []
            for _ in range(n2):
                n4 = data[position]
                position += 1
                if n4 > 127:
                    n4, position = read_uvarint_tail(data, position, n4)
                entity_1: list[EntityData]
                n4 -= 1
                if n4 < 0 or n4 * 3 > size - position:
                    raise DecodeError("entity has more elements than bytes, or is null")
                list5: list[EntityData] = []
                for _ in range(n4):
                    n6 = data[position]
                    position += 1
                    if n6 > 127:
                        n6, position = read_uvarint_tail(data, position, n6)
                    if not n6:
                        raise DecodeError("entity_type is null")
                    entity_type_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    entity_name_2: str | None
                    if n7:
                        entity_name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                        position += n7 - 1
                    else:
                        entity_name_2 = None
                    tags8 = data[position]
                    position += 1
                    if tags8:
                        if tags8 > 127:
                            tags8, position = read_tag_count_tail(data, position, tags8)
                        position = skip_tags(data, position, tags8)
                    list5.append(EntityData(entity_type_2, entity_name_2))
                entity_1 = list5
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                values_1: list[ValueData]
                n9 -= 1
                if n9 < 0 or n9 * 10 > size - position:
                    raise DecodeError("values has more elements than bytes, or is null")
                list10: list[ValueData] = []
                for _ in range(n9):
                    n11 = data[position]
                    position += 1
                    if n11 > 127:
                        n11, position = read_uvarint_tail(data, position, n11)
                    if not n11:
                        raise DecodeError("key is null")
                    key_3 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                    value_3, tags12 = _unpack_dB(data, position)
                    position += 9
                    if tags12:
                        if tags12 > 127:
                            tags12, position = read_tag_count_tail(data, position, tags12)
                        position = skip_tags(data, position, tags12)
                    list10.append(ValueData(key_3, value_3))
                values_1 = list10
                tags13 = data[position]
                position += 1
                if tags13:
                    if tags13 > 127:
                        tags13, position = read_tag_count_tail(data, position, tags13)
                    position = skip_tags(data, position, tags13)
                list3.append(EntryData(entity_1, values_1))
            entries = list3
        tags14 = data[position]
        position += 1
        if tags14:
            if tags14 > 127:
                tags14, position = read_tag_count_tail(data, position, tags14)
            position = skip_tags(data, position, tags14)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_client_quotas_response_v0(message: DescribeClientQuotasResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        items4 = message.entries
        if items4 is None:
            items4, n5 = [], -1
        else:
            n5 = len(items4)
        parts: list[bytes] = [_pack_ihh(message.throttle_time_ms, message.error_code, n2), b3, _pack_i(n5)]
        for item6 in items4:
            items7 = item6.entity
            n8 = len(items7)
            parts.append(_pack_i(n8))
            for item9 in items7:
                b10 = item9.entity_type.encode()
                n11 = len(b10)
                b12 = item9.entity_name
                b14 = b"" if b12 is None else b12.encode()
                n13 = -1 if b12 is None else len(b14)
                parts += (_pack_h(n11), b10, _pack_h(n13), b14)
            items15 = item6.values
            n16 = len(items15)
            parts.append(_pack_i(n16))
            for item17 in items15:
                b18 = item17.key.encode()
                n19 = len(b18)
                parts += (_pack_h(n19), b18, _pack_d(item17.value))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClientQuotasResponse", error) from error


def encode_describe_client_quotas_response_v1(message: DescribeClientQuotasResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.entries
        if items4 is None:
            items4, n5 = [], 0
        else:
            n5 = len(items4) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            items7 = item6.entity
            n8 = len(items7) + 1
            parts.append(_pack_B(n8) if n8 < 128 else uvarint(n8))
            for item9 in items7:
                b10 = item9.entity_type.encode()
                n11 = len(b10) + 1
                b12 = item9.entity_name
                b14 = b"" if b12 is None else b12.encode()
                n13 = 0 if b12 is None else len(b14) + 1
                parts += (_pack_B(n11) if n11 < 128 else uvarint(n11), b10, _pack_B(n13) if n13 < 128 else uvarint(n13), b14, b"\0")
            items15 = item6.values
            n16 = len(items15) + 1
            parts.append(_pack_B(n16) if n16 < 128 else uvarint(n16))
            for item17 in items15:
                b18 = item17.key.encode()
                n19 = len(b18) + 1
                parts += (_pack_B(n19) if n19 < 128 else uvarint(n19), b18, _pack_dx(item17.value))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClientQuotasResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeClientQuotasRequest]]] = {
    0: decode_describe_client_quotas_request_v0,
    1: decode_describe_client_quotas_request_v1,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeClientQuotasRequest], bytes]]] = {
    0: encode_describe_client_quotas_request_v0,
    1: encode_describe_client_quotas_request_v1,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeClientQuotasResponse]]] = {
    0: decode_describe_client_quotas_response_v0,
    1: decode_describe_client_quotas_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeClientQuotasResponse], bytes]]] = {
    0: encode_describe_client_quotas_response_v0,
    1: encode_describe_client_quotas_response_v1,
}
