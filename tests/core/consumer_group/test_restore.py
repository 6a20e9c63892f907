"""The KIP-848 groups of a partition that is loaded: one with a fault is set aside, and very many start in slices."""

from __future__ import annotations

import pytest

from coordinator.core.consumer_group import records, restore
from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.member import ConsumerMember
from coordinator.core.loading import SESSIONS_PER_EVENT
from coordinator.core.offsets.quarantine import QUARANTINE_ERROR
from protocol.error_codes import ErrorCode
from protocol.record_batch import build_batch
from tests.support.consumer_world import ConsumerWorld

GROUPS = 5_000


def joined(world: ConsumerWorld, *group_ids: str) -> None:
    for group_id in group_ids:
        assert world.beat("m", 0, topics=["t"], group_id=group_id).error is ErrorCode.NONE


def with_timers(world: ConsumerWorld) -> int:
    groups = world.core.consumer_group_ids.values()
    return sum(session.timer is not None for group in groups for session in group.sessions.values())


@pytest.mark.plain("a method of the compiled build cannot be replaced")
def test_a_fault_in_one_group_sets_only_that_one_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ConsumerWorld({"t": 2})
    joined(world, "before", "faulty", "behind")
    put = ConsumerGroup.put

    def breaks(group: ConsumerGroup, member: object) -> object:
        if group.group_id == "faulty":
            raise ValueError("a defect of this build")
        return put(group, member)  # type: ignore[arg-type]

    monkeypatch.setattr(restore.ConsumerGroup, "put", breaks)
    world.crash_and_recover()
    assert sorted(world.core.consumer_group_ids) == ["before", "behind"]
    (quarantined,) = world.core.partition(0).quarantine.groups.values()
    assert quarantined.group_id == "faulty" and "a defect of this build" in quarantined.reason
    assert world.beat("m", 2, group_id="faulty").error is QUARANTINE_ERROR
    for group_id in ("before", "behind"):
        assert world.beat("m", 2, group_id=group_id).error is ErrorCode.NONE
    assert world.core.partition(0).totals.members == 2

    monkeypatch.undo()  # a build without the defect
    world.crash_and_recover()
    assert world.beat("m", 2, group_id="faulty").error is ErrorCode.NONE
    assert world.core.partition(0).totals.members == 3


@pytest.mark.plain("a method of the compiled build cannot be replaced")
def test_a_group_that_was_set_aside_for_a_fault_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ConsumerWorld({"t": 2})
    joined(world, "faulty")

    def breaks(group: ConsumerGroup, member: object) -> object:
        raise ValueError("a defect of this build")

    monkeypatch.setattr(restore.ConsumerGroup, "put", breaks)
    world.crash_and_recover()
    monkeypatch.undo()
    assert world.delete_groups("faulty").answer.results[0].error_code == 0
    world.crash_and_recover()
    assert world.core.consumer_group_ids == {} and world.core.quarantined_groups == 0


class ManyGroups(ConsumerWorld):
    """A world without checks after each event, which look at all groups."""

    def check(self) -> None:
        pass


@pytest.fixture(scope="module")
def many() -> ConsumerWorld:
    """A log with one batch for each group, of one member."""
    world = ManyGroups({"t": 1})
    log = world.log.partitions[0]
    member = ConsumerMember("m", topic_names=frozenset(("t",)), rebalance_timeout_ms=300_000, epoch=2, previous_epoch=0)
    for number in range(GROUPS):
        group_id = f"g{number}"
        batch = [
            records.member_record(group_id, member),
            records.epoch_record(group_id, 2, 0),
            records.target_record(group_id, "m", {}),
            records.target_epoch_record(group_id, 2, 0),
            records.current_record(group_id, member),
        ]
        log.durable.append(bytes(build_batch(batch, base_offset=log.next_offset, timestamp_ms=1)))
        log.next_offset = log.high_watermark = log.next_offset + len(batch)
    return world


def test_the_sessions_of_5000_groups_start_in_slices_while_the_groups_are_served(many: ConsumerWorld) -> None:
    many.crash_and_recover()
    assert len(many.core.consumer_group_ids) == GROUPS
    started = with_timers(many)
    assert started == SESSIONS_PER_EVENT
    assert many.beat("m", 2, group_id=f"g{GROUPS - 1}").error is ErrorCode.NONE
    slices = 1
    while started < GROUPS:
        assert many.core.next_deadline_ms() == many.clock.now_ms
        many.tick()
        slices, before, started = slices + 1, started, with_timers(many)
        assert started - before <= SESSIONS_PER_EVENT + 1
    assert slices == GROUPS // SESSIONS_PER_EVENT


def test_members_that_send_nothing_after_a_start_are_removed(many: ConsumerWorld) -> None:
    many.crash_and_recover()
    many.advance("44s")
    assert many.core.partition(0).totals.members == GROUPS
    many.advance("2s")
    assert many.core.partition(0).totals.members == 0
