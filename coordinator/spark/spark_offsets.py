"""The offsets of a stream that reads partitions of a log, and the limits of its triggers, for sources of any kind.

Offsets are {log partition: next log offset}. The driver plans; workers only call `read`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader

try:
    from pyspark.sql.streaming import datasource as limits
except ImportError:  # before Spark 4.2, which asks sources less
    limits = None  # type: ignore[assignment]

_AvailableNow: Any = limits.SupportsTriggerAvailableNow if limits is not None else object


class LogStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """Reader of a stream, of about `most_offsets` in a trigger; None: of all there are."""

    def __init__(self, most_offsets: int | None) -> None:
        self._most = most_offsets
        self._target: dict[str, int] | None = None  # the ends for a trigger that reads what exists now, and stops

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 - Spark's names, from here on
        ends = self._target or self._ends()
        begun = start or {}
        # Never before what was read, even if the log was truncated: a stream's offsets only grow.
        latest = begun | {number: max(end, begun.get(number, 0)) for number, end in ends.items()}
        most = self._most
        if limit is not None:
            most = limit.max_rows if isinstance(limit, limits.ReadMaxRows) else None
        if most is None or start is None:
            return latest
        waiting = sum(end > begun.get(number, 0) for number, end in latest.items())
        return latest | self._limited(begun, latest, max(most // max(waiting, 1), 1))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        return limits.ReadAllAvailable() if self._most is None else limits.ReadMaxRows(self._most)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        return self._ends()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._ends()

    @abstractmethod
    def _ends(self) -> dict[str, int]:
        """Return the ends of the log as they are now."""

    @abstractmethod
    def _limited(self, start: dict[str, int], latest: dict[str, int], share: int) -> dict[str, int]:
        """Return the ends of a trigger that reads about `share` offsets of a partition, of each at least one."""


def starting_offsets(text: str) -> dict[str, int] | None:
    """Return the offsets in the JSON of `startingOffsets`; None if it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    are_offsets = isinstance(found, dict) and all(isinstance(each, int) and each >= 0 for each in found.values())
    return found if are_offsets else None
