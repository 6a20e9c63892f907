"""One row of the list of groups, as a record with one JSON form: an array, because there are many."""

from __future__ import annotations

from typing import Final

import msgspec


class ListedFigures(msgspec.Struct, array_like=True):
    """The figures of one group. Those of its lag are about a second old; -1: not known."""

    group: str
    protocol_type: str
    state: str
    members: int
    generation: int
    lag: int
    unknown_partitions: int
    rebalances: int
    last_rebalance_ms: int
    type: str = "classic"  # or "consumer"


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(list[ListedFigures])


def encode(rows: list[ListedFigures]) -> bytes:
    """Return the JSON of some rows."""
    return _ENCODER.encode(rows)


def decode(data: bytes) -> list[ListedFigures]:
    """Decode rows. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _DECODER.decode(data)
