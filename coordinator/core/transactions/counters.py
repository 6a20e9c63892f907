"""Counters of the transaction coordinator, for metrics."""

from __future__ import annotations

from enum import Enum


class EndCause(Enum):
    """Reason why a transaction ended. The value is its name in metrics."""

    CLIENT = "client"  # it asked for that
    TIMEOUT = "timeout"
    FENCE = "fence"  # a newer producer began


class TransactionCounters:
    """Counts of durable ends, of markers and of verifications, since the start."""

    __slots__ = ("aborted_by", "committed", "marker_retries", "verification_failures")

    def __init__(self) -> None:
        self.committed = 0
        self.aborted_by = {cause.value: 0 for cause in EndCause}
        self.marker_retries = 0  # markers that had to be sent again
        self.verification_failures = 0  # partitions here that were not, or could not be, found in a transaction

    def ended(self, cause: EndCause, *, commit: bool) -> None:
        """Count a transaction that was decided."""
        if commit:
            self.committed += 1
        else:
            self.aborted_by[cause.value] += 1
