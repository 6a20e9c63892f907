"""Figures of compaction since the start, kept by the compactor and read by the metrics.

Only the event loop writes them. Readers in other threads see whole numbers, possibly of different moments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.compaction.eligibility import LogName


@dataclass(slots=True)
class CompactionCounters:
    """Times are in seconds, moments in ms since the epoch; 0 means never."""

    plans: int = 0
    swaps: int = 0  # partitions whose segments were swapped
    refusals: int = 0  # plans of which something or all was refused
    failures: int = 0  # failed children, and other attempts that are repeated
    bytes_before: int = 0  # of the segments that were swapped out
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    last_look_ms: int = 0  # when the dirtiness was last checked for a plan
    last_plan_ms: int = 0
    last_swap_ms: int = 0
    last_job_s: float = 0.0  # from the plan to the manifest
    last_check_s: float = 0.0  # from the manifest to the swap
    last_recopy_percent: int = 0  # bytes written of bytes read, by the last job
    last_stall_s: float = 0.0  # of the event loop, the longest during the last plan's swaps
    longest_stall_s: float = 0.0
    last_writer_s: float = 0.0  # how long the last plan's longest swap occupied the writer thread
    longest_writer_s: float = 0.0
    marks: dict[LogName, int] = field(default_factory=dict)  # the offset where the last compaction of a log ended
    uncleanable: dict[LogName, str] = field(default_factory=dict)  # logs whose last attempt failed, and why
    last_failed_ms: int = 0  # when the last of them failed
