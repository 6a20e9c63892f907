"""The rate of a client against its quota, over sliding windows, and a bucket of tokens.

Time is in milliseconds. Source: Kafka's `Rate`, `SampledStat`, `QuotaUtils` and `TokenBucket`, with the defaults of
`quota.window.num` and `quota.window.size.seconds`.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

SAMPLES: Final = 11  # quota.window.num: ten whole windows, and the current one
WINDOW_MS: Final = 1000  # quota.window.size.seconds
_WHOLE_MS: Final = (SAMPLES - 1) * WINDOW_MS
_KEPT_MS: Final = SAMPLES * WINDOW_MS


class _Sample(NamedTuple):
    """A window that is over."""

    start_ms: int
    last_ms: int
    value: float


class Rate:
    """The sum of values per second, over the last ten to twelve seconds. The first ten seconds count as ten."""

    __slots__ = (
        "__weakref__",
        "_next_ms",
        "_oldest_ms",
        "_past",
        "_past_value",
        "_start_ms",
        "_value",
        "last_ms",
        "quota",
    )

    def __init__(self, quota: float, now_ms: int) -> None:
        self.quota = quota  # per second
        self._past: deque[_Sample] = deque()
        self._past_value = 0.0
        self._value = 0.0  # of the current sample, as the next
        self._start_ms = self.last_ms = now_ms
        self._oldest_ms = now_ms
        self._next_ms = now_ms + WINDOW_MS  # when the current sample is over, or the oldest one too old

    def record(self, value: float, now_ms: int) -> int:
        """Count a value. Return for how long nothing may be recorded to bring the rate down to the quota; 0: it is."""
        if now_ms >= self._next_ms:
            self._roll(now_ms)
        self._value += value
        self.last_ms = now_ms
        elapsed_ms = now_ms - self._oldest_ms
        if elapsed_ms < _WHOLE_MS:
            elapsed_ms = _WHOLE_MS + elapsed_ms % WINDOW_MS
        quota = self.quota
        excess = (self._past_value + self._value) * 1000 / elapsed_ms - quota
        return int(excess / quota * elapsed_ms + 0.5) if excess > 0 else 0

    def _roll(self, now_ms: int) -> None:
        """Begin another sample if the current one is over, and drop those that are too old."""
        past = self._past
        if now_ms - self._start_ms >= WINDOW_MS:
            past.append(_Sample(self._start_ms, self.last_ms, self._value))
            self._start_ms = now_ms
            self._value = 0.0
        while past and now_ms - past[0].last_ms >= _KEPT_MS:
            past.popleft()
        self._past_value = sum(each.value for each in past)
        self._oldest_ms = past[0].start_ms if past else self._start_ms
        self._next_ms = self._start_ms + WINDOW_MS
        if past:
            self._next_ms = min(self._next_ms, past[0].last_ms + _KEPT_MS)


class TokenBucket:
    """Tokens that come back at a rate, up to those of eleven seconds. It may be overdrawn, once at a time."""

    __slots__ = ("__weakref__", "_last_ms", "_tokens", "quota")

    def __init__(self, quota: float, now_ms: int) -> None:
        self.quota = quota  # per second
        self._tokens = self._most
        self._last_ms = now_ms

    @property
    def _most(self) -> float:
        return self.quota * SAMPLES * WINDOW_MS / 1000

    def take(self, tokens: float, now_ms: int) -> None:
        """Take tokens, also those that are not there yet."""
        self._refill(now_ms)
        self._tokens -= tokens

    def overdrawn_ms(self, now_ms: int) -> int:
        """Return the time until no token is owed; 0 if none is."""
        self._refill(now_ms)
        return max(int(-self._tokens / self.quota * 1000 + 0.5), 0)

    def _refill(self, now_ms: int) -> None:
        self._tokens = min(self._most, self._tokens + self.quota * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms
