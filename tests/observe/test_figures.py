"""The figures of observed groups: the busiest ones by name, the others as sums, and nothing that is not known."""

from __future__ import annotations

from coordinator.console.model import GroupRow
from coordinator.core.events.model import Cause, Rebalance, RebalanceOutcome, Trigger
from coordinator.core.events.recorder import FlightRecorder
from coordinator.metrics.group_figures import OTHER
from coordinator.observe.figures import figures_of, samples
from coordinator.observe.progress import FollowProgress


def recorded(group: str, cause: Cause) -> FlightRecorder:
    recorder = FlightRecorder(10, 100, 10)
    event = Rebalance(
        group=group,
        at_ms=5,
        trigger=Trigger(cause),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=1,
        generation=2,
    )
    recorder.rebalance(event)
    return recorder


ROWS = [
    GroupRow(group="old", state="Stable", members=3, lag=7, last_rebalance_ms=1),
    GroupRow(group="new", state="Stable", members=2, lag=-1, unknown_partitions=4, last_rebalance_ms=9),
    GroupRow(group="gone", state="Empty", members=0, lag=5, last_rebalance_ms=99),
]


def test_the_groups_that_rebalanced_last_have_a_name_and_the_others_are_summed() -> None:
    found = figures_of(ROWS, recorded("new", Cause.MEMBER_GONE), 1)
    (named, rest) = found.groups
    assert (named.label, named.members, named.lag, named.unknown_partitions) == ("new", 2, None, 4)
    assert named.rebalances == {"member_gone": 1}
    assert (rest.label, rest.members, rest.lag, rest.states) == (OTHER, 3, 12, {"Stable": 1, "Empty": 1})
    assert (found.states, found.members) == ({"Stable": 2, "Empty": 1}, 5)


def test_what_the_log_does_not_tell_has_no_sample() -> None:
    figures = figures_of(ROWS, recorded("new", Cause.MEMBER_GONE), 10)
    names = {sample.name for sample in samples(figures, FollowProgress(), 10, 0.0)}
    assert "coordinator_group_members" in names
    assert "coordinator_observe_behind_seconds" in names
    assert not names & {"coordinator_group_refused_commits_total", "coordinator_group_rebalance_seconds_total"}
