"""The flight recorder has rebalances and incidents of KIP-848 groups, with their members and causes."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.consumer_group import owners as owners_of_members
from coordinator.core.consumer_group.group import ConsumerGroupState
from coordinator.core.effects import ClientSoftware
from coordinator.core.events.model import Cause, ChangeKind, Incident, IncidentKind, Rebalance, RebalanceOutcome, Wait
from protocol.error_codes import ErrorCode
from tests.core.consumer_group.test_migration import classic_group, settled, subscribed, upgraded
from tests.support.consumer_world import ConsumerWorld


def world_of(partitions: int = 4, **settings: Any) -> ConsumerWorld:
    return ConsumerWorld({"t": partitions}, config=Config(**settings))


def rebalances(world: ConsumerWorld) -> list[Rebalance]:
    return [event for event in world.core.recorder.events("g") if isinstance(event, Rebalance)]


def incidents(world: ConsumerWorld) -> list[Incident]:
    return [event for event in world.core.recorder.events("g") if isinstance(event, Incident)]


def kinds(event: Rebalance) -> list[tuple[str, str]]:
    return [(change.kind.value, change.member.member_id) for change in event.changes]


def settle(world: ConsumerWorld, *members: str, rounds: int = 6) -> None:
    """Let members send heartbeats, in which they own what they were assigned, until nothing changes any more."""
    for _ in range(rounds):
        for member_id in members:
            epoch = world.consumer_group().members[member_id].epoch
            world.beat(member_id, epoch, owned=world.assigned(member_id))


def pair(world: ConsumerWorld) -> ConsumerWorld:
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    settle(world, "A", "B")
    assert world.epochs[2] == "Stable"
    return world


def test_the_first_member_is_one_rebalance() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"], software=ClientSoftware("librdkafka", "2.16"))
    (event,) = rebalances(world)
    assert (event.type, event.outcome) == ("consumer", RebalanceOutcome.STABLE)
    assert (event.previous_generation, event.generation) == (1, 2)
    assert (event.members_before, event.members_after, event.partitions) == (0, 1, 4)
    assert (event.join_ms, event.sync_ms, event.protocol) == (0, 0, "uniform")
    assert event.trigger.cause is Cause.MEMBER_JOINED
    member = event.trigger.member
    assert (member.member_id, member.client_id, member.host, member.software) == (
        "A",
        "client",
        "127.0.0.1",
        "librdkafka 2.16",
    )
    assert (event.trigger.session_timeout_ms, event.trigger.rebalance_timeout_ms) == (45_000, 300_000)
    assert kinds(event) == [("joined", "A")]
    assert event.text() == (
        "Group g left epoch 1 because a new member joined (A, client client@/127.0.0.1); after 0 ms 1 member had all "
        "partitions of epoch 2."
    )


def test_a_rebalance_names_who_gave_up_last_and_who_got_its_partitions_last() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    assert len(rebalances(world)) == 1
    world.advance("1s")
    world.beat("A", 2)
    world.advance("2s")
    world.beat("A", 2, owned={"t": [0, 1]})
    world.advance("500ms")
    world.beat("B", 3)
    event = rebalances(world)[-1]
    assert (event.last_to_revoke.member_id, event.last_revoke_ms) == ("A", 3_000)
    assert (event.last_to_reconcile.member_id, event.last_reconcile_ms) == ("B", 3_500)
    assert event.previous_reconcile_ms == 3_000
    assert (event.partitions_moved, event.unowned_partition_ms, event.sync_ms) == (2, 1_000, 3_500)
    assert [(share.member.member_id, share.lost, share.gained) for share in event.shares] == [("A", 2, 0), ("B", 0, 2)]


def test_a_heartbeat_that_changes_nothing_records_nothing() -> None:
    world = pair(world_of())
    before = len(world.core.recorder.events("g"))
    for _ in range(20):
        world.advance("5s")
        world.beat("A", 3)
        world.full("B", 3, ["t"], world.assigned("B"))
    assert len(world.core.recorder.events("g")) == before


def test_a_change_before_the_target_is_computed_belongs_to_the_same_rebalance() -> None:
    world = pair(world_of())
    world.beat("C", 0, topics=["t"])
    settle(world, "A", "B", "C")
    before = len(rebalances(world))
    world.beat("C", -1)
    world.advance("1s")
    world.beat("B", -1)
    assert len(rebalances(world)) == before
    settle(world, "A")
    (event,) = rebalances(world)[before:]
    assert kinds(event) == [("left", "C"), ("left", "B")]
    assert [change.after_ms for change in event.changes] == [0, 1_000]
    assert (event.members_before, event.members_after) == (3, 1)
    assert (event.trigger.cause, event.join_ms) == (Cause.MEMBER_LEFT, 1_000)


def test_a_change_behind_the_target_interrupts_the_rebalance() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.advance("1s")
    world.beat("C", 0, topics=["t"])
    event = rebalances(world)[-1]
    assert (event.outcome, event.generation, event.members_after) == (RebalanceOutcome.INTERRUPTED, 3, 2)
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None and story.state is not None and story.state.rebalance is not None
    assert story.state.rebalance.trigger.member.member_id == "C"


def test_the_last_member_leaves_an_empty_group() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("A", -1)
    event = rebalances(world)[-1]
    assert (event.outcome, event.members_after, event.generation) == (RebalanceOutcome.EMPTY, 0, 3)
    world.advance("3s")
    world.beat("A", 0, topics=["t"])
    assert rebalances(world)[-1].unowned_partition_ms == 12_000


@pytest.mark.parametrize(
    ("silent_s", "owns", "cause", "kind"),
    [
        (46, False, Cause.SESSION_EXPIRED, ChangeKind.EXPIRED),
        (21, True, Cause.NOT_REVOKED, ChangeKind.DROPPED),
    ],
)
def test_a_removed_member_has_its_reason(silent_s: int, owns: bool, cause: Cause, kind: ChangeKind) -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"], rebalance_timeout_ms=20_000)
    world.beat("B", 0, topics=["t"])
    if owns:
        world.beat("A", 2, owned={"t": [0, 1, 2, 3]})
    for _ in range(silent_s):
        world.advance("1s")
        world.beat("B", world.consumer_group().members["B"].epoch)
        if owns and "A" in world.consumer_group().members:
            world.beat("A", 2, owned={"t": [0, 1, 2, 3]})
    assert "A" not in world.consumer_group().members
    event = rebalances(world)[-1]
    assert (event.trigger.cause, event.trigger.member.member_id) == (cause, "A")
    assert [change.kind for change in event.changes] == [kind]


def test_a_new_subscription_topics_and_regular_expressions_are_causes() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("A", 2, topics=["t", "u"])
    event = rebalances(world)[-1]
    assert (event.trigger.cause, event.trigger.subscription_changed) == (Cause.PROTOCOLS_CHANGED, True)
    assert kinds(event) == [("resubscribed", "A")]
    world.topics_image.create("u", 2)
    world.beat("A", 3)
    event = rebalances(world)[-1]
    assert event.trigger.cause is Cause.TOPICS_CHANGED and not event.changes
    world.beat("R", 0, subscribed_topic_regex="v.*")
    world.topics_image.create("v1", 1)
    world.advance("11s")
    epoch = world.consumer_group().members["R"].epoch
    world.beat("R", epoch, owned={})
    settle(world, "A", "R")
    assert rebalances(world)[-1].trigger.cause is Cause.REGEX_RESOLVED


def test_the_next_run_of_a_static_member_is_an_incident() -> None:
    world = world_of()
    world.beat("S1", 0, topics=["t"], instance_id="s")
    world.beat("S1", -2, instance_id="s")
    world.beat("S2", 0, topics=["t"], instance_id="s")
    (incident,) = incidents(world)
    assert (incident.what, incident.member.member_id, incident.other.member_id) == (
        IncidentKind.STATIC_MEMBER_REPLACED,
        "S2",
        "S1",
    )
    assert len(rebalances(world)) == 1


@pytest.mark.parametrize(
    ("request_of", "what", "error"),
    [
        (lambda world: world.beat("X", 3), IncidentKind.UNKNOWN_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda world: world.beat("B", 9), IncidentKind.STALE_GENERATION, ErrorCode.FENCED_MEMBER_EPOCH),
        (
            lambda world: world.beat("C", 0, topics=["t"], server_assignor="mine"),
            IncidentKind.JOIN_REFUSED,
            ErrorCode.UNSUPPORTED_ASSIGNOR,
        ),
        (
            lambda world: world.beat("C", 0, topics=["t"], instance_id="s"),
            IncidentKind.FENCED,
            ErrorCode.UNRELEASED_INSTANCE_ID,
        ),
        (
            lambda world: [world.beat(name, 0, topics=["t"]) for name in ("C", "D")][-1],
            IncidentKind.JOIN_REFUSED,
            ErrorCode.GROUP_MAX_SIZE_REACHED,
        ),
    ],
)
def test_a_refused_heartbeat_of_a_client_in_trouble_is_an_incident(
    request_of: Any, what: IncidentKind, error: ErrorCode
) -> None:
    world = world_of(group_consumer_max_size=3)
    world.beat("A", 0, topics=["t"], instance_id="s")
    world.beat("B", 0, topics=["t"])
    assert request_of(world).error is error
    (incident,) = incidents(world)
    assert (incident.what, incident.error, incident.api) == (what, error.name, "CONSUMER_GROUP_HEARTBEAT")
    assert incident.other.member_id == ("A" if what is IncidentKind.FENCED else "")


def test_a_failed_append_leaves_no_event() -> None:
    world = pair(world_of())
    before = len(world.core.recorder.events("g"))
    with world.log_held():
        world.beat("C", 0, topics=["t"])
        world.fail_appends()
    world.beat("A", 3)
    assert len(world.core.recorder.events("g")) == before
    assert world.consumer_group().state is ConsumerGroupState.STABLE
    assert world.consumer_group().progress.running is None


def test_a_rebalance_that_takes_long_is_an_incident() -> None:
    world = world_of(group_rebalance_warn_ms=10_000)
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.beat("A", 2, owned={"t": [0, 1, 2, 3]})
    for _ in range(11):
        world.advance("1s")
        world.beat("A", 2, owned={"t": [0, 1, 2, 3]})
        world.beat("B", 3)
    (incident,) = incidents(world)
    assert (incident.what, incident.member.member_id, incident.reason) == (
        IncidentKind.REBALANCE_SLOW,
        "A",
        Wait.REVOCATION.value,
    )
    assert (incident.waited_ms, incident.at_most_ms) == (10_000, 290_000)
    settle(world, "A", "B")
    world.advance("20s")
    assert len(incidents(world)) == 1


def test_a_group_that_was_loaded_in_the_middle_of_a_rebalance_goes_on_with_it() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.crash_and_recover()
    assert [each.what for each in incidents(world)] == [IncidentKind.GROUP_LOADED]
    settle(world, "A", "B")
    event = rebalances(world)[-1]
    assert (event.trigger.cause, event.outcome) == (Cause.UNKNOWN, RebalanceOutcome.STABLE)
    assert (event.previous_generation, event.generation) == (2, 3)


def test_a_removal_by_an_administrator_has_its_reason() -> None:
    world = pair(world_of())
    assert world.leave("g", "B", reason="kicked").error is ErrorCode.NONE
    settle(world, "A")
    event = rebalances(world)[-1]
    assert (event.trigger.cause, event.trigger.reason) == (Cause.MEMBER_LEFT, "kicked")


# -- migration ---------------------------------------------------------------------------------------------------


def test_an_upgrade_is_an_incident_and_its_members_stay() -> None:
    world, one, two = upgraded()
    (incident,) = incidents(world)
    assert (incident.what, incident.member.member_id, incident.generation) == (IncidentKind.GROUP_UPGRADED, "A", 2)
    running = world.consumer_group().progress.running
    assert running is not None
    assert (running.members_before, running.previous_epoch, running.trigger.cause) == (2, 1, Cause.MEMBER_JOINED)
    assert [(change.kind, change.member.member_id) for change in running.changes] == [(ChangeKind.JOINED, "A")]
    assert {one.member_id, two.member_id} < set(world.consumer_group().members)


@pytest.mark.parametrize(
    ("goes", "cause", "kind"),
    [
        (lambda world, one, two: world.beat("A", -1), Cause.MEMBER_LEFT, ChangeKind.LEFT),
        (
            lambda world, one, two: world.advance("46s", heartbeating=[one, two]),
            Cause.SESSION_EXPIRED,
            ChangeKind.EXPIRED,
        ),
    ],
)
def test_a_downgrade_is_an_incident_and_the_classic_rebalance_names_who_went(
    goes: Any, cause: Cause, kind: ChangeKind
) -> None:
    world, one, two = settled()
    goes(world, one, two)
    incident = incidents(world)[-1]
    assert (incident.what, incident.member.member_id) == (IncidentKind.GROUP_DOWNGRADED, "A")
    rebalance = world.group().rebalance
    if rebalance is None:
        event = rebalances(world)[-1]
    else:
        event = rebalance.event(world.group(), RebalanceOutcome.RUNNING, world.core._context)
    assert (event.trigger.cause, event.trigger.member.member_id, event.members_before) == (cause, "A", 3)
    assert [(change.kind, change.member.member_id) for change in event.changes] == [(kind, "A")]
    assert event.trigger.reason == ""  # it is that of the client


def test_a_downgrade_ends_the_rebalance_that_runs() -> None:
    world, _, _ = settled()
    world.beat("B", 0, topics=["t"])
    world.beat("B", -1)
    world.beat("A", -1)
    event = rebalances(world)[-1]
    assert (event.type, event.outcome, event.members_after) == ("consumer", RebalanceOutcome.INTERRUPTED, 3)


def test_a_refused_upgrade_is_an_incident_with_its_reason() -> None:
    world = ConsumerWorld({"t": 4}, config=Config(group_consumer_migration_policy="disabled"))
    classic_group(world, ({"t": [0, 1, 2, 3]},))
    assert world.beat("A", 0, topics=["t"]).error is ErrorCode.GROUP_ID_NOT_FOUND
    (incident,) = incidents(world)
    assert (incident.what, incident.member.member_id) == (IncidentKind.JOIN_REFUSED, "A")
    assert incident.reason.endswith("the online upgrade is disabled.")


@pytest.mark.parametrize(("joins", "cause"), [(False, Cause.NO_REJOIN), (True, Cause.NO_SYNC)])
def test_a_classic_member_that_does_not_follow_is_dropped(joins: bool, cause: Cause) -> None:
    world, one, two = settled()
    world.leave("g", two.member_id)
    world.beat("B", 0, topics=["t"])
    one.heartbeat()
    if joins:
        one.join(protocols=subscribed("t", owned={}))
    while one.member_id in world.consumer_group().members:
        for name in ("A", "B"):
            world.beat(name, world.consumer_group().members[name].epoch, owned=world.assigned(name))
        one.heartbeat()
        world.advance("1s")
    world.beat("A", world.consumer_group().members["A"].epoch, owned=world.assigned("A"))
    found = [each.trigger for each in rebalances(world) if each.trigger.member.member_id == one.member_id]
    running = world.consumer_group().progress.running
    found += [running.trigger] if running is not None else []
    assert found[-1].cause is cause


# -- owners ------------------------------------------------------------------------------------------------------


def owners(world: ConsumerWorld) -> list[tuple[int, str, dict[str, list[int]]]]:
    answer = world.core.owners("g", world.clock.now_ms)
    first_ms = answer.changes_from_ms
    return [(each.at_ms - first_ms, each.key, each.partitions) for each in answer.changes]


def test_the_owners_of_partitions_are_kept_from_change_to_change() -> None:
    world = world_of()
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.advance("1s")
    world.beat("A", 2)
    world.advance("1s")
    world.beat("A", 2, owned={"t": [0, 1]})
    world.beat("B", 3)
    world.advance("1s")
    world.beat("B", -1)
    assert owners(world) == [
        (0, "A", {"t": [0, 1, 2, 3]}),
        (2_000, "A", {"t": [0, 1]}),
        (2_000, "B", {"t": [2, 3]}),
        (3_000, "B", {}),
    ]


def test_a_group_that_was_loaded_has_its_present_owners_also_of_members_that_do_not_change() -> None:
    world = pair(world_of())
    world.crash_and_recover()
    assert [(key, owned) for _, key, owned in owners(world)] == [("A", {"t": [0, 1]}), ("B", {"t": [2, 3]})]
    world.advance("1s")
    world.beat("B", -1)
    assert [(key, owned) for _, key, owned in owners(world)] == [
        ("A", {"t": [0, 1]}),
        ("B", {"t": [2, 3]}),
        ("B", {}),
    ]


def test_an_upgraded_group_has_the_owners_of_its_classic_time_too() -> None:
    world, one, two = upgraded()
    answer = world.core.owners("g", world.clock.now_ms)
    assert [{holder.key for holder in each.holders} for each in answer.generations] == [{one.member_id, two.member_id}]
    assert [(each.key, each.partitions) for each in answer.changes] == [
        (one.member_id, {"t": [0, 1]}),
        (two.member_id, {"t": [2, 3]}),
    ]


def test_owners_of_a_group_with_very_many_members_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners_of_members, "MOST_OWNERS", 2)
    world = pair(world_of())
    assert owners(world)
    world.beat("C", 0, topics=["t"])
    assert world.core.recorder.member_owners.known_from_ms("g") < 0
