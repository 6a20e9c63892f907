"""The figures of an observation for /metrics.

The figures of groups have the names that they have in a daemon (`coordinator.metrics.group_samples`); what the log does
not tell is left out. They are gathered on the event loop; `samples` runs on a thread of the HTTP port.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.events.model import shortened
from coordinator.core.events.recorder import FlightRecorder, RecordedGroup
from coordinator.metrics.group_figures import OTHER, GroupFigures, label_of
from coordinator.metrics.group_samples import samples as group_samples
from coordinator.metrics.health import NO_LABELS, Sample
from coordinator.processes.wall_clock import wall_ms
from coordinator.version import build

if TYPE_CHECKING:
    from coordinator.console.model import GroupRow
    from coordinator.observe.progress import FollowProgress

OBSERVE: Final = "coordinator_observe_"
GROUP: Final = "kafka_coordinator_group_"
_NOTHING: Final = RecordedGroup()


class ObservedFigures(NamedTuple):
    """The figures of all groups at one moment."""

    states: Mapping[str, int] = {}
    members: int = 0
    rebalances: Mapping[str, int] = {}  # by cause
    groups: Sequence[GroupFigures] = ()


def figures_of(rows: Sequence[GroupRow], recorder: FlightRecorder, most: int) -> ObservedFigures:
    """Gather the figures: those that rebalanced last by name, at most `most`, all others as sums."""
    causes = Counter[str]()
    for record in recorder.groups.values():
        causes.update(record.rebalances_by_cause)
    named = nlargest(most, rows, key=lambda row: (row.members > 0, row.last_rebalance_ms, row.members, row.group))
    names = {row.group for row in named}
    rest = [row for row in rows if row.group not in names]
    groups = [
        _figures(label_of(row.group), [row], recorder.groups.get(shortened(row.group)) or _NOTHING) for row in named
    ]
    if rest:
        groups.append(_figures(OTHER, rest, _NOTHING))
    return ObservedFigures(Counter(row.state for row in rows), sum(max(row.members, 0) for row in rows), causes, groups)


def _figures(label: str, rows: Iterable[GroupRow], record: RecordedGroup) -> GroupFigures:
    rows = list(rows)
    lags = [row.lag for row in rows if row.lag >= 0]
    return GroupFigures(
        label=label,
        members=sum(max(row.members, 0) for row in rows),
        states=Counter(row.state for row in rows),
        generation=rows[0].generation if label != OTHER else None,
        rebalances=dict(record.rebalances_by_cause),
        rebalance_s=None,
        commits_refused=None,
        fencings=record.fencings if label != OTHER else None,
        lag=sum(lags) if lags else None,
        longest_lag=None,
        lag_s=None,
        unknown_partitions=sum(row.unknown_partitions for row in rows),
    )


def samples(figures: ObservedFigures, progress: FollowProgress, log_bytes: int, started_at: float) -> Iterator[Sample]:
    """Yield all samples; `started_at` is in seconds since the epoch."""
    for state, count in figures.states.items():
        yield _gauge(GROUP + "num_groups", "Groups by state.", count, {"state": state})
    yield _gauge(GROUP + "num_members", "Members of all groups.", figures.members)
    for cause, count in figures.rebalances.items():
        yield Sample(GROUP + "rebalance_total", "Rebalances, by cause.", "counter", count, {"cause": cause})
    yield from group_samples(figures.groups)
    for name, help, value in (
        ("followed_records_total", "Records of the offsets log that were followed.", progress.records),
        ("followed_bytes_total", "Bytes of the offsets log that were followed.", progress.bytes),
        ("fetches_total", "Answers to Fetch.", progress.fetches),
        ("reconnects_total", "Connections that were opened again.", progress.reconnects),
        ("undecodable_records_total", "Records that could not be read.", progress.undecodable),
        ("gaps_total", "Stretches of the log that were removed before they were followed.", progress.gaps),
        ("restarts_total", "Times that the observed topic had been created again.", progress.restarts),
        ("compactions_total", "Compactions of the mirrored log.", progress.compactions),
    ):
        yield Sample(OBSERVE + name, help, "counter", value)
    for name, help, figure in (
        ("behind_seconds", "Age of the oldest record that is not followed yet.", progress.seconds_behind(wall_ms())),
        ("behind_offsets", "Offsets up to the high watermarks.", progress.lag),
        ("is_caught_up", "1 once the log was read to the end that it had at the start.", int(progress.caught_up)),
        ("has_problem", "1 while the cluster cannot be followed; /readyz says why.", int(bool(progress.problem))),
        ("log_bytes", "Size of the mirrored log.", log_bytes),
        ("history_bytes", "Size of the history.", progress.history_bytes),
    ):
        yield _gauge(OBSERVE + name, help, figure)
    yield _gauge("coordinator_build_info", "Always 1; the label says which build runs.", 1, {"build": build()})
    yield _gauge("process_start_time_seconds", "When the process started, since the epoch.", started_at)
    yield Sample("process_cpu_seconds_total", "CPU time of the process so far.", "counter", time.process_time())


def _gauge(name: str, help: str, value: float, labels: Mapping[str, str] = NO_LABELS) -> Sample:
    return Sample(name, help, "gauge", value, labels)
