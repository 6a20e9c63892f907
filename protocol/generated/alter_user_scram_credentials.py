"""AlterUserScramCredentials: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.alter_user_scram_credentials`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
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
_pack_bi = Struct(">bi").pack
_pack_biB = Struct(">biB").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_biB = Struct(">biB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from


def decode_alter_user_scram_credentials_request_v0(data: bytes, position: int, left: int) -> AlterUserScramCredentialsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        deletions: list[ScramCredentialDeletion]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("deletions has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[ScramCredentialDeletion] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            mechanism_1, tags4 = _unpack_bB(data, position)
            position += 2
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                left -= tags4
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags4)
            list2.append(ScramCredentialDeletion(name_1, mechanism_1))
        deletions = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        upsertions: list[ScramCredentialUpsertion]
        n5 -= 1
        if n5 < 0 or n5 * 9 > size - position:
            raise DecodeError("upsertions has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[ScramCredentialUpsertion] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
                if n7 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n7:
                raise DecodeError("name is null")
            name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            mechanism_2, iterations_2, n8 = _unpack_biB(data, position)
            position += 6
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("salt is null")
            salt_2 = data[position : position + n8 - 1]
            position += n8 - 1
            n9 = data[position]
            position += 1
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("salted_password is null")
            salted_password_2 = data[position : position + n9 - 1]
            position += n9 - 1
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                left -= tags10
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags10)
            list6.append(ScramCredentialUpsertion(name_2, mechanism_2, iterations_2, salt_2, salted_password_2))
        upsertions = list6
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            left -= tags11
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterUserScramCredentialsRequest(deletions, upsertions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_user_scram_credentials_request_v0(message: AlterUserScramCredentialsRequest) -> bytes:
    try:
        items1 = message.deletions
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_bx(item3.mechanism))
        items6 = message.upsertions
        n7 = len(items6) + 1
        parts.append(_pack_B(n7) if n7 < 128 else uvarint(n7))
        for item8 in items6:
            b9 = item8.name.encode()
            n10 = len(b9) + 1
            b11 = item8.salt
            n12 = len(b11) + 1
            b13 = item8.salted_password
            n14 = len(b13) + 1
            parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_biB(item8.mechanism, item8.iterations, n12) if n12 < 128 else _pack_bi(item8.mechanism, item8.iterations) + uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14), b13, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterUserScramCredentialsRequest", error) from error


def decode_alter_user_scram_credentials_response_v0(data: bytes, position: int) -> AlterUserScramCredentialsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[AlterUserScramCredentialsResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[AlterUserScramCredentialsResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("user is null")
            user_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, n4 = _unpack_hB(data, position)
            position += 3
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(AlterUserScramCredentialsResult(user_1, error_code_1, error_message_1))
        results = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterUserScramCredentialsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_user_scram_credentials_response_v0(message: AlterUserScramCredentialsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.user.encode()
            n5 = len(b4) + 1
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hB(item3.error_code, n7) if n7 < 128 else _pack_h(item3.error_code) + uvarint(n7), b8, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterUserScramCredentialsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AlterUserScramCredentialsRequest]]] = {
    0: decode_alter_user_scram_credentials_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AlterUserScramCredentialsRequest], bytes]]] = {
    0: encode_alter_user_scram_credentials_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AlterUserScramCredentialsResponse]]] = {
    0: decode_alter_user_scram_credentials_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AlterUserScramCredentialsResponse], bytes]]] = {
    0: encode_alter_user_scram_credentials_response_v0,
}
