"""FollowCatalogue: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.follow_catalogue`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.follow_catalogue import (
    FollowCatalogueNode,
    FollowCatalogueRequest,
    FollowCatalogueResponse,
    KnownDocument,
    NewDocument,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_iq = Struct(">iq").pack
_pack_iqB = Struct(">iqB").pack
_pack_ix = Struct(">ix").pack
_pack_qi = Struct(">qi").pack
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from


def decode_follow_catalogue_request_v0(data: bytes, position: int, left: int) -> FollowCatalogueRequest:
    try:
        size = len(data)
        node_id, asked_node_id, n1 = _unpack_iiB(data, position)
        position += 9
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("cluster_id is null")
        cluster_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        nodes: list[FollowCatalogueNode]
        n2 -= 1
        if n2 < 0 or n2 * 10 > size - position:
            raise DecodeError("nodes has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[FollowCatalogueNode] = []
        for _ in range(n2):
            node_id_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("host is null")
            host_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            port_1, tags5 = _unpack_iB(data, position)
            position += 5
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                left -= tags5
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags5)
            list3.append(FollowCatalogueNode(node_id_1, host_1, port_1))
        nodes = list3
        offsets_partitions, n6 = _unpack_iB(data, position)
        position += 5
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
            if n6 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n6:
            raise DecodeError("lineage is null")
        lineage = data[position : position + n6 - 1].decode("utf-8", "replace")
        position += n6 - 1
        revision, max_wait_ms, tags7 = _unpack_qiB(data, position)
        position += 13
        documents: list[KnownDocument] = []
        transaction_partitions: int = -1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            left -= tags7
            if left < 0:
                raise TooManyElementsError
            previous9 = -1
            for _ in range(tags7):
                tag8, end10, position = read_tag(data, position, previous9)
                previous9 = tag8
                if tag8 == 0:
                    n11 = data[position]
                    position += 1
                    if n11 > 127:
                        n11, position = read_uvarint_tail(data, position, n11)
                    n11 -= 1
                    if n11 < 0 or n11 * 3 > size - position:
                        raise DecodeError("documents has more elements than bytes, or is null")
                    left -= n11
                    if left < 0:
                        raise TooManyElementsError
                    list12: list[KnownDocument] = []
                    for _ in range(n11):
                        n13 = data[position]
                        position += 1
                        if n13 > 127:
                            n13, position = read_uvarint_tail(data, position, n13)
                            if n13 > 0x10000:
                                raise DecodeError("a string is longer than 65535 bytes")
                        if not n13:
                            raise DecodeError("name is null")
                        name_2 = data[position : position + n13 - 1].decode("utf-8", "replace")
                        position += n13 - 1
                        n14 = data[position]
                        position += 1
                        if n14 > 127:
                            n14, position = read_uvarint_tail(data, position, n14)
                        if not n14:
                            raise DecodeError("digest is null")
                        digest_2 = data[position : position + n14 - 1]
                        position += n14 - 1
                        tags15 = data[position]
                        position += 1
                        if tags15:
                            if tags15 > 127:
                                tags15, position = read_tag_count_tail(data, position, tags15)
                            left -= tags15
                            if left < 0:
                                raise TooManyElementsError
                            position = skip_tags(data, position, tags15)
                        list12.append(KnownDocument(name_2, digest_2))
                    documents = list12
                    if position != end10:
                        raise DecodeError("documents does not fill its tag")
                elif tag8 == 1:
                    (transaction_partitions,) = _unpack_i(data, position)
                    position += 4
                    if position != end10:
                        raise DecodeError("transaction_partitions does not fill its tag")
                position = end10
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FollowCatalogueRequest(node_id, asked_node_id, cluster_id, nodes, offsets_partitions, lineage, revision, max_wait_ms, documents, transaction_partitions)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_follow_catalogue_request_v0(message: FollowCatalogueRequest) -> bytes:
    try:
        b1 = message.cluster_id.encode()
        n2 = len(b1) + 1
        items3 = message.nodes
        n4 = len(items3) + 1
        parts: list[bytes] = [_pack_iiB(message.node_id, message.asked_node_id, n2) if n2 < 128 else _pack_ii(message.node_id, message.asked_node_id) + uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4)]
        for item5 in items3:
            b6 = item5.host.encode()
            n7 = len(b6) + 1
            parts += (_pack_iB(item5.node_id, n7) if n7 < 128 else _pack_i(item5.node_id) + uvarint(n7), b6, _pack_ix(item5.port))
        b8 = message.lineage.encode()
        n9 = len(b8) + 1
        parts += (_pack_iB(message.offsets_partitions, n9) if n9 < 128 else _pack_i(message.offsets_partitions) + uvarint(n9), b8, _pack_qi(message.revision, message.max_wait_ms))
        count10 = 0
        tags11: list[bytes] = []
        if message.documents:
            items13 = message.documents
            n14 = len(items13) + 1
            parts12: list[bytes] = [_pack_B(n14) if n14 < 128 else uvarint(n14)]
            for item15 in items13:
                b16 = item15.name.encode()
                n17 = len(b16) + 1
                b18 = item15.digest
                n19 = len(b18) + 1
                parts12 += (_pack_B(n17) if n17 < 128 else uvarint(n17), b16, _pack_B(n19) if n19 < 128 else uvarint(n19), b18, b"\0")
            body20 = b"".join(parts12)
            tags11 += (uvarint(0), uvarint(len(body20)), body20)
            count10 += 1
        if message.transaction_partitions != -1:
            parts21: list[bytes] = [_pack_i(message.transaction_partitions)]
            body22 = b"".join(parts21)
            tags11 += (uvarint(1), uvarint(len(body22)), body22)
            count10 += 1
        parts += (uvarint(count10), *tags11)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FollowCatalogueRequest", error) from error


def decode_follow_catalogue_response_v0(data: bytes, position: int) -> FollowCatalogueResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        node_id, revision, n2 = _unpack_iqB(data, position)
        position += 13
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        document: bytes | None
        if n2:
            document = data[position : position + n2 - 1]
            position += n2 - 1
        else:
            document = None
        tags3 = data[position]
        position += 1
        documents: list[NewDocument] = []
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            previous5 = -1
            for _ in range(tags3):
                tag4, end6, position = read_tag(data, position, previous5)
                previous5 = tag4
                if tag4 == 0:
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                    n7 -= 1
                    if n7 < 0 or n7 * 3 > size - position:
                        raise DecodeError("documents has more elements than bytes, or is null")
                    list8: list[NewDocument] = []
                    for _ in range(n7):
                        n9 = data[position]
                        position += 1
                        if n9 > 127:
                            n9, position = read_uvarint_tail(data, position, n9)
                        if not n9:
                            raise DecodeError("name is null")
                        name_1 = data[position : position + n9 - 1].decode("utf-8", "replace")
                        position += n9 - 1
                        n10 = data[position]
                        position += 1
                        if n10 > 127:
                            n10, position = read_uvarint_tail(data, position, n10)
                        if not n10:
                            raise DecodeError("text is null")
                        text_1 = data[position : position + n10 - 1]
                        position += n10 - 1
                        tags11 = data[position]
                        position += 1
                        if tags11:
                            if tags11 > 127:
                                tags11, position = read_tag_count_tail(data, position, tags11)
                            position = skip_tags(data, position, tags11)
                        list8.append(NewDocument(name_1, text_1))
                    documents = list8
                    if position != end6:
                        raise DecodeError("documents does not fill its tag")
                position = end6
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FollowCatalogueResponse(error_code, error_message, node_id, revision, document, documents)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_follow_catalogue_response_v0(message: FollowCatalogueResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.document
        if b4 is None:
            b4, n5 = b"", 0
        else:
            n5 = len(b4) + 1
        parts: list[bytes] = [_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2), b3, _pack_iqB(message.node_id, message.revision, n5) if n5 < 128 else _pack_iq(message.node_id, message.revision) + uvarint(n5), b4]
        count6 = 0
        tags7: list[bytes] = []
        if message.documents:
            items9 = message.documents
            n10 = len(items9) + 1
            parts8: list[bytes] = [_pack_B(n10) if n10 < 128 else uvarint(n10)]
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12) + 1
                b14 = item11.text
                n15 = len(b14) + 1
                parts8 += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b14, b"\0")
            body16 = b"".join(parts8)
            tags7 += (uvarint(0), uvarint(len(body16)), body16)
            count6 += 1
        parts += (uvarint(count6), *tags7)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FollowCatalogueResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], FollowCatalogueRequest]]] = {
    0: decode_follow_catalogue_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[FollowCatalogueRequest], bytes]]] = {
    0: encode_follow_catalogue_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], FollowCatalogueResponse]]] = {
    0: decode_follow_catalogue_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[FollowCatalogueResponse], bytes]]] = {
    0: encode_follow_catalogue_response_v0,
}
