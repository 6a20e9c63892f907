"""Counters of an observation, for metrics and the console: what was followed, how far behind it is, the last problem.

The event loop writes them; any thread may read them. Times are in ms since the epoch, spans in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class PartitionProgress:
    """The position in one partition of the observed log."""

    next_offset: int = 0  # of the mirror
    high_watermark: int = -1  # of the cluster, as of the last answer; -1: not known yet
    start_high_watermark: int = -1  # as of the first answer since the start
    newest_ms: int = -1  # timestamp of the newest record that was followed; -1: none

    @property
    def lag(self) -> int:
        """Number of offsets up to the high watermark."""
        return max(0, self.high_watermark - self.next_offset)


@dataclass(slots=True)
class FollowProgress:
    """The counters of one observation, from its start on."""

    records: int = 0  # from the network
    bytes: int = 0
    fetches: int = 0
    replayed_records: int = 0  # from the mirror, at the start
    undecodable: int = 0  # records and batches that could not be read; the mirror has them, the state has not
    connects: int = 0
    reconnects: int = 0
    gaps: int = 0  # stretches of offsets that the cluster had removed before they could be read
    restarts: int = 0  # times that the observed topic turned out to be another one, and the mirror began anew
    problem: str = ""  # the last problem, one sentence; empty while all is well
    problem_ms: int = 0  # when it was noted
    heard_ms: int = 0  # when the cluster last answered a Fetch; 0: never
    last_record_ms: int = -1  # timestamp of the newest record that was followed
    caught_up: bool = False  # all partitions were read to the end that they had at the start
    is_replaying: bool = False
    extracted_segments: int = 0
    compactions: int = 0
    history_bytes: int = 0  # of Parquet, as of the last round of housekeeping
    housekeeping_problem: str = ""  # why the last round failed, a sentence
    partitions: dict[int, PartitionProgress] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """Number of offsets between the mirror and the high watermarks of all partitions."""
        return sum(each.lag for each in self.partitions.values())

    def seconds_behind(self, now_ms: int) -> float:
        """Return the age of the oldest position that has not reached its high watermark; 0.0 if all have."""
        behind = [each.newest_ms for each in self.partitions.values() if each.lag and each.newest_ms >= 0]
        return max(0, now_ms - min(behind)) / 1000 if behind else 0.0

    def note_problem(self, sentence: str, now_ms: int) -> bool:
        """Set the problem; return True if it is another one than before, and worth a log line."""
        is_new = sentence != self.problem
        self.problem = sentence
        self.problem_ms = now_ms
        return is_new

    def clear_problem(self) -> None:
        self.problem = ""
