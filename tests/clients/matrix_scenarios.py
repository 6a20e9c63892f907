"""Scenarios that every client of the matrix goes through.

Each scenario is judged twice: by the client's events and by the coordinator's answers (DescribeGroups, OffsetFetch).
A scenario that returns has passed; an AssertionError says what went wrong. Each has a topic and a group of its own. The
names in `SCENARIOS` are the columns of the table in docs/clients.md.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

from protocol.consumer import decode_assignment
from protocol.messages.describe_groups import DescribeGroupsRequest
from tests.clients.matrix_members import Member, Options, Program
from tests.conformance.kafka import Kafka
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets, produce
from tests.support.wire import call

PARTITIONS = 6
CRASH_SESSION_MS = 6000
LONG_SESSION_MS = 60_000  # so long that only a LeaveGroup explains a prompt takeover
WITHIN_S = 40.0

_numbers = itertools.count(1)


@dataclass(slots=True)
class Shown:
    """A member as DescribeGroups shows it."""

    client_id: str
    member_id: str
    instance_id: str | None
    partitions: frozenset[int]


@dataclass(slots=True)
class Stage:
    """One scenario's topic, group and members on the daemon."""

    cooperative: ClassVar[str] = "cooperative-sticky"  # the assignor that the coordinator shows in that scenario
    daemon: Daemon | Kafka
    log: TextIO
    partitions: int = PARTITIONS
    topic: str = ""
    group: str = ""
    members: list[Member] = field(default_factory=list)

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.topic, self.group = f"topic-{number}", f"group-{number}"
        self.daemon.create_topic(self.topic, self.partitions)

    def join(self, program: Program, name: str, **settings: Any) -> Member:
        options = Options(self.daemon.address, self.group, self.topic, name, **settings)
        self.members.append(Member(program, options, self.log))
        return self.members[-1]

    def leave(self, member: Member) -> None:
        self.members.remove(member)
        member.close()

    def kill(self, member: Member) -> None:
        self.members.remove(member)
        member.kill()

    def end(self) -> None:
        for member in self.members:
            member.kill()
        self.members.clear()

    def produce(self, count: int) -> None:
        for partition in range(self.partitions):
            produce(self.daemon.port, self.topic, partition, [f"{partition}-{n}".encode() for n in range(count)])

    def committed(self) -> dict[int, int]:
        offsets = committed_offsets(self.daemon.port, self.group)
        return {partition: offset for (_, partition), offset in offsets.items()}

    def shown(self) -> tuple[str, str, list[Shown]]:
        """State, protocol and members of the group as the coordinator describes them."""
        (found,) = call(self.daemon.port, DescribeGroupsRequest(groups=[self.group]), 5).groups
        members = []
        for each in found.members:
            owned = frozenset[int]()
            if each.member_assignment:
                assigned = decode_assignment(each.member_assignment).assigned_partitions
                owned = frozenset(index for topic in assigned for index in topic.partitions)
            members.append(Shown(each.client_id, each.member_id, each.group_instance_id, owned))
        return found.group_state, found.protocol_data, members

    def settles(self, *members: Member, within_s: float = WITHIN_S) -> float:
        """Wait until these members own all partitions, one owner each, and the coordinator shows the same; how long."""
        started = time.monotonic()

        def settled() -> bool:
            ours = {member.options.name: member.owned for member in members}
            if sorted(partition for owned in ours.values() for partition in owned) != list(range(self.partitions)):
                return False
            state, _, shown = self.shown()
            theirs = {each.client_id: each.partitions for each in shown}
            return state == "Stable" and len(shown) == len(members) and theirs == ours

        try:
            eventually(settled, f"{len(members)} members own all partitions", within_s=within_s)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; they say {list(members)}; the coordinator {self.shown()}") from None
        return time.monotonic() - started

    def commit(self, *members: Member) -> None:
        """Ask these members to commit and wait until they say that they did."""
        asked = [each for each in members if each.program.takes_commands]
        before = [(each.commits, len(each.errors)) for each in asked]
        for member in asked:
            member.ask("commit")
        for member, (commits, errors) in zip(asked, before, strict=True):
            eventually(lambda: member.commits > commits or len(member.errors) > errors, f"{member!r} commits")  # noqa: B023
            assert member.commits > commits, f"the commit of {member!r} failed"


def even(*members: Member) -> None:
    sizes = [len(member.owned) for member in members]
    assert max(sizes) - min(sizes) <= 1, f"uneven shares: {members}"


def join(stage: Stage, program: Program) -> None:
    """A first member gets every partition."""
    stage.settles(stage.join(program, "a"))
    _, protocol, _ = stage.shown()
    assert protocol == "range", protocol


