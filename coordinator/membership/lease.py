"""The lease of a node: until when it may answer for the partitions that it has claimed.

A lease counts from the moment *before* its renewal was sent, and ends a margin before other nodes may take over. The
clock is handed in. It must also count the time during which the machine was suspended: `CLOCK_BOOTTIME` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MARGIN_S: Final = 0.5  # between the end of a lease and the first possible take-over; at most a third of the lease


class Lease:
    """The lease of this node. All times are seconds of `clock`.

    `until_s`: the end of the lease.
    """

    __slots__ = ("_clock", "_sent_s", "_served_s", "_unbroken_from_s", "lease_s", "until_s")

    def __init__(self, lease_ms: int, clock: Callable[[], float]) -> None:
        self.lease_s = lease_ms / 1000
        self.until_s = float("-inf")
        self._clock = clock
        self._served_s = self.lease_s - min(MARGIN_S, self.lease_s / 3)
        self._sent_s = float("-inf")  # when the last successful renewal was sent
        self._unbroken_from_s = 0.0

    def holds(self) -> bool:
        """Return whether this node may answer now. Called for each request."""
        return self._clock() < self.until_s

    def began(self, sent_s: float) -> None:
        """Begin a lease: the node was announced, by a request sent at `sent_s`."""
        self._unbroken_from_s = sent_s
        self._extend(sent_s)

    def renewed(self, sent_s: float) -> None:
        """Extend the lease by a renewal that was sent at `sent_s` and succeeded."""
        if sent_s - self._sent_s > self.lease_s / 2:
            self._unbroken_from_s = sent_s
        self._extend(sent_s)

    def _extend(self, sent_s: float) -> None:
        self._sent_s = sent_s
        self.until_s = sent_s + self._served_s

    def ended(self) -> None:
        """End the lease now."""
        self.until_s = self._sent_s = float("-inf")

    def unbroken_s(self, now_s: float) -> float:
        """Return for how long the lease has been renewed without a gap. Half a lease without a renewal is a gap.

        A store that was away for all nodes leaves such a gap. Until it is over for the duration of a lease, silence of
        another node proves nothing.
        """
        return 0.0 if now_s - self._sent_s > self.lease_s / 2 else now_s - self._unbroken_from_s
