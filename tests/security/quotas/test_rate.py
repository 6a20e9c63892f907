"""Rates and buckets in virtual time, beside a plain model of Kafka's `Rate` and the figures of Kafka's own tests."""

from __future__ import annotations

import random

import pytest

from coordinator.security.quotas.rate import Rate, TokenBucket


class PlainRate:
    """Kafka's `Rate` as its documentation has it: every sample is kept, and looked at each time."""

    def __init__(self, quota: float) -> None:
        self.quota = quota
        self.samples: list[list[float]] = []  # begin, last, value

    def record(self, value: float, now_ms: int) -> int:
        if not self.samples or now_ms - self.samples[-1][0] >= 1000:
            self.samples.append([now_ms, now_ms, 0.0])
        self.samples[-1][1] = now_ms
        self.samples[-1][2] += value
        alive = [each for each in self.samples if now_ms - each[1] < 11_000]
        elapsed_ms = now_ms - min(begin for begin, _, _ in alive)
        elapsed_ms += max(10 - elapsed_ms // 1000, 0) * 1000
        rate = sum(value for _, _, value in alive) / (elapsed_ms / 1000)
        return max(int((rate - self.quota) / self.quota * elapsed_ms + 0.5), 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_rate_is_that_of_the_plain_model(seed: int) -> None:
    choose = random.Random(seed)
    longest_ms = choose.choice([50, 500, 3000, 20_000])
    now_ms = choose.randrange(10**12)
    rate, plain = Rate(100, now_ms), PlainRate(100)
    throttled = 0
    for _ in range(400):
        value = choose.randrange(1, longest_ms)
        throttle_ms = rate.record(value, now_ms)
        assert throttle_ms == plain.record(value, now_ms)
        throttled += throttle_ms > 0
        now_ms += choose.randrange(longest_ms)
    assert throttled


def test_the_delay_is_that_of_kafkas_test() -> None:
    """400 bytes in each of ten seconds, then 2,300: 600 B/s over 10.5 s, with a quota of 500."""
    rate = Rate(500, 0)
    assert [rate.record(400, second * 1000) for second in range(10)] == [0] * 10
    assert rate.record(0, 10_000) == 0
    assert rate.record(2300, 10_500) == 2100


def test_a_rate_that_rested_is_as_new() -> None:
    rate = Rate(10, 0)
    assert rate.record(200, 0) == 10_000
    assert rate.record(100, 10_999) > 0
    assert rate.record(100, 30_000) == 0
    assert rate.record(1, 30_000) > 0


def test_tokens_come_back_at_their_rate() -> None:
    bucket = TokenBucket(5, 0)
    bucket.take(60, 0)  # of 55
    assert bucket.overdrawn_ms(0) == 1000
    assert bucket.overdrawn_ms(600) == 400
    assert bucket.overdrawn_ms(1000) == 0
    bucket.take(1, 1000)
    assert bucket.overdrawn_ms(1000) == 200


def test_a_bucket_never_has_more_tokens_than_those_of_eleven_seconds() -> None:
    bucket = TokenBucket(5, 0)
    bucket.take(60, 3_600_000)
    assert bucket.overdrawn_ms(3_600_000) == 1000
