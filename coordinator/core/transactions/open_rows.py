"""The open transactions of a node, the oldest of them, as records with one JSON form for the console."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator.core.events.model import NAMED_AT_MOST, shortened
from coordinator.core.transactions.states import IDLE

if TYPE_CHECKING:
    from coordinator.core.transactions.entry import TransactionEntry

MOST_ROWS: Final = 50
SORTED_AT_MOST: Final = 1000  # partitions of one transaction; a larger one has no first ones in their order


class OpenRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One open or decided transaction."""

    transactional_id: str
    producer_id: int
    state: str  # Ongoing, PrepareCommit or PrepareAbort
    start_ms: int  # since the epoch
    timeout_ms: int
    count: int = 0  # of partitions
    partitions: list[str] = []  # NAMED_AT_MOST of them, as in "orders-0"


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(list[OpenRow])


def encode(rows: list[OpenRow]) -> bytes:
    """Return the JSON of some rows."""
    return _ENCODER.encode(rows)


def decode(data: bytes) -> list[OpenRow]:
    """Decode rows. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _DECODER.decode(data)


def open_rows(entries: Iterable[TransactionEntry]) -> list[OpenRow]:
    """Return rows of the first MOST_ROWS entries. One whose open state is not durable yet is left out."""
    rows = []
    for entry in islice(entries, MOST_ROWS):
        metadata = entry.durable
        if metadata is None or metadata.state in IDLE:
            continue
        some = sorted(islice(metadata.partitions, SORTED_AT_MOST))[:NAMED_AT_MOST]
        rows.append(
            OpenRow(
                transactional_id=shortened(entry.transactional_id),
                producer_id=metadata.producer_id,
                state=metadata.state.label,
                start_ms=metadata.start_ms,
                timeout_ms=metadata.timeout_ms,
                count=len(metadata.partitions),
                partitions=[f"{shortened(topic)}-{partition}" for topic, partition in some],
            )
        )
    return rows
