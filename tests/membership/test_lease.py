"""Rules of the lease: until when a node may answer, and since when it has renewed without a gap."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.membership.lease import MARGIN_S, Lease
from coordinator.storage.machine import THIS_MACHINE


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_node_without_a_lease_may_not_answer(clock: Clock) -> None:
    assert not Lease(3000, clock).holds()


def test_a_lease_counts_from_the_moment_before_its_renewal_was_sent(clock: Clock) -> None:
    lease = Lease(3000, clock)
    clock.now_s = 101.0
    lease.began(100.0)
    clock.now_s = 102.499
    assert lease.holds()
    clock.now_s = 102.5
    assert not lease.holds(), "the margin before a take-over has begun"
    lease.renewed(102.0)
    assert lease.holds() and lease.until_s == 104.5


@pytest.mark.parametrize(("lease_ms", "served_s"), [(3000, 2.5), (1500, 1.0), (1000, 2 / 3), (60_000, 59.5)])
def test_the_margin_is_half_a_second_but_at_most_a_third_of_the_lease(
    clock: Clock, lease_ms: int, served_s: float
) -> None:
    lease = Lease(lease_ms, clock)
    lease.began(100.0)
    assert lease.until_s == pytest.approx(100.0 + served_s)


def test_an_ended_lease_holds_no_more_and_can_begin_again(clock: Clock) -> None:
    lease = Lease(3000, clock)
    lease.began(100.0)
    lease.ended()
    assert not lease.holds() and lease.unbroken_s(100.0) == 0.0
    lease.began(100.0)
    assert lease.holds()


def test_renewals_without_a_gap_add_up(clock: Clock) -> None:
    lease = Lease(3000, clock)
    lease.began(100.0)
    for tenth in range(5, 60, 5):
        lease.renewed(100.0 + tenth / 10)
    assert lease.unbroken_s(105.5) == pytest.approx(5.5)


def test_half_a_lease_without_a_renewal_is_a_gap(clock: Clock) -> None:
    lease = Lease(3000, clock)
    lease.began(100.0)
    lease.renewed(101.5)
    assert lease.unbroken_s(101.5) == 1.5
    assert lease.unbroken_s(103.1) == 0.0, "a renewal is overdue"
    lease.renewed(103.1)
    assert lease.unbroken_s(103.1) == 0.0
    lease.renewed(104.0)
    assert lease.unbroken_s(104.0) == pytest.approx(0.9)


@given(
    lease_ms=st.integers(min_value=1000, max_value=60_000),
    renewals=st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), max_size=20),
)
def test_a_lease_ends_before_the_store_may_let_others_take_over(
    lease_ms: int, renewals: list[tuple[float, float]]
) -> None:
    """The store measures silence from the moment a renewal arrives, which is never before it was sent."""
    clock = Clock()
    lease = Lease(lease_ms, clock)
    lease.began(clock.now_s)
    arrived_s = clock.now_s
    for pause_s, travel_s in renewals:
        clock.now_s += pause_s
        sent_s = clock.now_s
        clock.now_s += travel_s
        arrived_s = sent_s + travel_s / 2
        lease.renewed(sent_s)
    clock.now_s = arrived_s + lease_ms / 1000 - min(MARGIN_S, lease_ms / 3000) + 1e-6
    assert not lease.holds()


def test_the_clock_of_leases_counts_the_time_since_the_machine_has_started() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= THIS_MACHINE.boot_time() <= time.clock_gettime(time.CLOCK_BOOTTIME)
