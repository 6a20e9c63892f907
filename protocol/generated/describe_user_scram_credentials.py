"""DescribeUserScramCredentials: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_user_scram_credentials`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
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
_pack_bix = Struct(">bix").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_unpack_biB = Struct(">biB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from


def decode_describe_user_scram_credentials_request_v0(data: bytes, position: int, left: int) -> DescribeUserScramCredentialsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        users: list[UserName] | None
        if not n1:
            users = None
        else:
            n1 -= 1
            if n1 < 0 or n1 * 2 > size - position:
                raise DecodeError("users has more elements than bytes, or is null")
            left -= n1
            if left < 0:
                raise TooManyElementsError
            list2: list[UserName] = []
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
                tags4 = data[position]
                position += 1
                if tags4:
                    if tags4 > 127:
                        tags4, position = read_tag_count_tail(data, position, tags4)
                    left -= tags4
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags4)
                list2.append(UserName(name_1))
            users = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeUserScramCredentialsRequest(users)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_user_scram_credentials_request_v0(message: DescribeUserScramCredentialsRequest) -> bytes:
    try:
        items1 = message.users
        if items1 is None:
            items1, n2 = [], 0
        else:
            n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeUserScramCredentialsRequest", error) from error


def decode_describe_user_scram_credentials_response_v0(data: bytes, position: int) -> DescribeUserScramCredentialsResponse:
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
        results: list[DescribeUserScramCredentialsResult]
        n2 -= 1
        if n2 < 0 or n2 * 6 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list3: list[DescribeUserScramCredentialsResult] = []
        for _ in range(n2):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("user is null")
            user_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            error_code_1, n5 = _unpack_hB(data, position)
            position += 3
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            error_message_1: str | None
            if n5:
                error_message_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
            else:
                error_message_1 = None
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            credential_infos_1: list[CredentialInfo]
            n6 -= 1
            if n6 < 0 or n6 * 6 > size - position:
                raise DecodeError("credential_infos has more elements than bytes, or is null")
            list7: list[CredentialInfo] = []
            for _ in range(n6):
                mechanism_2, iterations_2, tags8 = _unpack_biB(data, position)
                position += 6
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    position = skip_tags(data, position, tags8)
                list7.append(CredentialInfo(mechanism_2, iterations_2))
            credential_infos_1 = list7
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list3.append(DescribeUserScramCredentialsResult(user_1, error_code_1, error_message_1, credential_infos_1))
        results = list3
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_user_scram_credentials_response_v0(message: DescribeUserScramCredentialsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.results
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            b7 = item6.user.encode()
            n8 = len(b7) + 1
            b9 = item6.error_message
            b11 = b"" if b9 is None else b9.encode()
            n10 = 0 if b9 is None else len(b11) + 1
            items12 = item6.credential_infos
            n13 = len(items12) + 1
            parts += (_pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_hB(item6.error_code, n10) if n10 < 128 else _pack_h(item6.error_code) + uvarint(n10), b11, _pack_B(n13) if n13 < 128 else uvarint(n13))
            for item14 in items12:
                parts.append(_pack_bix(item14.mechanism, item14.iterations))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeUserScramCredentialsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeUserScramCredentialsRequest]]] = {
    0: decode_describe_user_scram_credentials_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeUserScramCredentialsRequest], bytes]]] = {
    0: encode_describe_user_scram_credentials_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeUserScramCredentialsResponse]]] = {
    0: decode_describe_user_scram_credentials_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeUserScramCredentialsResponse], bytes]]] = {
    0: encode_describe_user_scram_credentials_response_v0,
}
