"""The notes of the cluster test's members and their check: a loss is reported, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.group_coordinator import GroupCoordinator

from coordinator.testing import Coordinator
from tests.clients.members import ClientMember, MemberOptions, Ownership, Received, StaleOffsetsError, TopicPartition
from tests.cluster.workload.diary import Diary, read_diary
from tests.cluster.workload.member import WorkingMember, mend_aiokafka
from tests.cluster.workload.promises import check_takeovers, read_promises

GROUP = "payments"
ORDERS_8 = ("orders", 8)


class ScriptedMember(ClientMember):
    """A member without a library or a thread: the test says what it is assigned and receives."""

    library = "scripted"
    assignors = frozenset({"range"})

    def __init__(self) -> None:
        self.options = MemberOptions(address="", group=GROUP)
        self._received, self.ownerships, self.errors, self._failure = [], [], [], None
        self.committed_offsets: list[dict[TopicPartition, int]] = []
        self.before_next_command = lambda: None

    def give(self, generation: int, at_s: float) -> None:
        self._assignment = frozenset({ORDERS_8})
        self.ownerships.append(Ownership(generation, "m", self._assignment, at_s, len(self._received)))

    def receive(self, *offsets: int) -> None:
        self._received.extend(Received(*ORDERS_8, offset, b"", 0) for offset in offsets)

    def do(self, function: Any) -> Any:
        self.before_next_command()
        return function()

    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.committed_offsets.append(dict(offsets))

    def _open(self) -> None: ...
    def _poll(self) -> None: ...
    def _close(self) -> None: ...
    def _assigned(self) -> frozenset[TopicPartition]:
        return self._assignment

    def _identity(self) -> tuple[int, str]:
        return 0, "m"

    def _committed(self, partition: TopicPartition) -> int | None:
        return None


def work(member: ScriptedMember, directory: Path, name: str = "m-2") -> Path:
    """One round of a member. Returns its diary."""
    path = directory / GROUP / f"{name}.jsonl"
    diary = Diary(path)
    WorkingMember(member, diary).work()
    diary.close()
    return path


def takeovers(directory: Path) -> tuple[int, list[str]]:
    promised = read_promises(directory)
    return check_takeovers(promised, GROUP), promised.violations


def another_commits(directory: Path, offset: int) -> None:
    other = ScriptedMember()
    other.give(1, 1.0)
    other.receive(offset - 1)
    work(other, directory, "m-1")


def test_records_are_noted_under_the_assignment_they_came_with(tmp_path: Path) -> None:
    member = ScriptedMember()
    member.give(1, 1.0)
    member.receive(5, 6)
    member.give(2, 2.0)
    member.receive(9)
    path = work(member, tmp_path)
    notes = [(each["what"], each.get("generation", each.get("runs"))) for each in read_diary(path)]
    assert notes[:4] == [
        ("assigned", 1),
        ("received", [["orders", 8, 5, 6]]),
        ("assigned", 2),
        ("received", [["orders", 8, 9, 9]]),
    ]


def test_records_of_an_earlier_assignment_are_no_loss(tmp_path: Path) -> None:
    """Another member commits past the records that this one received, and did not note, before it was assigned anew."""
    member = ScriptedMember()
    member.give(1, 1.0)
    member.receive(226, 227)
    another_commits(tmp_path, 236)
    time.sleep(0.01)  # a diary tells the time to 1 ms
    member.give(3, time.time())
    member.receive(236)
    work(member, tmp_path)
    assert takeovers(tmp_path) == (3, [])


def test_a_member_that_begins_below_a_commit_is_a_loss(tmp_path: Path) -> None:
    member = ScriptedMember()
    another_commits(tmp_path, 236)
    member.give(3, 9e9)
    member.receive(226)
    work(member, tmp_path)
    assert takeovers(tmp_path)[0] == 2
    [violation] = takeovers(tmp_path)[1]
    assert violation.startswith(
        "payments ('orders', 8): m-2, assigned at 9000000000.000, began at 226, but 236 had been"
    )


def test_offsets_of_an_earlier_assignment_are_not_committed(tmp_path: Path) -> None:
    member = ScriptedMember()
    member.give(1, 1.0)
    member.receive(225)
    member.before_next_command = lambda: member.give(2, 2.0)
    path = work(member, tmp_path)
    assert member.committed_offsets == []
    assert [each["what"] for each in read_diary(path)] == ["assigned", "received", "not committed"]
    with pytest.raises(StaleOffsetsError, match="has been assigned partitions anew"):
        member.commit({ORDERS_8: 226}, ownerships=1)


@pytest.mark.integration
@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"])
async def test_aiokafka_does_not_overlook_the_error_of_an_offset_fetch(
    error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GroupCoordinator, "_send_req", GroupCoordinator._send_req)  # is put back afterwards
    mend_aiokafka()
    async with Coordinator(topics={"orders": 1}) as server:
        await server.produce("orders", ["a", "b"])
        settings = {
            "bootstrap_servers": server.bootstrap_servers,
            "group_id": GROUP,
            "auto_offset_reset": "earliest",
            "max_poll_records": 1,
        }
        async with AIOKafkaConsumer("orders", **settings) as first:
            assert (await first.getone()).offset == 0
        await server.wait_committed(GROUP, "orders", 1)
        await server.fail_next("OffsetFetch", error)
        async with AIOKafkaConsumer("orders", **settings) as second:
            assert (await second.getone()).offset == 1
        assert all(fault.fired for fault in server.faults)
