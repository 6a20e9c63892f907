"""The open transactions of all nodes, for the list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from coordinator.core.transactions.open_rows import MOST_ROWS, OpenRow

SHOWN_FROM_MS: Final = 1_000  # those of a busy producer last for less, and would come and go with each answer


def shown_transactions(rows: Iterable[OpenRow], at_ms: int) -> list[OpenRow]:
    """Return the oldest MOST_ROWS that are open for long enough, the oldest first."""
    long = [row for row in rows if at_ms - row.start_ms >= SHOWN_FROM_MS]
    return sorted(long, key=lambda row: (row.start_ms, row.transactional_id))[:MOST_ROWS]
