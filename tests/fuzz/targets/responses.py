"""Every decoder of responses, in every declared version, behind its header as `protocol.client` reads it."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, Final

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import decode_response
from protocol.generate import declared_classes
from protocol.generated.index import APIS
from protocol.headers import encode_response_header
from tests.fuzz import codecs


def _rows() -> list[codecs.Codec]:
    return [
        codecs.Codec(
            declared_classes(ApiKey(key))[1], version, partial(_encoded, key, version), partial(_decoded, key, version)
        )
        for key, (_, first, last, _) in sorted(APIS.items())
        for version in range(first, last + 1)
    ]


def _encoded(key: int, version: int, message: Any) -> bytes:
    return encode_response_header(key, version, 7) + codec.encode_response(message, version)


def _decoded(key: int, version: int, frame: bytes) -> Any:
    return decode_response(key, version, frame)[1]


ROWS: Final = _rows()


def check(data: bytes) -> None:
    codecs.check(ROWS, data)


def seeds() -> list[bytes]:
    return codecs.seeds(ROWS, 1)


def mutate(data: bytes, chance: Random) -> bytes:
    return codecs.mutate(ROWS, data, chance)
