"""AlterClientQuotas: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.alter_client_quotas`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
    OpData,
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
_pack_do = Struct(">d?").pack
_pack_dox = Struct(">d?x").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_o = Struct(">?").pack
_pack_ox = Struct(">?x").pack
_unpack_do = Struct(">d?").unpack_from
_unpack_doB = Struct(">d?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_alter_client_quotas_request_v0(data: bytes, position: int, left: int) -> AlterClientQuotasRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        entries: list[EntryData]
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("entries has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[EntryData] = []
        for _ in range(n1):
            (n3,) = _unpack_i(data, position)
            position += 4
            entity_1: list[EntityData]
            if n3 < 0 or n3 * 4 > size - position:
                raise DecodeError("entity has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[EntityData] = []
            for _ in range(n3):
                (n5,) = _unpack_h(data, position)
                position += 2
                if n5 < 0:
                    raise DecodeError("entity_type is null")
                entity_type_2 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
                (n6,) = _unpack_h(data, position)
                position += 2
                entity_name_2: str | None
                if n6 >= 0:
                    entity_name_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    entity_name_2 = None
                list4.append(EntityData(entity_type_2, entity_name_2))
            entity_1 = list4
            (n7,) = _unpack_i(data, position)
            position += 4
            ops_1: list[OpData]
            if n7 < 0 or n7 * 11 > size - position:
                raise DecodeError("ops has more elements than bytes, or is null")
            left -= n7
            if left < 0:
                raise TooManyElementsError
            list8: list[OpData] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("key is null")
                key_3 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                value_3, remove_3 = _unpack_do(data, position)
                position += 9
                list8.append(OpData(key_3, value_3, remove_3))
            ops_1 = list8
            list2.append(EntryData(entity_1, ops_1))
        entries = list2
        (validate_only,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterClientQuotasRequest(entries, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_client_quotas_request_v1(data: bytes, position: int, left: int) -> AlterClientQuotasRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        entries: list[EntryData]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("entries has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[EntryData] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            entity_1: list[EntityData]
            n3 -= 1
            if n3 < 0 or n3 * 3 > size - position:
                raise DecodeError("entity has more elements than bytes, or is null")
            left -= n3
            if left < 0:
                raise TooManyElementsError
            list4: list[EntityData] = []
            for _ in range(n3):
                n5 = data[position]
                position += 1
                if n5 > 127:
                    n5, position = read_uvarint_tail(data, position, n5)
                    if n5 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n5:
                    raise DecodeError("entity_type is null")
                entity_type_2 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                    if n6 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                entity_name_2: str | None
                if n6:
                    entity_name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                else:
                    entity_name_2 = None
                tags7 = data[position]
                position += 1
                if tags7:
                    if tags7 > 127:
                        tags7, position = read_tag_count_tail(data, position, tags7)
                    left -= tags7
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags7)
                list4.append(EntityData(entity_type_2, entity_name_2))
            entity_1 = list4
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            ops_1: list[OpData]
            n8 -= 1
            if n8 < 0 or n8 * 11 > size - position:
                raise DecodeError("ops has more elements than bytes, or is null")
            left -= n8
            if left < 0:
                raise TooManyElementsError
            list9: list[OpData] = []
            for _ in range(n8):
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                    if n10 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n10:
                    raise DecodeError("key is null")
                key_3 = data[position : position + n10 - 1].decode("utf-8", "replace")
                position += n10 - 1
                value_3, remove_3, tags11 = _unpack_doB(data, position)
                position += 10
                if tags11:
                    if tags11 > 127:
                        tags11, position = read_tag_count_tail(data, position, tags11)
                    left -= tags11
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags11)
                list9.append(OpData(key_3, value_3, remove_3))
            ops_1 = list9
            tags12 = data[position]
            position += 1
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                left -= tags12
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags12)
            list2.append(EntryData(entity_1, ops_1))
        entries = list2
        validate_only, tags13 = _unpack_oB(data, position)
        position += 2
        if tags13:
            if tags13 > 127:
                tags13, position = read_tag_count_tail(data, position, tags13)
            left -= tags13
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags13)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterClientQuotasRequest(entries, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_client_quotas_request_v0(message: AlterClientQuotasRequest) -> bytes:
    try:
        items1 = message.entries
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            items4 = item3.entity
            n5 = len(items4)
            parts.append(_pack_i(n5))
            for item6 in items4:
                b7 = item6.entity_type.encode()
                n8 = len(b7)
                b9 = item6.entity_name
                b11 = b"" if b9 is None else b9.encode()
                n10 = -1 if b9 is None else len(b11)
                parts += (_pack_h(n8), b7, _pack_h(n10), b11)
            items12 = item3.ops
            n13 = len(items12)
            parts.append(_pack_i(n13))
            for item14 in items12:
                b15 = item14.key.encode()
                n16 = len(b15)
                parts += (_pack_h(n16), b15, _pack_do(item14.value, item14.remove))
        parts.append(_pack_o(message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterClientQuotasRequest", error) from error


def encode_alter_client_quotas_request_v1(message: AlterClientQuotasRequest) -> bytes:
    try:
        items1 = message.entries
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            items4 = item3.entity
            n5 = len(items4) + 1
            parts.append(_pack_B(n5) if n5 < 128 else uvarint(n5))
            for item6 in items4:
                b7 = item6.entity_type.encode()
                n8 = len(b7) + 1
                b9 = item6.entity_name
                b11 = b"" if b9 is None else b9.encode()
                n10 = 0 if b9 is None else len(b11) + 1
                parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b11, b"\0")
            items12 = item3.ops
            n13 = len(items12) + 1
            parts.append(_pack_B(n13) if n13 < 128 else uvarint(n13))
            for item14 in items12:
                b15 = item14.key.encode()
                n16 = len(b15) + 1
                parts += (_pack_B(n16) if n16 < 128 else uvarint(n16), b15, _pack_dox(item14.value, item14.remove))
            parts.append(b"\0")
        parts.append(_pack_ox(message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterClientQuotasRequest", error) from error


def decode_alter_client_quotas_response_v0(data: bytes, position: int) -> AlterClientQuotasResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        entries: list[EntryResult]
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("entries has more elements than bytes, or is null")
        list2: list[EntryResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
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
            list2.append(EntryResult(error_code_1, error_message_1, entity_1))
        entries = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterClientQuotasResponse(throttle_time_ms, entries)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_client_quotas_response_v1(data: bytes, position: int) -> AlterClientQuotasResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        entries: list[EntryResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("entries has more elements than bytes, or is null")
        list2: list[EntryResult] = []
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
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list2.append(EntryResult(error_code_1, error_message_1, entity_1))
        entries = list2
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterClientQuotasResponse(throttle_time_ms, entries)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_client_quotas_response_v0(message: AlterClientQuotasResponse) -> bytes:
    try:
        items1 = message.entries
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            items7 = item3.entity
            n8 = len(items7)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_i(n8))
            for item9 in items7:
                b10 = item9.entity_type.encode()
                n11 = len(b10)
                b12 = item9.entity_name
                b14 = b"" if b12 is None else b12.encode()
                n13 = -1 if b12 is None else len(b14)
                parts += (_pack_h(n11), b10, _pack_h(n13), b14)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterClientQuotasResponse", error) from error


def encode_alter_client_quotas_response_v1(message: AlterClientQuotasResponse) -> bytes:
    try:
        items1 = message.entries
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            items7 = item3.entity
            n8 = len(items7) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8))
            for item9 in items7:
                b10 = item9.entity_type.encode()
                n11 = len(b10) + 1
                b12 = item9.entity_name
                b14 = b"" if b12 is None else b12.encode()
                n13 = 0 if b12 is None else len(b14) + 1
                parts += (_pack_B(n11) if n11 < 128 else uvarint(n11), b10, _pack_B(n13) if n13 < 128 else uvarint(n13), b14, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterClientQuotasResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AlterClientQuotasRequest]]] = {
    0: decode_alter_client_quotas_request_v0,
    1: decode_alter_client_quotas_request_v1,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AlterClientQuotasRequest], bytes]]] = {
    0: encode_alter_client_quotas_request_v0,
    1: encode_alter_client_quotas_request_v1,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AlterClientQuotasResponse]]] = {
    0: decode_alter_client_quotas_response_v0,
    1: decode_alter_client_quotas_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AlterClientQuotasResponse], bytes]]] = {
    0: encode_alter_client_quotas_response_v0,
    1: encode_alter_client_quotas_response_v1,
}
