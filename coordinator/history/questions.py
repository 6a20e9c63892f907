"""The parameters of questions about commits and rebalances, and the windows of a rate.

`sql/` has a text for each question, whose columns are the answer. An `Ask` answers it by one of the engines. Commits
of aborted or open transactions do not count. Progress is the difference to the previous commit of the same partition.
The first commit of a partition, the first after a deletion, and one that goes back (a reset) have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from coordinator.history.commits import NEVER, Commits, Ints

MAX_CELLS: Final = 20_000_000  # partitions times windows
DEFAULT_WINDOWS: Final = 60
NO_LIMIT: Final = 2**31 - 1  # the greatest that both engines take

Answer: TypeAlias = list[dict[str, Any]]
Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Answer]  # takes the name of a text, and its parameters


class QuestionError(Exception):
    """The question cannot be answered as asked. The message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The partitions and the range of time (ms since the epoch, both ends included) that a question is about."""

    topics: Sequence[str] = ()  # none: all
    partitions: Sequence[int] = ()
    since_ms: int = -NEVER
    until_ms: int = NEVER

    def wants(self, topic: str, partition: int) -> bool:
        """Return whether a partition is selected."""
        return (not self.topics or topic in self.topics) and (not self.partitions or partition in self.partitions)

    def mask(self, commits: Commits) -> npt.NDArray[np.bool_]:
        """Return a mask of the selected commits."""
        wanted = np.array([self.wants(*key) for key in commits.keys], np.bool_)
        inside = (commits.timestamp_ms >= self.since_ms) & (commits.timestamp_ms <= self.until_ms)
        mask: npt.NDArray[np.bool_] = inside & wanted[commits.key] if len(wanted) else inside
        return mask

    def parameters(self, window_ms: int = 0) -> dict[str, Any]:
        """Return the parameters of this selection: an empty topic or the partition -1 stands for all.

        With the length of a window, and without `since_ms`, `newest_ms` limits the answer to DEFAULT_WINDOWS windows.
        """
        return {
            "topics": list(self.topics) or [""],
            "partitions": list(self.partitions) or [-1],
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
            "window_ms": window_ms,
            "newest_ms": DEFAULT_WINDOWS * window_ms if self.since_ms == -NEVER else NEVER // 2,
        }


@dataclass(frozen=True, slots=True)
class CommitRate:
    """Commits and progress for each partition (first axis) and window (second)."""

    keys: list[tuple[str, int]]
    window_ms: int
    starts_ms: Ints
    commits: Ints
    progress: Ints
    resets: Ints  # commits that went back


def rate(ask: Ask, group: str, selection: Selection, window_ms: int) -> CommitRate:
    """Count commits and progress in each window; windows begin at multiples of their length.

    Without `since_ms`, returns the `DEFAULT_WINDOWS` windows up to the newest selected commit.
    QuestionError: there would be too many windows.
    """
    rows = ask("rate", {**selection.parameters(window_ms), "group": group})
    keys = sorted({(row["topic"], row["partition"]) for row in rows})
    first_ms = rows[0]["first_ms"] if rows else 0
    windows = (max(row["start_ms"] for row in rows) - first_ms) // window_ms + 1 if rows else 0
    if len(keys) * windows > MAX_CELLS:
        raise QuestionError(
            f"that would be {windows} windows for each of {len(keys)} partitions; take a longer --window or less time"
        )
    place = {key: number for number, key in enumerate(keys)}
    cells = np.zeros((3, len(keys), windows), np.int64)
    for row in rows:
        column = (row["start_ms"] - first_ms) // window_ms
        cells[:, place[row["topic"], row["partition"]], column] = row["commits"], row["progress"], row["resets"]
    starts_ms = first_ms + np.arange(windows, dtype=np.int64) * window_ms
    return CommitRate(keys, window_ms, starts_ms, *cells)
