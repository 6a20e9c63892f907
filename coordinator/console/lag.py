"""The lag of groups at regular moments: the last values of each, and how fast it grows."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

UNKNOWN: Final = -1


class LagSamples:
    """The last `kept` values of at most `most_groups` groups; the one that was sampled longest ago is forgotten."""

    def __init__(self, most_groups: int, kept: int) -> None:
        self._most_groups = most_groups
        self._kept = kept
        self._values: OrderedDict[str, array[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def add(self, group: str, lag: int) -> None:
        """Note the lag of a group, or UNKNOWN."""
        values = self._values.get(group)
        if values is None:
            values = self._values[group] = array("q")
            if len(self._values) > self._most_groups:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(group)
            if len(values) >= self._kept:
                del values[0]
        values.append(lag)

    def of(self, group: str) -> list[int]:
        """Return the values of a group, oldest first."""
        values = self._values.get(group)
        return [] if values is None else values.tolist()


def per_s(values: Sequence[int], sample_ms: int) -> float | None:
    """Return the slope of a line through the known values (least squares), in records per second; None: not known."""
    known = [(position, value) for position, value in enumerate(values) if value != UNKNOWN]
    if len(known) < 2 or sample_ms <= 0:
        return None
    mean_position = sum(position for position, _ in known) / len(known)
    mean_value = sum(value for _, value in known) / len(known)
    rise = sum((position - mean_position) * (value - mean_value) for position, value in known)
    run = sum((position - mean_position) ** 2 for position, _ in known)
    return rise / run * 1000 / sample_ms
