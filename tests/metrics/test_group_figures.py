"""The figures by group: what is counted, what is not known, and the bound on the number of names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from coordinator.config.config import Config
from coordinator.core.offsets.committed import NO_TIMESTAMP
from coordinator.metrics import group_figures
from coordinator.metrics.exposition import expose
from coordinator.metrics.group_figures import HOLD_MS, OTHER, GroupFigures, GroupMetrics, Place, label_of
from coordinator.metrics.group_samples import samples
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member
from tests.support.topics_wire import batch, produce
from tests.support.topics_world import TopicsWorld


class Gathering:
    """A core and topics in virtual time, with the figures of their groups."""

    def __init__(self, most: int = 100, **config: int) -> None:
        self.cluster = Cluster(replace(Config(), group_initial_rebalance_delay_ms=0, **config))
        self.world = TopicsWorld()
        self.asked: list[tuple[list[Place], Callable[[list[int]], None]]] = []
        self.metrics = GroupMetrics(
            self.cluster.core, self.world.topics, most, lambda places, then: self.asked.append((places, then))
        )

    def round(self) -> dict[str, GroupFigures]:
        """Run one round to its end, when the next one is due."""
        self.cluster.advance("5s")
        clock = self.cluster.clock
        steps = self.metrics.begin(clock.now_ms, clock.wall_ms)
        assert steps is not None
        for _ in steps:
            pass
        return self.shown

    @property
    def shown(self) -> dict[str, GroupFigures]:
        assert len({each.label for each in self.metrics.shown}) == len(self.metrics.shown)
        return {each.label: each for each in self.metrics.shown}

    def stable(self, group: str, members: int) -> list[Member]:
        return self.cluster.stable_group(group, members, session_timeout="30m")

    def commit(self, group: str, *offsets: int, topic: str = "orders") -> None:
        self.cluster.commit(group, {(topic, partition): offset for partition, offset in enumerate(offsets)})


@pytest.fixture
def gathering() -> Gathering:
    return Gathering()


def test_a_group_has_its_members_state_generation_and_counters(gathering: Gathering) -> None:
    cluster = gathering.cluster
    a, b = cluster.stable_group()
    cluster.commit("g", {("orders", 0): 1}, member_id=a.member_id, generation=7)
    b.leave()
    cluster.advance("2s")
    a.join()
    a.sync()
    figures = gathering.round()["g"]
    assert (figures.members, figures.states, figures.generation) == (1, {"Stable": 1}, cluster.group().generation)
    assert figures.rebalances["member_left"] == 1 and figures.rebalances["member_joined"] >= 1
    assert figures.rebalance_s >= 2
    assert (figures.commits_refused, figures.fencings) == (1, 0)


def test_fencings_are_counted(gathering: Gathering) -> None:
    cluster = gathering.cluster
    (a,) = cluster.stable_group(members=1, instance_ids=["till-1"])
    again = cluster.member("g", instance_id="till-1")
    again.join()
    cluster.heartbeat("g", a.member_id, 1, instance_id="till-1")
    assert gathering.round()["g"].fencings >= 1


def test_lag_is_counted_where_the_end_is_known(gathering: Gathering) -> None:
    gathering.world.create("orders", 3)
    for partition in (0, 1):
        for _ in range(5):
            produce(gathering.world, partition=partition)
    gathering.commit("g", 1, 3, 0)
    gathering.commit("g", 9, topic="elsewhere")
    figures = gathering.round()["g"]
    assert (figures.lag, figures.longest_lag, figures.unknown_partitions) == (4 + 2, 4, 1)


def test_lag_is_absent_and_not_zero_where_no_end_is_known(gathering: Gathering) -> None:
    gathering.commit("g", 9, topic="elsewhere")
    figures = gathering.round()["g"]
    assert (figures.lag, figures.longest_lag, figures.lag_s, figures.unknown_partitions) == (None, None, None, 1)
    assert not [each.name for each in samples([figures]) if "_lag_" in each.name and "unknown" not in each.name]


def test_lag_in_seconds_is_the_age_of_the_oldest_record_that_is_not_committed(gathering: Gathering) -> None:
    gathering.world.create("orders", 2)
    now_ms = gathering.cluster.clock.wall_ms
    for age_s in (90, 60, 30):
        produce(gathering.world, batch(timestamp=now_ms - age_s * 1000))
    produce(gathering.world, batch(timestamp=now_ms - 500_000), partition=1)
    gathering.commit("g", 1, 1)
    assert gathering.round()["g"].lag_s == 60 + 5
    gathering.commit("g", 3, 1)
    assert gathering.round()["g"].lag_s == 0


def test_time_of_a_record_that_is_not_in_memory_is_read_once(gathering: Gathering) -> None:
    gathering.world.create("orders")
    now_ms = gathering.cluster.clock.wall_ms
    for _ in range(3):
        produce(gathering.world, batch(timestamp=now_ms))
    partition = gathering.world.partition("orders")
    partition.tail.clear()
    gathering.commit("g", 1)
    assert "g" not in gathering.round()
    ((places, then),) = gathering.asked
    assert places == [(partition, 1)]
    then([now_ms - 1000])
    assert gathering.shown["g"].lag_s == 6
    assert gathering.round()["g"].lag_s == 11
    assert len(gathering.asked) == 1


def test_no_round_begins_while_times_are_read(gathering: Gathering) -> None:
    gathering.world.create("orders")
    produce(gathering.world)
    gathering.world.partition("orders").tail.clear()
    gathering.commit("g", 0)
    gathering.round()
    clock = gathering.cluster.clock
    assert gathering.metrics.begin(clock.now_ms + 60_000, clock.wall_ms) is None
    gathering.asked.pop()[1]([-1])
    assert (gathering.shown["g"].lag, gathering.shown["g"].lag_s) == (1, None)
    assert gathering.metrics.begin(clock.now_ms + 60_000, clock.wall_ms) is not None


def test_seconds_are_absent_when_one_of_the_times_is_not_known(gathering: Gathering) -> None:
    gathering.world.create("orders", 2)
    produce(gathering.world, batch(timestamp=NO_TIMESTAMP))
    produce(gathering.world, partition=1)
    gathering.commit("g", 0, 0)
    figures = gathering.round()["g"]
    assert (figures.lag, figures.lag_s) == (2, None)


def test_times_beyond_the_bound_of_a_round_are_read_by_later_ones(
    gathering: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_figures, "READS_AT_MOST", 2)
    gathering.world.create("orders", 3)
    for partition in range(3):
        produce(gathering.world, partition=partition)
        gathering.world.partition("orders", partition).tail.clear()
    gathering.commit("g", 0, 0, 0)
    gathering.round()
    gathering.asked[0][1]([5, 6])
    assert gathering.shown["g"].lag_s is None
    gathering.round()
    gathering.asked[1][1]([4])
    assert gathering.shown["g"].lag_s == (gathering.cluster.clock.wall_ms - 4) / 1000


# -- the bound on names ----------------------------------------------------------------------------------------------


def test_the_busiest_groups_are_named_and_the_others_summed() -> None:
    gathering = Gathering(most=2)
    cluster = gathering.cluster
    gathering.world.create("orders")
    for _ in range(10):
        produce(gathering.world)
    for number in range(4):
        gathering.commit(f"stored-{number}", number)
    cluster.advance("1h")
    gathering.commit("committing", 9)
    cluster.stable_group("big", members=3)
    gathering.round()
    shown = gathering.round()
    assert set(shown) == {"big", "committing", OTHER}
    rest = shown[OTHER]
    assert (rest.members, rest.states, rest.generation) == (0, {"Empty": 4}, None)
    assert (rest.lag, rest.longest_lag, rest.lag_s) == (10 + 9 + 8 + 7, 10, None)


def test_counters_do_not_jump_when_groups_get_and_lose_their_names() -> None:
    gathering = Gathering(most=1)
    gathering.stable("first", 3)
    gathering.stable("second", 2)
    gathering.round()
    assert gathering.round().keys() == {"first", OTHER}
    for _ in range(3):
        gathering.stable("third", 1)[0].leave()
    gathering.stable("third", 1)
    before = gathering.round()[OTHER].rebalances
    assert (before["member_joined"], before["member_left"]) == (4, 3)
    gathering.cluster.advance(HOLD_MS)
    gathering.round()
    shown = gathering.round()
    assert shown.keys() == {"third", OTHER}
    assert shown[OTHER].rebalances == shown["third"].rebalances == before
    gathering.stable("second", 1)
    gathering.cluster.advance(HOLD_MS)
    gathering.round()
    shown = gathering.round()
    assert shown.keys() == {"second", OTHER}
    assert shown[OTHER].rebalances["member_left"] == 3
    assert shown[OTHER].rebalances["member_joined"] >= 4


def test_a_group_keeps_its_name_for_a_while() -> None:
    gathering = Gathering(most=1)
    gathering.stable("first", 1)
    gathering.round()
    gathering.stable("second", 5)
    for _ in range(3):
        assert "first" in gathering.round()
    gathering.cluster.advance(HOLD_MS)
    gathering.round()
    assert "second" in gathering.round()


def test_a_deleted_group_leaves_its_place_at_once() -> None:
    gathering = Gathering(most=1)
    gathering.commit("first", 1)
    gathering.round()
    gathering.commit("second", 1)
    assert gathering.round().keys() == {"first", OTHER}
    gathering.cluster.delete_groups("first")
    assert gathering.round().keys() == {"second"}


def test_no_group_is_named_where_the_setting_is_0() -> None:
    gathering = Gathering(most=0)
    gathering.stable("g", 2)
    gathering.round()
    assert gathering.round().keys() == {OTHER}
    assert gathering.shown[OTHER].members == 2


def test_a_group_of_the_name_of_the_others_is_one_of_them(gathering: Gathering) -> None:
    gathering.commit(OTHER, 1)
    gathering.commit("g", 1)
    assert gathering.round()[OTHER].states == {"Empty": 1}


# -- cost ------------------------------------------------------------------------------------------------------------


def test_a_round_takes_steps_and_then_rests_for_as_long_as_it_was_long(gathering: Gathering) -> None:
    gathering.world.create("orders", 100)
    for number in range(600):
        gathering.commit(f"g-{number}", *[0] * 100)
    clock = gathering.cluster.clock
    steps = gathering.metrics.begin(clock.now_ms, clock.wall_ms)
    assert steps is not None
    assert sum(1 for _ in steps) >= 600 * 100 / group_figures.LOOKED_AT_ONCE
    rest_ms = 600 * 100 // group_figures.LOOKED_AT_PER_MS
    assert gathering.metrics.begin(clock.now_ms + rest_ms, clock.wall_ms) is None
    assert gathering.metrics.begin(clock.now_ms + 2 * rest_ms, clock.wall_ms) is not None


def test_groups_and_offsets_may_change_between_the_steps(gathering: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_figures, "LOOKED_AT_ONCE", 1)
    gathering.world.create("orders", 4)
    for number in range(20):
        gathering.commit(f"g-{number}", 0, 0, 0)
    clock = gathering.cluster.clock
    steps = gathering.metrics.begin(clock.now_ms, clock.wall_ms)
    assert steps is not None
    for number, _ in enumerate(steps):
        if number < 10:
            gathering.cluster.delete_offsets(f"g-{number // 5}", ("orders", 1))
            gathering.cluster.delete_groups(f"g-{19 - number}")
            gathering.commit(f"new-{number}", 0, 0, 0, 0)
    assert {f"g-{number}" for number in range(10)} <= set(gathering.shown)


# -- labels ----------------------------------------------------------------------------------------------------------

NAMES = ('a"b\\c\nd', "\x00\x1b[31m", "\ud800 alone", "größe 💥", "", "x" * 30_000, "{le=1} 5 # EOF", "\u2028\x85\r")


@pytest.mark.parametrize(
    ("accept", "parse"), [("", parse_classic), ("application/openmetrics-text", parse_openmetrics)]
)
def test_any_group_id_is_a_label_that_can_be_read_back(accept: str, parse: Callable[[str], object]) -> None:
    figures = [replace_label(label_of(name)) for name in NAMES]
    body, _ = expose(list(samples(figures)), accept)
    families = list(parse(body.decode()))  # type: ignore[call-overload]
    (members,) = [family for family in families if family.name == "coordinator_group_members"]
    assert [sample.labels["group"] for sample in members.samples] == [label_of(name) for name in NAMES]
    assert label_of(NAMES[0]) == NAMES[0]
    assert label_of(NAMES[1]) == "\\u0000\\u001b[31m"
    assert label_of(NAMES[2]) == "\\ud800 alone"
    assert max(len(label_of(name)) for name in NAMES) <= 120


def replace_label(label: str) -> GroupFigures:
    return GroupFigures(label, 1, {"Stable": 1}, 1, {}, 0.0, 0, 0, None, None, None, 0)