def rebalance(stage: Stage, program: Program) -> None:
    """A second and a third member get their share when they join; who leaves gives it back at once."""
    a = stage.join(program, "a", session_ms=LONG_SESSION_MS)
    stage.settles(a)
    b = stage.join(program, "b", session_ms=LONG_SESSION_MS)
    stage.settles(a, b)
    even(a, b)
    c = stage.join(program, "c", session_ms=LONG_SESSION_MS)
    stage.settles(a, b, c)
    even(a, b, c)
    stage.leave(b)
    stage.settles(a, c)
    even(a, c)
    stage.leave(a)
    stage.settles(c)
    stage.leave(c)
    state, _, shown = stage.shown()
    assert (state, shown) == ("Empty", []), (state, shown)


def crash(stage: Stage, program: Program) -> None:
    """The partitions of a killed member go to the other one when its session is over, and not before."""
    a = stage.join(program, "a", session_ms=CRASH_SESSION_MS)
    stage.settles(a)
    b = stage.join(program, "b", session_ms=CRASH_SESSION_MS)
    stage.settles(a, b)
    stage.kill(b)
    took_s = stage.settles(a)
    least_s = (CRASH_SESSION_MS - 2 * a.options.heartbeat_ms) / 1000 - 1.0
    assert took_s >= least_s, f"taken over after {took_s:.1f} s, the session was {CRASH_SESSION_MS} ms"


def commit(stage: Stage, program: Program) -> None:
    """The coordinator has the offsets that two members commit."""
    a, b = stage.join(program, "a"), stage.join(program, "b")
    stage.settles(a, b)
    stage.produce(10)
    reads(stage, {partition: set(range(10)) for partition in range(PARTITIONS)}, a, b)
    stage.commit(a, b)
    _has_committed(stage, 10)


def resume(stage: Stage, program: Program) -> None:
    """A group that comes back reads on where it committed: nothing twice, nothing left out."""
    stage.produce(10)
    a = stage.join(program, "a")
    stage.settles(a)
    reads(stage, {partition: set(range(10)) for partition in range(PARTITIONS)}, a)
    stage.commit(a)
    _has_committed(stage, 10)
    stage.leave(a)
    stage.produce(5)
    again = stage.join(program, "again")
    stage.settles(again)
    reads(stage, {partition: set(range(10, 15)) for partition in range(PARTITIONS)}, again)
    stage.commit(again)
    _has_committed(stage, 15)


def static(stage: Stage, program: Program) -> None:
    """A static member that dies and is back within its session has its partitions again; the others notice nothing."""
    a = stage.join(program, "a", instance="instance-a", session_ms=LONG_SESSION_MS)
    stage.settles(a)
    b = stage.join(program, "b", instance="instance-b", session_ms=LONG_SESSION_MS)
    stage.settles(a, b)
    _, _, before = stage.shown()
    assert sorted(str(each.instance_id) for each in before) == ["instance-a", "instance-b"], before
    had, changes = b.owned, len(a.changes)
    stage.kill(b)
    again = stage.join(program, "b", instance="instance-b", session_ms=LONG_SESSION_MS)
    stage.settles(a, again)
    assert again.owned == had, f"it had {sorted(had)} and now {sorted(again.owned)}"
    stage.produce(3)  # a member that missed a rebalance would be told now, with the next heartbeats, before it read all
    reads(stage, {partition: set(range(3)) for partition in range(PARTITIONS)}, a, again)
    assert len(a.changes) == changes, f"the other member was disturbed: {a.changes[changes:]}"
    _, _, after = stage.shown()
    ids = [{each.instance_id: each.member_id for each in shown} for shown in (before, after)]
    assert ids[0]["instance-a"] == ids[1]["instance-a"] and ids[0]["instance-b"] != ids[1]["instance-b"], ids


def fenced(stage: Stage, program: Program) -> None:
    """When a second process comes as the same static member, it takes over at once and the first is told."""
    first = stage.join(program, "first", instance="instance", session_ms=LONG_SESSION_MS)
    stage.settles(first)
    errors = len(first.errors)
    second = stage.join(program, "second", instance="instance", session_ms=LONG_SESSION_MS)
    eventually(lambda: len(second.owned) == PARTITIONS, f"the second owns all partitions: {stage.members}")
    eventually(lambda: len(first.errors) > errors or not first.is_running(), f"the first is told: {stage.members}")
    _, _, shown = stage.shown()
    instances = [(each.instance_id, len(each.partitions)) for each in shown]
    assert instances == [("instance", PARTITIONS)], shown


def cooperative(stage: Stage, program: Program) -> None:
    """A cooperative-sticky member gives up the partitions that move and no others."""
    settings: dict[str, Any] = {"assignor": "cooperative-sticky", "session_ms": LONG_SESSION_MS}
    a = stage.join(program, "a", **settings)
    stage.settles(a)
    b = stage.join(program, "b", **settings)
    stage.settles(a, b)
    even(a, b)
    _, protocol, _ = stage.shown()
    assert protocol == stage.cooperative, protocol
    assert a.revoked() == b.owned, f"gave up {sorted(a.revoked())}, the other has {sorted(b.owned)}"
    changes = len(a.changes)
    stage.produce(3)
    reads(stage, {partition: set(range(3)) for partition in range(PARTITIONS)}, a, b)
    stage.leave(b)
    stage.settles(a)
    assert not a.revoked(changes), f"taking over made it give up {sorted(a.revoked(changes))}"


