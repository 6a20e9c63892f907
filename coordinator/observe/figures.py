"""The figures of an observation for /metrics.

Runs on a thread of the HTTP port. It reads numbers and copies of lists that the event loop maintains.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

from coordinator.metrics.health import NO_LABELS, Sample
from coordinator.processes.wall_clock import wall_ms
from coordinator.version import build

if TYPE_CHECKING:
    from coordinator.observe.progress import FollowProgress
    from coordinator.observe.state import ObservedGroups

OBSERVE: Final = "coordinator_observe_"
GROUP: Final = "kafka_coordinator_group_"


def samples(state: ObservedGroups, progress: FollowProgress, log_bytes: int, started_at: float) -> Iterator[Sample]:
    """Yield the figures; `started_at` is in seconds since the epoch."""
    for group_state, count in _states(state).items():
        yield _gauge(GROUP + "num_groups", "Groups by state.", count, {"state": group_state})
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
    kind: Literal["gauge"] = "gauge"
    return Sample(name, help, kind, value, labels)


def _states(state: ObservedGroups) -> Counter[str]:
    now_ms = wall_ms()
    found = Counter[str]()
    for group in state.groups():
        live = state.live(group, now_ms)
        found[live.state if live is not None else "Dead"] += 1
    return found
