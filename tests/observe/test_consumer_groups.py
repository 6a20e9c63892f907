"""KIP-848 groups, by records that the tests write: who holds up whom, how a member went, and topics without names."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import Cause, ChangeKind, IncidentKind, Rebalance, RebalanceOutcome, Wait
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding
from coordinator.observe.consumer_members import AWAY, MemberState
from coordinator.observe.state import ObservedGroups
from protocol.group_records import RecordKind, Value, encode_key, encode_value
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
)
from tests.observe.replay import told

GROUP = "shop"
TOPIC = bytes(15) + b"\7"
TOPIC_IN_BASE64 = "AAAAAAAAAAAAAAAAAAAABw"


class ConsumerLog:
    """Writes the records of one group. Those of one moment are one heartbeat's."""

    def __init__(self, session_ms: int = 45_000) -> None:
        self.names: dict[bytes, str] = {}
        self.state = ObservedGroups(self.names, consumer_session_timeout_ms=session_ms)
        self.now_ms = 1_700_000_000_000
        self.epoch = 1

    def wait(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)

    def write(self, kind: RecordKind, value: Value | None, second: str = "") -> None:
        data = encode_value(value) if value is not None else None
        self.state.record(self.now_ms, encode_key(kind, GROUP, second), data)

    def member(
        self, member_id: str, instance_id: str | None = None, topics: tuple[str, ...] = ("orders",), regex: str = ""
    ) -> None:
        client_id = member_id.rpartition("-")[0]
        value = ConsumerGroupMemberMetadataValue(
            instance_id, None, client_id, "/10.0.0.1", list(topics), regex, 60_000, None
        )
        self.write(RecordKind.CONSUMER_MEMBER, value, member_id)

    def bump(self, metadata_hash: int = 0) -> None:
        self.epoch += 1
        self.write(RecordKind.CONSUMER_GROUP, ConsumerGroupMetadataValue(self.epoch, metadata_hash))

    def assign(self) -> None:
        self.write(RecordKind.CONSUMER_TARGET_EPOCH, ConsumerGroupTargetAssignmentMetadataValue(self.epoch))

    def owns(
        self,
        member_id: str,
        *partitions: int,
        revoking: tuple[int, ...] = (),
        state: MemberState = MemberState.STABLE,
        epoch: int | None = None,
    ) -> None:
        value = ConsumerGroupCurrentMemberAssignmentValue(
            self.epoch if epoch is None else epoch,
            self.epoch - 1,
            state,
            [CurrentPartitions(TOPIC, list(partitions))],
            [CurrentPartitions(TOPIC, list(revoking))],
        )
        self.write(RecordKind.CONSUMER_CURRENT, value, member_id)

    def gone(self, member_id: str) -> None:
        for kind in (RecordKind.CONSUMER_CURRENT, RecordKind.CONSUMER_TARGET, RecordKind.CONSUMER_MEMBER):
            self.write(kind, None, member_id)

    def two_members(self) -> None:
        """web-1-a has 0 and 1, web-2-a has 2 and 3."""
        self.member("web-1-a")
        self.bump()
        self.assign()
        self.owns("web-1-a", 0, 1)
        self.wait(60)
        self.member("web-2-a")
        self.bump()
        self.assign()
        self.owns("web-1-a", 0, 1)
        self.owns("web-2-a", 2, 3)
        self.wait(60)

    @property
    def events(self) -> list[Rebalance]:
        story = self.state.story(GROUP, self.now_ms)
        assert story is not None
        return [event for event in story.events if isinstance(event, Rebalance)]

    def verdict(self) -> Finding:
        story = self.state.story(GROUP, self.now_ms)
        assert story is not None
        return explain(story)[0].code


@pytest.fixture
def log() -> ConsumerLog:
    return ConsumerLog()


