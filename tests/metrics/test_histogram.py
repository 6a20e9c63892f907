"""A value is counted in the first bucket whose bound is not below it; a weight stands for that many values."""

from __future__ import annotations

import math

from coordinator.metrics.histogram import Histogram


def test_a_value_equal_to_a_bound_is_in_its_bucket() -> None:
    values = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 7.0):
        values.observe(value)
    assert values.buckets() == [(1.0, 2), (2.0, 4), (math.inf, 5)]
    assert (values.count, values.sum, values.longest) == (5, 12.0, 7.0)


def test_a_value_with_a_weight_counts_as_that_many_values() -> None:
    values = Histogram((1.0,))
    values.observe(0.5, 16)
    values.observe(3.0, 1)
    assert values.buckets() == [(1.0, 16), (math.inf, 17)]
    assert values.sum == 11.0
