"""What compaction has done since the start, as figures: kept by the compactor, read by the metrics.

One writer, the event loop; readers in other threads see whole numbers, perhaps of two moments.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class CompactionCounters:
    """Times are in seconds, moments in ms since the epoch; 0 means never."""

    plans: int = 0
    swaps: int = 0  # partitions whose segments were exchanged
    refusals: int = 0  # plans of which something or all was refused
    failures: int = 0  # children that broke, and other attempts that are made again
    bytes_before: int = 0  # of the segments that were replaced
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    last_look_ms: int = 0  # when the dirtiness was last looked at with the thought of doing something
    last_plan_ms: int = 0
    last_swap_ms: int = 0
    last_job_s: float = 0.0  # from the plan to the manifest
    last_check_s: float = 0.0  # from the manifest to the swap
    last_recopy_percent: int = 0  # bytes written of bytes read, by the last job
    last_stall_s: float = 0.0  # of the event loop, the longest during the last plan's swaps
    longest_stall_s: float = 0.0
    last_writer_s: float = 0.0  # for how long the writer thread did the last plan's longest swap, and nothing else
    longest_writer_s: float = 0.0
    marks: dict[int, int] = field(default_factory=dict)  # by partition: where the last cleaning ended
    uncleanable: dict[int, str] = field(default_factory=dict)  # partitions whose last attempt failed, and why
    last_failed_ms: int = 0  # when that was, of the last of them
