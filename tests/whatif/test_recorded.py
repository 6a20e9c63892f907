"""Members and stimuli from events; and the round trip: what is played, recorded and played again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

import pytest

from coordinator.core.events.model import (
    AnyEvent,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Trigger,
)
from coordinator.whatif.figures import RunFigures, of_recording, of_run
from coordinator.whatif.player import play
from coordinator.whatif.recorded import Recording, RecordingError, recording_of
from coordinator.whatif.spec import Latency, PlayedGroup, Reactions, Stimulus, StimulusAction
from tests.whatif.groups import HOUR, T0, at, group_of, starts

WEB = ClientInfo("web-1-uuid", "", "web-1", "10.0.0.1", "apache-kafka-java 4.4.0")
API = ClientInfo("api-1-uuid", "", "api-1", "10.0.0.2", "apache-kafka-java 4.4.0")


def rebalance(
    at_ms: int, cause: Cause, *changes: Change, before: int = 2, after: int = 2, **fields: object
) -> Rebalance:
    trigger = Trigger(cause, changes[0].member if changes else WEB, changes[0].reason if changes else "")
    filled = {"join_ms": 1_000, "plan_ms": 5, "sync_ms": 6, "partitions": 12, "protocol": "range"} | fields
    return Rebalance(
        group="g",
        at_ms=at_ms,
        trigger=trigger,
        outcome=RebalanceOutcome.STABLE,
        previous_generation=1,
        generation=2,
        members_before=before,
        members_after=after,
        changes=list(changes),
        **filled,  # type: ignore[arg-type]
    )


def left(client: ClientInfo, reason: str = "", kind: ChangeKind = ChangeKind.LEFT, **fields: int) -> Change:
    return Change(kind, client, 0, reason, **({"session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000} | fields))


def joined(client: ClientInfo) -> Change:
    return Change(ChangeKind.JOINED, client, 0, "", 45_000, 300_000)


def told(recording: Recording) -> list[tuple[int, str, str, int]]:
    """Return what happened after the start: when since T0, what, to which client, for how long."""
    clients = {member.name: member.client_id for member in recording.group.members}
    return [
        (each.at_ms - T0, each.action.value, clients.get(each.member, ""), each.for_ms)
        for each in recording.stimuli
        if each.at_ms >= recording.since_ms
    ]


def test_a_member_that_leaves_and_returns_is_the_same_process() -> None:
    again = replace_id(WEB, "web-1-other")
    events = [
        rebalance(T0, Cause.MEMBER_LEFT, left(WEB, "closed"), after=1),
        rebalance(T0 + 9_000, Cause.MEMBER_JOINED, joined(again), before=1),
        rebalance(T0 + HOUR, Cause.MEMBER_LEFT, left(again, "closed"), after=1),
    ]
    recording = recording_of(events)
    assert told(recording) == [(0, "stop", "web-1", 0), (9_000, "start", "web-1", 0), (HOUR, "stop", "web-1", 0)]
    assert len(recording.group.members) == 2


def test_a_session_that_expired_began_to_be_silent_a_session_timeout_earlier() -> None:
    events = [rebalance(T0 + HOUR, Cause.SESSION_EXPIRED, left(WEB, kind=ChangeKind.EXPIRED), after=1)]
    silent, ended = told(recording_of(events))
    assert silent[:3] == (HOUR - 45_000 + 1_500, "pause", "web-1")
    assert ended == (HOUR + 1, "crash", "web-1", 0), "it never returned"


def test_a_process_that_starts_before_its_former_session_has_ended_is_the_crashed_one() -> None:
    expired = left(WEB, kind=ChangeKind.EXPIRED)
    expired = Change(expired.kind, WEB, 30_000, "", 45_000, 300_000)
    events = [
        rebalance(T0, Cause.MEMBER_LEFT, left(API), after=1, last_join_ms=2_000, last_to_join=WEB),
        rebalance(T0 + HOUR, Cause.MEMBER_JOINED, joined(replace_id(WEB, "web-1-b")), expired, before=1, after=1),
    ]
    recording = recording_of(events)
    assert told(recording)[1:] == [(HOUR - 13_500, "crash", "web-1", 0), (HOUR, "start", "web-1", 0)]
    assert {member.client_id for member in recording.group.members} == {"web-1", "api-1"}


def test_a_member_that_returns_after_its_session_has_ended_was_paused() -> None:
    events = [
        rebalance(T0 + HOUR, Cause.SESSION_EXPIRED, left(WEB, kind=ChangeKind.EXPIRED), after=1, last_join_ms=8),
        rebalance(T0 + HOUR + 5_000, Cause.MEMBER_JOINED, joined(replace_id(WEB, "web-1-b")), before=1),
    ]
    assert told(recording_of(events)) == [(HOUR - 43_500, "pause", "web-1", 48_500)]


def test_a_poll_timeout_is_a_slow_poll() -> None:
    events = [
        rebalance(T0 + HOUR, Cause.MEMBER_LEFT, left(WEB, "consumer poll timeout has expired."), after=1),
        rebalance(T0 + HOUR + 20_000, Cause.MEMBER_JOINED, joined(replace_id(WEB, "web-1-b")), before=1),
    ]
    assert told(recording_of(events)) == [(HOUR - 300_000, "slow_poll", "web-1", 320_000)]


def test_a_member_for_which_a_rebalance_waited_polled_slowly() -> None:
    events = [
        rebalance(T0, Cause.MEMBER_LEFT, left(API), after=1, last_to_join=WEB, last_join_ms=40_000, join_ms=40_000)
    ]
    assert (-1, "slow_poll", "web-1", 40_000) in told(recording_of(events))


def test_a_second_round_of_a_cooperative_assignor_is_no_stimulus() -> None:
    change = Change(ChangeKind.RESUBSCRIBED, WEB)
    events = [
        rebalance(T0, Cause.MEMBER_JOINED, joined(API), before=1, protocol="cooperative-sticky"),
        rebalance(T0 + 1_010, Cause.PROTOCOLS_CHANGED, change, protocol="cooperative-sticky"),
    ]
    assert told(recording_of(events)) == [(0, "start", "api-1", 0)]
    assert recording_of(events).group.assignor == "cooperative-sticky"
    eager = [rebalance(T0, Cause.PROTOCOLS_CHANGED, change)]
    assert told(recording_of(eager)) == [(0, "resubscribe", "web-1", 0)]


def test_a_leader_that_rejoins_has_seen_its_topics_grow() -> None:
    events = [rebalance(T0, Cause.FORCED), rebalance(T0 + HOUR, Cause.LEADER_REJOINED, partitions=18)]
    recording = recording_of(events)
    assert recording.group.topics == {"topic": 12}
    assert [(each.action, each.partitions) for each in recording.stimuli[-2:]] == [
        (StimulusAction.FORCE, 0),
        (StimulusAction.GROW, 6),
    ]


def test_members_that_no_event_names_are_filled_up() -> None:
    events = [rebalance(T0, Cause.FORCED, before=5, after=5), rebalance(T0 + HOUR, Cause.FORCED, before=9, after=9)]
    assert len(recording_of(events).group.members) == 9


def test_a_static_member_that_is_replaced_was_restarted() -> None:
    static = ClientInfo("web-1-b", "web-1", "web-1", "10.0.0.1")
    events: list[AnyEvent] = [
        rebalance(T0, Cause.FORCED),
        Incident(
            group="g",
            at_ms=T0 + HOUR,
            what=IncidentKind.STATIC_MEMBER_REPLACED,
            member=static,
            times=2,
            last_ms=T0 + HOUR + 60_000,
        ),
    ]
    recording = recording_of(events)
    assert told(recording)[1:] == [(HOUR, "restart", "web-1", 0), (HOUR + 60_000, "restart", "web-1", 0)]
    assert "web-1" in {member.instance_id for member in recording.group.members}


@pytest.mark.parametrize(
    ("events", "match"),
    [([], "no rebalance"), ([rebalance(T0, Cause.FORCED, type="consumer")], "KIP-848")],
)
def test_what_cannot_be_replayed_is_said(events: Sequence[Rebalance], match: str) -> None:
    with pytest.raises(RecordingError, match=match):
        recording_of(events)


def test_the_times_of_clients_are_learned() -> None:
    group = replace(
        group_of(heartbeat_interval_ms=5_000), reactions=Reactions(plan=Latency(200, 0.3), append=Latency(30, 0.3))
    )
    recording = _recorded(group, _restarts(30), 1)[0]
    learned = recording.group
    assert 4_000 <= learned.members[0].heartbeat_interval_ms <= 6_000
    assert 170 <= learned.reactions.plan.median_ms <= 230
    assert 24 <= learned.reactions.append.median_ms <= 36
    parked = _recorded(group_of(is_parked=True), _restarts(30), 1)[0]
    assert all(member.is_parked for member in parked.group.members)
    assert not any(member.is_parked for member in learned.members)


MANY = [
    at(1, StimulusAction.RESTART, "m1", for_ms=8_000),
    at(2, StimulusAction.CRASH, "m2"),
    at(2.02, StimulusAction.START, "m2"),
    at(3, StimulusAction.PAUSE, "m0", for_ms=70_000),
    at(4, StimulusAction.SLOW_POLL, "m1", for_ms=400_000),
    at(5, StimulusAction.RESUBSCRIBE, "m2"),
    at(6, StimulusAction.SLOW_POLL, "m0", for_ms=30_000),
    at(6.0001, StimulusAction.STOP, "m1"),
    at(7, StimulusAction.START, "m1"),
    at(8, StimulusAction.GROW, topic="orders", partitions=3),
    at(9, StimulusAction.CRASH, "m2"),
    at(9 + 10 / 3600, StimulusAction.START, "m2"),
    *(at(10 + number / 100, StimulusAction.RESTART, f"m{number}", for_ms=5_000) for number in range(3)),
]


def _restarts(number: int) -> list[Stimulus]:
    return [at(1 + each / 10, StimulusAction.RESTART, f"m{each % 3}", for_ms=60_000) for each in range(number)]


def _recorded(group: PlayedGroup, stimuli: Sequence[Stimulus], seed: int) -> tuple[Recording, RunFigures]:
    """Play a group and take its events as a recording, without the start."""
    played = play(group, [*starts(group), *stimuli], seed)
    events = [event for event in played.events if event.at_ms >= T0 + HOUR // 2]
    return recording_of(events, group.topics), of_run(played, T0 + HOUR // 2)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_replay_has_the_figures_of_its_recording(assignor: str, static: bool) -> None:
    group = group_of(assignor=assignor, static=static)
    # The pause of a static member that returns in time is not recorded.
    stimuli = [each for each in MANY if each.at_ms < T0 + 9 * HOUR] if static else MANY
    stimuli = [each for each in stimuli if not static or each.action is not StimulusAction.RESTART]
    truth, replayed = [], []
    for seed in range(8):
        recording, figures = _recorded(group, stimuli, seed)
        truth.append(figures)
        replayed.append(of_run(play(recording.group, recording.stimuli, seed + 100), recording.since_ms))
    for figure in RunFigures._fields:
        known, found = (mean(getattr(each, figure) for each in runs) for runs in (truth, replayed))
        assert found == pytest.approx(known, rel=0.07), figure


def test_the_figures_of_a_recording_are_those_of_its_run() -> None:
    stimuli = [
        at(1, StimulusAction.CRASH, "m1"),
        at(2, StimulusAction.START, "m1"),
        at(3, StimulusAction.RESTART, "m2", for_ms=5_000),
    ]
    group = group_of()
    runs = [play(group, [*starts(group), *stimuli], seed) for seed in range(20)]
    recorded = [of_recording([e for e in run.events if e.at_ms > T0 + HOUR // 2], 3_000) for run in runs]
    known = [of_run(run, T0 + HOUR // 2) for run in runs]
    assert mean(each.lost_partition_ms for each in recorded) == pytest.approx(
        mean(each.lost_partition_ms for each in known), rel=0.02
    )


def replace_id(client: ClientInfo, member_id: str) -> ClientInfo:
    return ClientInfo(member_id, client.instance_id, client.client_id, client.host, client.software)
