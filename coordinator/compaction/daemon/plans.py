"""The plan that is open, if there is one, and when its result is to be looked at again after an attempt that broke."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

FIRST_RETRY_MS: Final = 5_000
LAST_RETRY_MS: Final = 300_000
BROKEN_AT_MOST: Final = 3  # children that end without an answer; then the result is to blame, or the machine


@dataclass(slots=True)
class OpenPlan:
    """One plan at a time: a second job would only wait for the first one's partitions. Times in ms since the epoch."""

    id: str
    made_ms: int
    expires_ms: int
    partitions: tuple[int, ...]  # the largest first
    left_bytes: int = 0  # due, too, and for the next plan
    retry_ms: int = 0  # not before
    trouble: str = ""  # why the last attempt to put its result in place came to nothing
    broken: int = 0  # children that ended without an answer, in a row
    _delay_ms: int = field(default_factory=lambda: FIRST_RETRY_MS)

    def has_expired(self, now_ms: int, touched_ms: int) -> bool:
        """Whether its time is over since it was made, or last worked on (`JobDir.touch`)."""
        return now_ms >= self.expires_ms + max(0, touched_ms - self.made_ms)

    def try_again_later(self, why: str, now_ms: int) -> None:
        """Something was in the way that is not the result's fault."""
        self.trouble = why
        self.retry_ms = now_ms + self._delay_ms
        self._delay_ms = min(2 * self._delay_ms, LAST_RETRY_MS)
