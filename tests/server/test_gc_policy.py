"""The collector passes over new objects and never over old ones, and the server makes no reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from coordinator.server.gc_policy import THRESHOLDS, GcPolicy
from coordinator.server.loop_health import NOTABLE_S
from tests.support.cluster import Cluster


@pytest.fixture
def gc_policy() -> Iterator[GcPolicy]:
    gc_policy = GcPolicy(lambda what, seconds: None)
    gc_policy.start()
    yield gc_policy
    gc_policy.stop()


def test_the_process_is_left_as_it_was() -> None:
    thresholds, callbacks, frozen = gc.get_threshold(), list(gc.callbacks), gc.get_freeze_count()
    gc_policy = GcPolicy(lambda what, seconds: None)
    gc_policy.start()
    assert gc.get_threshold() == THRESHOLDS
    gc_policy.stop()
    assert (gc.get_threshold(), gc.callbacks) == (thresholds, callbacks)
    assert gc.get_freeze_count() <= frozen  # frozen objects of other tests may be freed at any moment
    gc_policy.stop()


def test_surviving_objects_are_frozen_and_no_full_pass_runs_over_them(gc_policy: GcPolicy) -> None:
    kept = [[number] for number in range(THRESHOLDS[0] * (THRESHOLDS[1] + 3))]
    assert gc.get_count()[2], "a pass of the second generation has been over it"
    frozen = gc.get_freeze_count()
    gc_policy.second()
    assert gc.get_freeze_count() - frozen >= len(kept)
    assert not any(gc.get_count()[1:])


def test_without_such_a_pass_nothing_is_frozen_that_could_still_be_garbage(gc_policy: GcPolicy) -> None:
    frozen = gc.get_freeze_count()
    gc_policy.second()
    assert gc.get_freeze_count() <= frozen  # frozen objects of other tests may be freed at any moment


def test_no_pass_runs_until_the_last_of_several_loads_has_ended(gc_policy: GcPolicy) -> None:
    with gc_policy.loading():
        with gc_policy.loading():
            kept = [[number] for number in range(THRESHOLDS[0] * (THRESHOLDS[1] + 3))]
        assert not gc.isenabled()
        gc_policy.second()
        assert gc.get_freeze_count() >= len(kept)
    assert gc.isenabled()


def test_each_pass_is_timed_and_a_long_one_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float]] = []
    clock = iter((10.0, 10.0 + NOTABLE_S * 5, 20.0, 20.0 + NOTABLE_S / 2))
    monkeypatch.setattr("coordinator.server.gc_policy.perf_counter", lambda: next(clock))
    gc_policy = GcPolicy(lambda what, seconds: told.append((what, seconds)))
    for generation in (2, 0):
        for phase in ("start", "stop"):
            gc_policy._passed(phase, {"generation": generation})
    assert [what for what, _ in told] == ["garbage collection (generation 2)"]
    assert gc_policy.pauses.count == 2
    assert gc_policy.pauses.longest == pytest.approx(NOTABLE_S * 5)


def a_short_life(cluster: Cluster) -> None:
    members = cluster.stable_group(members=3)
    for member in members:
        member.heartbeat()
    members[0].commit({("orders", 0): 7})
    for member in members:
        member.leave()


def a_life_with_static_members_of_whom_one_is_replaced_and_all_expire(cluster: Cluster) -> None:
    members = cluster.stable_group(members=3, instance_ids=["S0"])
    members[1].commit({("orders", 0): 1})
    cluster.fetch("g", require_stable=True)
    cluster.advance("30s", heartbeating=members[:1])
    cluster.member(instance_id="S0").join()
    cluster.advance("90s")


@pytest.mark.parametrize("life", [a_short_life, a_life_with_static_members_of_whom_one_is_replaced_and_all_expire])
def test_a_life_of_a_group_leaves_no_cycles_behind(life: Callable[[Cluster], None]) -> None:
    """Objects that were frozen while they lived are freed by their reference counts alone."""
    cluster = Cluster()

    def live() -> None:
        life(cluster)
        cluster.delete_groups("g")
        cluster.calls.clear()
        cluster.events.clear()

    live()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            live()
        assert gc.collect() == 0
    finally:
        gc.enable()
