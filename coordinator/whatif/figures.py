"""The figures of runs: rebalances, partition-seconds lost, moves; and their distribution over the seeds.

A partition is lost while it has no owner, and while its owner is silent. The coordinator records the first. Of the
second a run knows all; a recording knows only the silence that ended with the session, which its last heartbeat began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median, quantiles
from typing import NamedTuple

from coordinator.core.events.model import AnyEvent, ChangeKind, Rebalance
from coordinator.whatif.player import Played


class RunFigures(NamedTuple):
    """The figures of one run, or of a recording."""

    rebalances: int = 0
    lost_partition_ms: int = 0
    moved: int = 0

    def __add__(self, other: object) -> RunFigures:
        if not isinstance(other, RunFigures):
            return NotImplemented
        return RunFigures(*(one + more for one, more in zip(self, other, strict=True)))


class Spread(NamedTuple):
    """The distribution of one figure over the seeds."""

    median: float
    p10: float
    p90: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the distribution of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        tenths = quantiles(values, n=10, method="inclusive")
        return cls(median(values), tenths[0], tenths[-1])


def of_run(played: Played, since_ms: int) -> RunFigures:
    """Return the figures of a run from a time on; what happened before is the start of the group."""
    found = [event for event in played.events if isinstance(event, Rebalance) and event.at_ms >= since_ms]
    return of_rebalances(found) + RunFigures(0, played.silent_partition_ms, 0)


def of_rebalances(events: Iterable[Rebalance]) -> RunFigures:
    """Return what the coordinator recorded. Unknown figures count as 0."""
    return sum(
        (RunFigures(1, max(event.unowned_partition_ms, 0), max(event.partitions_moved, 0)) for event in events),
        RunFigures(),
    )


def of_recording(events: Iterable[AnyEvent], heartbeat_interval_ms: int) -> RunFigures:
    """Return the figures of a recording, with the silence of members whose session ended.

    A silence begins half a heartbeat interval after the last heartbeat on average. The partitions of the member are
    those that it lost in the rebalance, or in the one that interrupted it.
    """
    found = [event for event in events if isinstance(event, Rebalance)]
    silent_ms = 0
    expired: dict[str, int] = {}  # session timeout by member id
    for event in found:
        for change in event.changes:
            if change.kind is ChangeKind.EXPIRED:
                expired[change.member.member_id] = change.session_timeout_ms
        for share in event.shares:
            session_ms = expired.pop(share.member.member_id, 0)
            silent_ms += share.lost * max(session_ms - heartbeat_interval_ms // 2, 0)
    return of_rebalances(found) + RunFigures(0, silent_ms, 0)
