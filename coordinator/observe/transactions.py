"""The commits of transactions that are still open. They count when the marker of their transaction comes.

As in Kafka, the newest record of a key wins, not the newest marker: a commit that counts removes the older ones of its
key from every open transaction. The number of commits that are kept is limited: of a transaction that hangs for ever,
the oldest is given up first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

MOST_COMMITS: Final = 500_000

Value: TypeAlias = tuple[int, int]  # committed offset, time in ms


class OpenTransactions:
    """Open transactions by partition of the log and producer id."""

    def __init__(self, most_commits: int = MOST_COMMITS) -> None:
        self.given_up = 0  # transactions
        self._most_commits = most_commits
        self._open: dict[tuple[int, int], dict[bytes, tuple[int, Value]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, partition: int, producer: int, key: bytes, log_offset: int, value: Value) -> None:
        """Keep a commit until its transaction ends."""
        own = self._open.setdefault((partition, producer), {})
        self._count += key not in own
        own[key] = (log_offset, value)
        while self._count > self._most_commits and len(self._open) > 1:
            self._count -= len(self._open.pop(next(iter(self._open))))
            self.given_up += 1

    def end(self, partition: int, producer: int, *, is_commit: bool) -> Mapping[bytes, Value]:
        """End a transaction. Returns the commits that count from now on: none if it was aborted."""
        own = self._open.pop((partition, producer), None)
        if own is None:
            return {}
        self._count -= len(own)
        if not is_commit:
            return {}
        for key, (log_offset, _) in own.items():
            self.supersede(key, log_offset)
        return {key: value for key, (_, value) in own.items()}

    def supersede(self, key: bytes, below: int | None = None) -> None:
        """Forget the commits of a key that are older than one that counts now (`below` its log offset; None: all)."""
        for own in self._open.values():
            kept = own.get(key)
            if kept is not None and (below is None or kept[0] < below):
                del own[key]
                self._count -= 1
