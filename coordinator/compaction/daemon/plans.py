"""The open plan, and when its result is checked again after a failed attempt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

FIRST_RETRY_MS: Final = 5_000
LAST_RETRY_MS: Final = 300_000
BROKEN_AT_MOST: Final = 3  # children that end without an answer; then the result is refused


@dataclass(slots=True)
class OpenPlan:
    """The one open plan: a second job would only wait for the first one's partitions. Times in ms since the epoch."""

    id: str
    made_ms: int
    expires_ms: int
    partitions: tuple[int, ...]  # the largest first
    topic: str
    left_bytes: int = 0  # also due, left for the next plan
    retry_ms: int = 0  # when the next attempt may begin
    trouble: str = ""  # why the last attempt to swap its result in failed
    broken: int = 0  # children that ended without an answer, in a row
    _delay_ms: int = field(default_factory=lambda: FIRST_RETRY_MS)

    def has_expired(self, now_ms: int, touched_ms: int) -> bool:
        """Return whether its time is over, counted from its creation or the last `JobDir.touch`."""
        return now_ms >= self.expires_ms + max(0, touched_ms - self.made_ms)

    def try_again_later(self, why: str, now_ms: int) -> None:
        """Schedule another attempt, because the cause of the failure is not the result."""
        self.trouble = why
        self.retry_ms = now_ms + self._delay_ms
        self._delay_ms = min(2 * self._delay_ms, LAST_RETRY_MS)
