"""Every decoder of requests, in every served version, with the limit of elements that the server gives it."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from coordinator.server.api.table import HANDLERS
from protocol import codec
from protocol.generate import declared_classes
from tests.fuzz import codecs


def _rows() -> list[codecs.Codec]:
    rows = []
    for key, api in sorted(HANDLERS.items()):
        for version in range(api.min_version, api.max_version + 1):
            decode = codec.request_decoder(key, version)
            rows.append(
                codecs.Codec(
                    declared_classes(api.key)[0],
                    version,
                    codec.request_encoder(key, version),
                    partial(_decoded, decode, api.max_elements),
                )
            )
    return rows


def _decoded(decode: codec.RequestDecoder, limit: int, body: bytes) -> object:
    return decode(body, 0, limit)


ROWS: Final = _rows()


def check(data: bytes) -> None:
    codecs.check(ROWS, data)


def seeds() -> list[bytes]:
    return codecs.seeds(ROWS, 1)


def mutate(data: bytes, chance: Random) -> bytes:
    return codecs.mutate(ROWS, data, chance)