def test_the_state_has_kafkas_names(log: ConsumerLog) -> None:
    def state() -> str:
        live = log.state.live(GROUP, log.now_ms)
        assert live is not None
        return live.state

    log.two_members()
    assert state() == "Stable"
    log.member("web-3-a")
    log.bump()
    assert state() == "Assigning"
    log.assign()
    assert state() == "Reconciling"
    log.owns("web-1-a", 0, revoking=(1,), state=MemberState.UNREVOKED_PARTITIONS, epoch=log.epoch - 1)
    log.owns("web-2-a", 2, 3)
    log.owns("web-3-a", state=MemberState.UNRELEASED_PARTITIONS)
    log.wait(3)
    assert state() == "Reconciling"
    log.owns("web-1-a", 0)
    log.wait(1)
    log.owns("web-3-a", 1)
    assert state() == "Stable"
    last = log.events[-1]
    assert last.outcome is RebalanceOutcome.STABLE and last.took_ms == 4_000
    assert (last.last_to_revoke.client_id, last.last_revoke_ms, last.unowned_partition_ms) == ("web-1", 3_000, 1_000)
    for member_id in ("web-1-a", "web-2-a", "web-3-a"):
        log.gone(member_id)
    log.bump()
    assert state() == "Empty" and log.events[-1].outcome is RebalanceOutcome.EMPTY


def test_the_member_that_must_give_up_partitions_is_waited_for(log: ConsumerLog) -> None:
    log.two_members()
    log.member("web-3-a")
    log.bump()
    log.assign()
    log.owns("web-3-a", state=MemberState.UNRELEASED_PARTITIONS)
    log.owns("web-1-a", 0, revoking=(1,), state=MemberState.UNREVOKED_PARTITIONS, epoch=log.epoch - 1)
    log.owns("web-2-a", 2, 3)
    log.wait(20)
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None and story.state is not None and story.state.waits is Wait.REVOCATION
    assert story.state.waits_at_most_ms == 40_000
    verdict = explain(story)[0]
    assert verdict.sentence == "Waiting 20 s for web-1 (10.0.0.1) to give up 1 partition, at most 40 s more"
    assert log.state.owned_now(GROUP)["web-1-a"] == {TOPIC_IN_BASE64: (0, 1)}


def test_a_member_that_does_not_take_up_its_assignment_sends_no_heartbeat(log: ConsumerLog) -> None:
    log.two_members()
    log.member("web-3-a")
    log.bump()
    log.assign()
    log.owns("web-3-a", state=MemberState.UNRELEASED_PARTITIONS)
    log.owns("web-1-a", 0, 1)
    log.wait(20)
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None and story.state is not None and story.state.waits is Wait.HEARTBEAT
    verdict = explain(story)[0]
    assert verdict.code is Finding.SILENT_MEMBER and verdict.culprit.client_id == "web-2"


def test_a_member_that_does_not_give_up_partitions_within_its_rebalance_timeout_was_dropped(log: ConsumerLog) -> None:
    log.two_members()
    log.member("web-3-a")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, revoking=(1,), state=MemberState.UNREVOKED_PARTITIONS, epoch=log.epoch - 1)
    log.wait(60)
    log.gone("web-1-a")
    log.bump()
    assert log.events[-1].outcome is RebalanceOutcome.INTERRUPTED
    log.wait(1)
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None and story.state is not None and story.state.rebalance is not None
    (change,) = story.state.rebalance.changes
    assert change.kind is ChangeKind.DROPPED and change.member.client_id == "web-1"


@pytest.mark.parametrize(
    ("session_ms", "heard_s", "kind"),
    [(45_000, 30, ChangeKind.LEFT), (45_000, 46, ChangeKind.GONE), (0, 30, ChangeKind.GONE)],
)
def test_only_a_heartbeat_that_is_younger_than_the_session_timeout_proves_a_leave(
    session_ms: int, heard_s: int, kind: ChangeKind
) -> None:
    log = ConsumerLog(session_ms)
    log.two_members()
    log.owns("web-2-a", 2, 3)
    log.wait(heard_s)
    log.gone("web-2-a")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, 1, 2, 3)
    event = log.events[-1]
    assert event.changes[0].kind is kind and event.trigger.silent_ms == heard_s * 1000
    assert event.trigger.cause is (Cause.MEMBER_LEFT if kind is ChangeKind.LEFT else Cause.MEMBER_GONE)


def test_a_commit_just_before_suggests_a_leave_and_does_not_prove_it(log: ConsumerLog) -> None:
    log.names[TOPIC] = "orders"
    log.two_members()
    log.wait(300)
    log.state.commits([GROUP], ["orders"], [2], [7], [log.now_ms])
    log.wait(0.2)
    log.gone("web-2-a")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, 1, 2, 3)
    log.wait(1)
    assert log.events[-1].trigger.cause is Cause.MEMBER_GONE
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None
    assert "200 ms before, so it looks as if it left by itself" in explain(story)[0].sentence


