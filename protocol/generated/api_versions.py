"""ApiVersions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.api_versions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
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

_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hhh = Struct(">hhh").pack
_pack_hhhx = Struct(">hhhx").pack
_pack_hhx = Struct(">hhx").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_ix = Struct(">ix").pack
_pack_o = Struct(">?").pack
_pack_q = Struct(">q").pack
_unpack_hB = Struct(">hB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_hhh = Struct(">hhh").unpack_from
_unpack_hhhB = Struct(">hhhB").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_q = Struct(">q").unpack_from


def decode_api_versions_request_v0(data: bytes, position: int, left: int) -> ApiVersionsRequest:
    try:
        return ApiVersionsRequest("", "", None, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_api_versions_request_v3(data: bytes, position: int, left: int) -> ApiVersionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("client_software_name is null")
        client_software_name = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("client_software_version is null")
        client_software_version = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        tags3 = data[position]
        position += 1
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            left -= tags3
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags3)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ApiVersionsRequest(client_software_name, client_software_version, None, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_api_versions_request_v5(data: bytes, position: int, left: int) -> ApiVersionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("client_software_name is null")
        client_software_name = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("client_software_version is null")
        client_software_version = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        cluster_id: str | None
        if n3:
            cluster_id = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            cluster_id = None
        node_id, tags4 = _unpack_iB(data, position)
        position += 5
        if tags4:
            if tags4 > 127:
                tags4, position = read_tag_count_tail(data, position, tags4)
            left -= tags4
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags4)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ApiVersionsRequest(client_software_name, client_software_version, cluster_id, node_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_api_versions_request_v0(message: ApiVersionsRequest) -> bytes:
    try:
        return b""
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsRequest", error) from error


def encode_api_versions_request_v3(message: ApiVersionsRequest) -> bytes:
    try:
        b1 = message.client_software_name.encode()
        n2 = len(b1) + 1
        b3 = message.client_software_version.encode()
        n4 = len(b3) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsRequest", error) from error


def encode_api_versions_request_v5(message: ApiVersionsRequest) -> bytes:
    try:
        b1 = message.client_software_name.encode()
        n2 = len(b1) + 1
        b3 = message.client_software_version.encode()
        n4 = len(b3) + 1
        b5 = message.cluster_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, _pack_ix(message.node_id)))
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsRequest", error) from error


def decode_api_versions_response_v0(data: bytes, position: int) -> ApiVersionsResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hi(data, position)
        position += 6
        api_keys: list[ApiVersion]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("api_keys has more elements than bytes, or is null")
        list2: list[ApiVersion] = []
        for _ in range(n1):
            api_key_1, min_version_1, max_version_1 = _unpack_hhh(data, position)
            position += 6
            list2.append(ApiVersion(api_key_1, min_version_1, max_version_1))
        api_keys = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ApiVersionsResponse(error_code, api_keys, 0, [], -1, [], False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_api_versions_response_v1(data: bytes, position: int) -> ApiVersionsResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hi(data, position)
        position += 6
        api_keys: list[ApiVersion]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("api_keys has more elements than bytes, or is null")
        list2: list[ApiVersion] = []
        for _ in range(n1):
            api_key_1, min_version_1, max_version_1 = _unpack_hhh(data, position)
            position += 6
            list2.append(ApiVersion(api_key_1, min_version_1, max_version_1))
        api_keys = list2
        (throttle_time_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, [], -1, [], False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_api_versions_response_v3(data: bytes, position: int) -> ApiVersionsResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        api_keys: list[ApiVersion]
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("api_keys has more elements than bytes, or is null")
        list2: list[ApiVersion] = []
        for _ in range(n1):
            api_key_1, min_version_1, max_version_1, tags3 = _unpack_hhhB(data, position)
            position += 7
            if tags3:
                if tags3 > 127:
                    tags3, position = read_tag_count_tail(data, position, tags3)
                position = skip_tags(data, position, tags3)
            list2.append(ApiVersion(api_key_1, min_version_1, max_version_1))
        api_keys = list2
        throttle_time_ms, tags4 = _unpack_iB(data, position)
        position += 5
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
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
                    n8 -= 1
                    if n8 < 0 or n8 * 6 > size - position:
                        raise DecodeError("supported_features has more elements than bytes, or is null")
                    list9: list[SupportedFeatureKey] = []
                    for _ in range(n8):
                        n10 = data[position]
                        position += 1
                        if n10 > 127:
                            n10, position = read_uvarint_tail(data, position, n10)
                        if not n10:
                            raise DecodeError("name is null")
                        name_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                        position += n10 - 1
                        min_version_2, max_version_2, tags11 = _unpack_hhB(data, position)
                        position += 5
                        if tags11:
                            if tags11 > 127:
                                tags11, position = read_tag_count_tail(data, position, tags11)
                            position = skip_tags(data, position, tags11)
                        list9.append(SupportedFeatureKey(name_2, min_version_2, max_version_2))
                    supported_features = list9
                    if position != end7:
                        raise DecodeError("supported_features does not fill its tag")
                elif tag5 == 1:
                    (finalized_features_epoch,) = _unpack_q(data, position)
                    position += 8
                    if position != end7:
                        raise DecodeError("finalized_features_epoch does not fill its tag")
                elif tag5 == 2:
                    n12 = data[position]
                    position += 1
                    if n12 > 127:
                        n12, position = read_uvarint_tail(data, position, n12)
                    n12 -= 1
                    if n12 < 0 or n12 * 6 > size - position:
                        raise DecodeError("finalized_features has more elements than bytes, or is null")
                    list13: list[FinalizedFeatureKey] = []
                    for _ in range(n12):
                        n14 = data[position]
                        position += 1
                        if n14 > 127:
                            n14, position = read_uvarint_tail(data, position, n14)
                        if not n14:
                            raise DecodeError("name is null")
                        name_3 = data[position : position + n14 - 1].decode("utf-8", "replace")
                        position += n14 - 1
                        max_version_level_3, min_version_level_3, tags15 = _unpack_hhB(data, position)
                        position += 5
                        if tags15:
                            if tags15 > 127:
                                tags15, position = read_tag_count_tail(data, position, tags15)
                            position = skip_tags(data, position, tags15)
                        list13.append(FinalizedFeatureKey(name_3, max_version_level_3, min_version_level_3))
                    finalized_features = list13
                    if position != end7:
                        raise DecodeError("finalized_features does not fill its tag")
                elif tag5 == 3:
                    (zk_migration_ready,) = _unpack_o(data, position)
                    position += 1
                    if position != end7:
                        raise DecodeError("zk_migration_ready does not fill its tag")
                position = end7
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_api_versions_response_v0(message: ApiVersionsResponse) -> bytes:
    try:
        items1 = message.api_keys
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(message.error_code, n2)]
        for item3 in items1:
            parts.append(_pack_hhh(item3.api_key, item3.min_version, item3.max_version))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsResponse", error) from error


def encode_api_versions_response_v1(message: ApiVersionsResponse) -> bytes:
    try:
        items1 = message.api_keys
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(message.error_code, n2)]
        for item3 in items1:
            parts.append(_pack_hhh(item3.api_key, item3.min_version, item3.max_version))
        parts.append(_pack_i(message.throttle_time_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsResponse", error) from error


def encode_api_versions_response_v3(message: ApiVersionsResponse) -> bytes:
    try:
        items1 = message.api_keys
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2)]
        for item3 in items1:
            parts.append(_pack_hhhx(item3.api_key, item3.min_version, item3.max_version))
        parts.append(_pack_i(message.throttle_time_ms))
        count4 = 0
        tags5: list[bytes] = []
        if message.supported_features:
            items7 = message.supported_features
            n8 = len(items7) + 1
            parts6: list[bytes] = [_pack_B(n8) if n8 < 128 else uvarint(n8)]
            for item9 in items7:
                b10 = item9.name.encode()
                n11 = len(b10) + 1
                parts6 += (_pack_B(n11) if n11 < 128 else uvarint(n11), b10, _pack_hhx(item9.min_version, item9.max_version))
            body12 = b"".join(parts6)
            tags5 += (uvarint(0), uvarint(len(body12)), body12)
            count4 += 1
        if message.finalized_features_epoch != -1:
            parts13: list[bytes] = [_pack_q(message.finalized_features_epoch)]
            body14 = b"".join(parts13)
            tags5 += (uvarint(1), uvarint(len(body14)), body14)
            count4 += 1
        if message.finalized_features:
            items16 = message.finalized_features
            n17 = len(items16) + 1
            parts15: list[bytes] = [_pack_B(n17) if n17 < 128 else uvarint(n17)]
            for item18 in items16:
                b19 = item18.name.encode()
                n20 = len(b19) + 1
                parts15 += (_pack_B(n20) if n20 < 128 else uvarint(n20), b19, _pack_hhx(item18.max_version_level, item18.min_version_level))
            body21 = b"".join(parts15)
            tags5 += (uvarint(2), uvarint(len(body21)), body21)
            count4 += 1
        if message.zk_migration_ready:
            parts22: list[bytes] = [_pack_o(message.zk_migration_ready)]
            body23 = b"".join(parts22)
            tags5 += (uvarint(3), uvarint(len(body23)), body23)
            count4 += 1
        parts += (uvarint(count4), *tags5)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ApiVersionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ApiVersionsRequest]]] = {
    0: decode_api_versions_request_v0,
    1: decode_api_versions_request_v0,
    2: decode_api_versions_request_v0,
    3: decode_api_versions_request_v3,
    4: decode_api_versions_request_v3,
    5: decode_api_versions_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ApiVersionsRequest], bytes]]] = {
    0: encode_api_versions_request_v0,
    1: encode_api_versions_request_v0,
    2: encode_api_versions_request_v0,
    3: encode_api_versions_request_v3,
    4: encode_api_versions_request_v3,
    5: encode_api_versions_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ApiVersionsResponse]]] = {
    0: decode_api_versions_response_v0,
    1: decode_api_versions_response_v1,
    2: decode_api_versions_response_v1,
    3: decode_api_versions_response_v3,
    4: decode_api_versions_response_v3,
    5: decode_api_versions_response_v3,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ApiVersionsResponse], bytes]]] = {
    0: encode_api_versions_response_v0,
    1: encode_api_versions_response_v1,
    2: encode_api_versions_response_v1,
    3: encode_api_versions_response_v3,
    4: encode_api_versions_response_v3,
    5: encode_api_versions_response_v3,
}