def restart(stage: Stage, program: Program) -> None:
    """The coordinator is killed and started again while two members live: they go on, nothing committed is lost."""
    a = stage.join(program, "a", session_ms=LONG_SESSION_MS)
    b = stage.join(program, "b", session_ms=LONG_SESSION_MS)
    stage.settles(a, b)
    stage.produce(10)
    reads(stage, {partition: set(range(10)) for partition in range(PARTITIONS)}, a, b)
    stage.commit(a, b)
    _has_committed(stage, 10)
    stage.daemon.kill()
    stage.daemon.start()
    stage.settles(a, b)
    assert stage.committed() == dict.fromkeys(range(PARTITIONS), 10), stage.committed()
    stage.produce(5)
    reads(stage, {partition: set(range(15)) for partition in range(PARTITIONS)}, a, b)
    _commit_until(stage, 15, a, b)
    stage.leave(b)
    stage.settles(a)


SCENARIOS: dict[str, Callable[[Stage, Program], None]] = {
    "join": join,
    "rebalance": rebalance,
    "crash": crash,
    "commit": commit,
    "resume": resume,
    "restart": restart,
    "static": static,
    "fenced": fenced,
    "cooperative": cooperative,
}


def reads(stage: Stage, wanted: dict[int, set[int]], *members: Member) -> None:
    """Each wanted offset of each partition is read, nothing else, and nothing twice by one member.

    A partition that moves before its first commit may be read by both its owners; that is Kafka's promise too.
    """

    def read() -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for member in members:
            for partition, offsets in member.records.items():
                found.setdefault(partition, set()).update(offsets)
        return found

    try:
        eventually(lambda: read() == wanted, "all records are read", within_s=WITHIN_S)
    except AssertionError:
        found = read()
        missing = {each: sorted(wanted[each] - found.get(each, set()))[:5] for each in wanted}
        surplus = {each: sorted(found[each] - wanted.get(each, set()))[:5] for each in found}
        shown = {name: {k: v for k, v in each.items() if v} for name, each in (("no", missing), ("too", surplus))}
        raise AssertionError(f"not all records are read: {shown}; {members}; {stage.shown()}") from None


def _has_committed(stage: Stage, offset: int) -> None:
    wanted = dict.fromkeys(range(stage.partitions), offset)
    try:
        eventually(lambda: stage.committed() == wanted, f"{offset} is committed everywhere", within_s=20.0)
    except AssertionError:
        raise AssertionError(f"committed are {stage.committed()}, not {offset}; {stage.members}") from None


def _commit_until(stage: Stage, offset: int, *members: Member) -> None:
    """Commit until it holds. A member that joined again reads the uncommitted records again and is asked again."""
    wanted = dict.fromkeys(range(stage.partitions), offset)
    for attempt in range(10):
        for member in members:
            if member.program.takes_commands:
                member.ask("commit")
        try:
            eventually(lambda: stage.committed() == wanted, f"{offset} is committed everywhere", within_s=3.0)
            return
        except AssertionError:
            if attempt == 9:
                raise AssertionError(f"committed are {stage.committed()}, not {offset}; {stage.members}") from None


def mixed(stage: Stage, programs: list[Program], departing: list[Program]) -> dict[str, str]:
    """All programs in one group with range. Returns for each departing program "" or what went wrong.

    All read and commit; then each of `departing` in turn leaves, is back, is killed, and is back, and the others take
    over meanwhile.
    """
    members = {each.name: stage.join(each, each.name, session_ms=CRASH_SESSION_MS) for each in programs}
    stage.settles(*members.values(), within_s=2 * WITHIN_S)
    even(*members.values())
    stage.produce(10)
    reads(stage, {partition: set(range(10)) for partition in range(stage.partitions)}, *members.values())
    stage.commit(*members.values())
    _has_committed(stage, 10)
    results: dict[str, str] = {}
    for program in departing:
        try:
            for depart in (stage.leave, stage.kill):
                depart(members.pop(program.name))
                stage.settles(*members.values())
                members[program.name] = stage.join(program, program.name, session_ms=CRASH_SESSION_MS)
                stage.settles(*members.values())
                assert members[program.name].read() == 0, f"read again what was committed: {members[program.name]}"
            results[program.name] = ""
        except AssertionError as failure:
            results[program.name] = str(failure)
            for each in programs:  # a member that has ended comes back, so that the next one has its chance
                if each.name not in members or not members[each.name].is_running():
                    members[each.name] = stage.join(each, each.name, session_ms=CRASH_SESSION_MS)
    return results