def test_a_static_member_that_closed_and_did_not_come_back_lost_its_session(log: ConsumerLog) -> None:
    log.member("web-1-a", "one")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, 1)
    log.wait(60)
    log.owns("web-1-a", 0, 1, epoch=AWAY)
    log.wait(45)
    log.gone("web-1-a")
    log.bump()
    assert log.events[-1].trigger.cause is Cause.SESSION_EXPIRED


def test_a_static_member_that_comes_back_takes_its_place(log: ConsumerLog) -> None:
    log.member("web-1-a", "one")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, 1)
    log.wait(60)
    log.owns("web-1-a", 0, 1, epoch=AWAY)
    log.wait(5)
    log.gone("web-1-a")
    log.member("web-1-b", "one")
    log.owns("web-1-b", 0, 1)
    log.wait(5)
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None
    incident = story.events[-1]
    assert getattr(incident, "what", None) is IncidentKind.STATIC_MEMBER_REPLACED
    assert log.state.owned_now(GROUP) == {"one": {TOPIC_IN_BASE64: (0, 1)}}
    assert story.state is not None and story.state.state == "Stable"


def test_topics_that_got_partitions_are_the_cause_if_no_member_changed(log: ConsumerLog) -> None:
    log.two_members()
    log.bump(metadata_hash=9)
    log.assign()
    log.owns("web-1-a", 0, 1, 4)
    log.owns("web-2-a", 2, 3, 5)
    assert told(log.events[-1]) == ("topics_changed", "")
    log.wait(60)
    log.bump(metadata_hash=9)
    log.assign()
    log.owns("web-1-a", 0, 1, 4)
    log.owns("web-2-a", 2, 3, 5)
    assert told(log.events[-1]) == ("unknown", "")


def test_changes_before_the_assignment_is_computed_belong_to_one_rebalance(log: ConsumerLog) -> None:
    log.two_members()
    log.member("web-3-a")
    log.bump()
    log.wait(0.5)
    log.member("web-4-a")
    log.bump()
    log.wait(0.5)
    log.assign()
    for number, member_id in enumerate(("web-1-a", "web-2-a", "web-3-a", "web-4-a")):
        log.owns(member_id, number)
    event = log.events[-1]
    assert event.counts == {"joined": 2} and event.trigger.member.client_id == "web-3"
    assert (event.join_ms, event.generation, event.changes[1].after_ms) == (1_000, log.epoch, 500)


def test_a_subscription_by_a_pattern_is_a_change_too(log: ConsumerLog) -> None:
    log.two_members()
    log.member("web-2-a", topics=(), regex="ord.*")
    log.bump()
    log.assign()
    log.owns("web-1-a", 0, 1)
    log.owns("web-2-a", 2, 3)
    assert log.events[-1].trigger.cause is Cause.PROTOCOLS_CHANGED
    live = log.state.live(GROUP, log.now_ms)
    assert live is not None and ["ord.*"] in [each.topics for each in live.members]


def test_topic_ids_are_shown_until_their_names_are_known(log: ConsumerLog) -> None:
    log.two_members()
    assert {*log.state.owned_now(GROUP)["web-1-a"]} == {TOPIC_IN_BASE64}
    log.names[TOPIC] = "orders"
    assert log.state.owned_now(GROUP) == {"web-1-a": {"orders": (0, 1)}, "web-2-a": {"orders": (2, 3)}}
    assert {topic for change in log.state.ownership(GROUP) for topic in change.partitions} == {"orders"}


def test_records_of_a_compacted_log_may_come_in_any_order(log: ConsumerLog) -> None:
    log.epoch = 40
    log.assign()
    log.owns("web-1-a", 0, 1)
    log.wait(1)
    log.member("web-1-a")
    log.wait(1)
    log.write(RecordKind.CONSUMER_GROUP, ConsumerGroupMetadataValue(40))
    story = log.state.story(GROUP, log.now_ms)
    assert story is not None and story.events == [] and story.state is not None
    assert (story.state.state, story.state.generation, story.state.member_count) == ("Stable", 40, 1)


def test_a_deleted_group_is_gone(log: ConsumerLog) -> None:
    log.two_members()
    for member_id in ("web-1-a", "web-2-a"):
        log.gone(member_id)
    log.bump()
    log.wait(60)
    log.write(RecordKind.CONSUMER_TARGET_EPOCH, None)
    log.write(RecordKind.CONSUMER_GROUP, None)
    assert log.verdict() is Finding.NO_SUCH_GROUP and GROUP not in log.state.groups()
