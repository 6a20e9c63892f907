"""The player: what happens to members, and the rebalances that the real core records for it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from coordinator.core.effects import Append
from coordinator.core.events.model import IncidentKind
from coordinator.whatif.client import PlayError
from coordinator.whatif.player import Player, play
from coordinator.whatif.spec import PlayedGroup, Stimulus, StimulusAction
from protocol.offsets_records import GroupKey, OffsetKey, decode_key
from tests.whatif.groups import HOUR, PARTITIONS, T0, after_start, at, causes, group_of, incidents, rebalances, starts

SHARE = PARTITIONS // 3  # of one member


def test_a_group_that_starts_together_rebalances_once() -> None:
    group = group_of()
    played = play(group, starts(group), 1)
    assert causes(played) == ["member_joined"]
    assert rebalances(played)[0].partitions == PARTITIONS


def test_events_have_the_times_of_their_stimuli() -> None:
    played = after_start(group_of(), at(500.5, StimulusAction.STOP, "m1"), at(9_000, StimulusAction.START, "m1"))
    assert [event.at_ms for event in rebalances(played)] == [T0 + round(500.5 * HOUR), T0 + 9_000 * HOUR]


def test_a_restart_of_a_dynamic_member_rebalances_twice() -> None:
    played = after_start(group_of(), at(1, StimulusAction.RESTART, "m1", for_ms=5_000, reason="deploy"))
    assert causes(played) == ["member_left", "member_joined"]
    assert rebalances(played)[0].trigger.reason == "deploy"
    assert played.silent_partition_ms == 0


def test_a_restart_of_a_static_member_rebalances_never_and_its_partitions_wait() -> None:
    played = after_start(group_of(static=True), at(1, StimulusAction.RESTART, "m1", for_ms=5_000))
    assert causes(played) == []
    assert incidents(played) == [IncidentKind.STATIC_MEMBER_REPLACED]
    assert 5_000 * SHARE <= played.silent_partition_ms <= 5_100 * SHARE


def test_a_static_member_that_is_away_for_longer_than_its_session_loses_its_partitions() -> None:
    group = group_of(static=True, session_timeout_ms=10_000)
    played = after_start(group, at(1, StimulusAction.RESTART, "m1", for_ms=60_000))
    assert causes(played) == ["session_expired", "member_joined"]
    assert 7_000 * SHARE <= played.silent_partition_ms <= 10_000 * SHARE


@pytest.mark.parametrize("session_timeout_ms", [10_000, 45_000])
def test_a_crash_costs_the_session_timeout_for_each_partition(session_timeout_ms: int) -> None:
    group = group_of(session_timeout_ms=session_timeout_ms)
    played = after_start(group, at(1, StimulusAction.CRASH, "m1"))
    assert causes(played) == ["session_expired"]
    longest_ms = session_timeout_ms * SHARE
    assert longest_ms - group.members[0].heartbeat_interval_ms * SHARE <= played.silent_partition_ms <= longest_ms


def test_a_longer_session_timeout_hides_a_short_silence() -> None:
    silence = at(1, StimulusAction.PAUSE, "m1", for_ms=20_000)
    assert causes(after_start(group_of(session_timeout_ms=10_000), silence)) == ["session_expired", "member_joined"]
    hidden = after_start(group_of(session_timeout_ms=45_000), silence)
    assert causes(hidden) == []
    assert hidden.silent_partition_ms == 20_000 * SHARE


def test_a_process_that_starts_again_after_a_crash_waits_for_its_former_session() -> None:
    group = group_of(session_timeout_ms=30_000)
    played = after_start(group, at(1, StimulusAction.CRASH, "m1"), at(1 + 5 / 3600, StimulusAction.START, "m1"))
    (joined,) = rebalances(played)
    assert joined.trigger.cause.value == "member_joined"
    assert 22_000 <= joined.join_ms <= 25_000
    assert joined.counts == {"joined": 1, "expired": 1}


def much_happens(seed: int) -> tuple[PlayedGroup, list[Stimulus]]:
    """Return a group, and thirty things that happen to it, in one minute of each of three hours."""
    chance = Random(seed)
    group = group_of(
        static=chance.random() < 0.3,
        is_parked=chance.random() < 0.5,
        session_timeout_ms=chance.choice((6_000, 20_000, 45_000)),
        heartbeat_interval_ms=chance.choice((1_000, 3_000)),
        rebalance_timeout_ms=chance.choice((10_000, 300_000)),
        assignor=chance.choice(("range", "cooperative-sticky")),
    )
    actions = [each for each in StimulusAction if each not in (StimulusAction.FORCE, StimulusAction.GROW)]
    hours = [1 + chance.choice((0, 1, 2)) + chance.random() / 60 for _ in range(30)]
    happening = [
        at(hour, chance.choice(actions), f"m{chance.randint(0, 2)}", for_ms=chance.choice((500, 8_000, 70_000)))
        for hour in hours
    ]
    return group, [*starts(group), *happening]


@pytest.mark.plain("replaces a method of a class")
@pytest.mark.parametrize("seed", range(60))
def test_timers_that_are_skipped_would_have_done_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    group, stimuli = much_happens(seed)
    # (Of 1,500 seeds four differ: two members that end in the same millisecond do so in another order, and a heartbeat
    # of a crash is left out.)
    skipped = play(group, stimuli, seed)
    monkeypatch.setattr(Player, "_timer_ms", lambda player, timer_ms: timer_ms)
    each_one = play(group, stimuli, seed)
    assert rebalances(skipped)
    assert skipped.events == each_one.events
    assert skipped.silent_partition_ms == each_one.silent_partition_ms


@pytest.mark.parametrize("seed", [89, 91, 121])
def test_a_member_that_was_removed_before_it_fell_silent_does_not_keep_a_run_going(seed: int) -> None:
    group, stimuli = much_happens(seed)
    assert rebalances(play(group, stimuli, seed))


def test_members_hear_of_a_rebalance_at_their_next_heartbeat() -> None:
    group = group_of(heartbeat_interval_ms=3_000)
    took = [
        rebalances(after_start(group, at(1, StimulusAction.STOP, "m1"), seed=seed))[0].join_ms for seed in range(40)
    ]
    assert max(took) <= 3_100
    assert 1_600 <= sum(took) / len(took) <= 2_400  # the later one of two members: two thirds of the interval


def test_a_parked_heartbeat_tells_of_a_rebalance_at_once() -> None:
    (left,) = rebalances(after_start(group_of(is_parked=True), at(1, StimulusAction.STOP, "m1")))
    assert left.join_ms < 100


def test_cooperative_members_keep_their_partitions_while_one_joins() -> None:
    took = {}
    for assignor in ("range", "cooperative-sticky"):
        played = after_start(
            group_of(assignor=assignor), at(1, StimulusAction.STOP, "m1"), at(2, StimulusAction.START, "m1")
        )
        joining = [event for event in rebalances(played) if event.at_ms >= T0 + 2 * HOUR]
        took[assignor] = [(event.partitions_moved, event.unowned_partition_ms > 0) for event in joining]
    ((moved, has_gap),) = took["range"]
    assert moved >= SHARE
    assert has_gap
    assert took["cooperative-sticky"] == [(0, False), (SHARE, True)]


def test_a_poll_that_is_too_slow_leaves_the_group_and_joins_again() -> None:
    group = group_of(rebalance_timeout_ms=60_000)
    played = after_start(group, at(1, StimulusAction.SLOW_POLL, "m1", for_ms=90_000))
    left, joined = rebalances(played)
    assert left.trigger.reason == "consumer poll timeout has expired."
    assert (left.at_ms, joined.at_ms) == (T0 + HOUR + 60_000, T0 + HOUR + 90_000)
    longer = replace(group, members=tuple(replace(each, rebalance_timeout_ms=120_000) for each in group.members))
    assert causes(after_start(longer, at(1, StimulusAction.SLOW_POLL, "m1", for_ms=90_000))) == []


def test_a_rebalance_waits_for_a_slow_poll() -> None:
    slow = at(1, StimulusAction.SLOW_POLL, "m1", for_ms=40_000)
    (left,) = rebalances(after_start(group_of(), slow, at(1 + 1 / 3600, StimulusAction.STOP, "m2")))
    assert 38_900 <= left.join_ms <= 39_200
    assert left.last_to_join.client_id == "c1"


def test_a_member_that_sends_no_sync_group_is_dropped() -> None:
    group = group_of(rebalance_timeout_ms=20_000, session_timeout_ms=45_000)
    lost, changed = at(1, StimulusAction.NO_SYNC, "m1", for_ms=100_000), at(1.0001, StimulusAction.RESUBSCRIBE, "m0")
    assert causes(after_start(group, lost, changed)) == ["protocols_changed", "no_sync", "member_joined"]


def test_a_topic_that_grows_is_assigned_by_a_rebalance_of_the_leader() -> None:
    played = after_start(group_of(), at(1, StimulusAction.GROW, topic="orders", partitions=3))
    (grown,) = rebalances(played)
    assert grown.trigger.cause.value == "leader_rejoined"
    assert grown.partitions == PARTITIONS + 3


def test_a_forced_rebalance() -> None:
    assert causes(after_start(group_of(), at(1, StimulusAction.FORCE))) == ["forced"]


def test_the_same_seed_gives_the_same_events() -> None:
    stimuli = [at(1, StimulusAction.RESTART, "m1", for_ms=5_000), at(2, StimulusAction.CRASH, "m2")]
    first, second, third = (after_start(group_of(), *stimuli, seed=seed) for seed in (7, 7, 8))
    assert first == second
    assert first.events != third.events


def test_a_session_timeout_that_the_coordinator_refuses_is_said() -> None:
    group = group_of(session_timeout_ms=1_000)
    with pytest.raises(PlayError, match="refused with INVALID_SESSION_TIMEOUT"):
        play(group, starts(group), 1)


def test_appends_are_group_records_and_commits_with_their_times() -> None:
    appends: list[tuple[Append, int]] = []
    group = replace(group_of(), commit_every_ms=60_000, records_per_s=2.0)
    play(group, starts(group), 1, lambda append, at_ms: appends.append((append, at_ms)), until_ms=T0 + 600_000)
    kinds = [type(decode_key(append.records[0][0])) for append, _ in appends]
    assert kinds.count(GroupKey) == 2  # created, and its first generation
    commits = [(append, at_ms) for append, at_ms in appends if isinstance(decode_key(append.records[0][0]), OffsetKey)]
    assert sum(len(append.records) for append, _ in commits) == 10 * PARTITIONS
    assert {at_ms - T0 for _, at_ms in commits} == {60_000 * number for number in range(1, 11)}


def test_commits_do_not_change_what_happens() -> None:
    stimuli = [at(0.1, StimulusAction.RESTART, "m1", for_ms=5_000)]
    group = group_of()
    quiet = play(group, [*starts(group), *stimuli], 1)
    busy = play(replace(group, commit_every_ms=30_000), [*starts(group), *stimuli], 1, until_ms=T0 + HOUR // 2)
    assert causes(quiet) == causes(busy) == ["member_joined", "member_left", "member_joined"]


def test_a_member_that_closes_while_it_waits_in_a_rebalance_leaves_it() -> None:
    slow = at(1, StimulusAction.SLOW_POLL, "m0", for_ms=60_000)
    restart = at(1 + 1 / 3600, StimulusAction.RESTART, "m2", for_ms=1_000)
    stop = at(1 + 30 / 3600, StimulusAction.STOP, "m1")
    played = after_start(group_of(), slow, restart, stop)
    assert causes(played) == ["member_left"]
    assert rebalances(played)[0].counts == {"left": 2, "joined": 1}
    assert rebalances(played)[0].members_after == 2


def test_a_stimulus_for_a_member_that_is_down_has_no_effect() -> None:
    played = after_start(
        group_of(),
        at(1, StimulusAction.STOP, "m1"),
        at(2, StimulusAction.CRASH, "m1"),
        at(3, StimulusAction.PAUSE, "m1"),
    )
    assert causes(played) == ["member_left"]
    assert played.silent_partition_ms == 0


def test_all_members_may_leave() -> None:
    played = after_start(group_of(), *(Stimulus(T0 + HOUR, StimulusAction.STOP, f"m{number}") for number in range(3)))
    assert rebalances(played)[-1].outcome.value == "empty"
