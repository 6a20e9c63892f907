"""Plays a rehearsal: a server, records that arrive all the time, and copies that are restarted phase by phase."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coordinator.rehearse.notes import PhaseNotes
from coordinator.rehearse.observer import RehearsalObserver, RehearsedMember
from coordinator.rehearse.phases import GroupProtocol, MigrationPhase, phases
from coordinator.rehearse.record import (
    AbsentCopy,
    EndedCopy,
    PhaseRecord,
    Rehearsal,
    UnreadPartition,
)
from coordinator.testing.host import ServerHost
from coordinator.testing.verbs import Verbs
from coordinator.torture.copies import Copy
from coordinator.torture.input import TOPIC, InputRecords
from coordinator.torture.play import LOOK_S, OUTPUT, QUIET_S, AppError, CopiesPlan
from coordinator.torture.records import counted, read_values
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

GROUP: Final = "rehearsal"
LATE_S: Final = 0.1  # a look that comes later shows that the machine has too much to do
DWELL_S: Final = 1.5  # before a copy is stopped: longer than HELD_S, so that it shows if what it has is not committed
SETTINGS: Final = {  # the timeouts that classic members are told, so that both protocols can be compared
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.min.session.timeout.ms": "10000",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
}


@dataclass(frozen=True, slots=True)
class RehearsalPlan(CopiesPlan):
    """The settings of a rehearsal."""

    session_timeout_ms: int = 10_000


class RehearsalListener:
    """Gets the news of a rehearsal. Does nothing with it."""

    def ended(self, phase: PhaseRecord, number: int, count: int) -> None: ...


class RehearsalPlay:
    """One rehearsal being played."""

    def __init__(self, plan: RehearsalPlan, listener: RehearsalListener) -> None:
        self._plan = plan
        self._listener = listener
        self._host = ServerHost(plan.config)
        self._verbs = Verbs(self._host)
        self._input = InputRecords(self._verbs, plan.partitions)
        self._observer: RehearsalObserver
        self._notes: PhaseNotes
        self._copies: dict[int, Copy] = {}
        self._protocols: dict[int, GroupProtocol] = {}
        self._earlier: dict[int, frozenset[str]] = {}  # by copy: the members before its start
        self._starts: list[Copy] = []  # all of them, ended ones too
        self._twice = 0

    async def run(self) -> Rehearsal:
        """Play all phases, up to the first one after which the application cannot go on.

        Raises AppError if the application does not begin under the classic protocol, or uses another one than it is
        told.
        """
        started_s = time.monotonic()
        rows = phases(self._plan.copies)
        rehearsal = Rehearsal(phases=[PhaseRecord(name=each.name) for each in rows], has_output=self._plan.has_output)
        await self._host.start()
        try:
            self._observer = RehearsalObserver(self._host.runtime, GROUP)
            self._notes = PhaseNotes(self._observer, self._plan.partitions)
            await self._verbs.create_topics({TOPIC: self._plan.partitions, OUTPUT: 1})
            await self._input.produce(self._plan.records)
            async with self._input.trickling():
                for number, (phase, record) in enumerate(zip(rows, rehearsal.phases, strict=True), 1):
                    goes_on = await self._phase(phase, record, is_first=number == 1)
                    self._listener.ended(record, number, len(rows))
                    if not goes_on:
                        break
        finally:
            await asyncio.gather(*(copy.kill() for copy in self._copies.values()))
            await self._host.close()
        rehearsal.took_s = round(time.monotonic() - started_s, 3)
        return rehearsal

    async def _phase(self, phase: MigrationPhase, record: PhaseRecord, *, is_first: bool) -> bool:
        """Play a phase. Returns False if no other one can follow."""
        record.is_played = True
        if is_first:
            await self._begin(record)
        self._notes.begin()
        goes_on = await self._take_steps(phase, record)
        record.protocols = {f"copy-{number}": protocol for number, protocol in sorted(self._protocols.items())}
        self._notes.end(record, self._starts)
        if self._plan.has_output:
            twice = await self._processed_twice()
            record.processed_twice, self._twice = twice - self._twice, twice
        return goes_on

    # -- the steps -----------------------------------------------------------------------------------------------

    async def _begin(self, record: PhaseRecord) -> None:
        """Start all copies. Raises AppError if they do not consume."""
        for number in range(1, self._plan.copies + 1):
            await self._start(number, GroupProtocol.CLASSIC)
        await self._settle(record, self._plan.startup_s)
        for ended in record.ended:
            raise AppError(
                f"{ended.client} ended at its start with exit code {ended.exit_code}; its last lines:\n"
                f"{ended.last_lines}"
            )
        if record.absent or record.unread:
            what = f"{record.absent[0].client} did not become a member" if record.absent else "nothing was committed"
            raise AppError(
                f"within {self._plan.startup_s:g} s {what}; does the "
                "application consume KAFKA_TOPIC as group KAFKA_GROUP_ID from KAFKA_BOOTSTRAP_SERVERS, from the "
                "beginning, and commit? Its last lines:\n" + self._copies[1].log_tail()
            )

    async def _take_steps(self, phase: MigrationPhase, record: PhaseRecord) -> bool:
        for number, protocol in phase.restarts:
            await asyncio.sleep(DWELL_S)
            self._protocols.pop(number)
            copy = self._copies.pop(number)
            self._observer.owners.stopping(time.monotonic(), copy.client_id)
            await copy.stop()
            if not await self._is_away(copy) and not await self._settle(record, self._plan.patience_s):
                return False
            await self._start(number, protocol)
            if not await self._settle(record, self._plan.patience_s):
                return False
        return True

    async def _is_away(self, copy: Copy) -> bool:
        """Return True if a copy that ended is still a member, because it is a static one.

        Another member that did not leave is removed at once, as it would be at the end of its session.
        """
        left = [each for each in self._observer.members() if self._is_of(each, copy)]
        for member in left:
            if member.is_static:
                return True
            request = (
                ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member.member_id, member_epoch=-1)
                if member.uses_consumer_protocol
                else LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=member.member_id)])
            )
            await self._host.call(request)
        return False

    def _is_of(self, member: RehearsedMember, copy: Copy) -> bool:
        """Return True for a member that joined since the start of the copy."""
        return member.client.startswith(copy.client_id) and member.member_id not in self._earlier[copy.number]

    async def _start(self, number: int, protocol: GroupProtocol) -> None:
        client = f"copy-{number}"
        facts = {
            "bootstrap_servers": self._host.bootstrap_servers,
            "topic": TOPIC,
            "group_id": GROUP,
            "client_id": client,
            "output_topic": OUTPUT,
            "session_timeout_ms": str(self._plan.session_timeout_ms),
            "heartbeat_interval_ms": str(self._plan.heartbeat_interval_ms),
            "group_protocol": protocol.value,
        }
        directory = self._plan.directory / str(len(self._starts))
        directory.mkdir(parents=True)
        copy = Copy(number, self._plan.command, facts, directory)
        self._earlier[number] = frozenset(each.member_id for each in self._observer.members())
        try:
            await copy.start()
        except OSError as error:
            raise AppError(
                f"{self._plan.command[0]} cannot be started ({error.strerror}); is it on the PATH?"
            ) from None
        self._copies[number] = copy
        self._protocols[number] = protocol
        self._starts.append(copy)

    async def _settle(self, record: PhaseRecord, patience_s: float) -> bool:
        """Wait until all copies are members, the group is quiet, and each partition is read after that.

        Returns False if a copy ended or cannot join: the rehearsal is over.
        """
        started_s = joined_s = quiet_since_s = now_s = time.monotonic()
        lost_s = 0.0  # in which this machine did not run this process, and perhaps not the copies
        epoch = self._observer.epoch
        marks: dict[int, int] | None = None  # by partition: the end when the group became quiet
        while True:
            before_s = now_s
            await asyncio.sleep(LOOK_S)
            now_s = time.monotonic()
            lost_s += max(0.0, now_s - before_s - LATE_S)
            self._observer.look()
            if (ended := self._ended()) is not None:
                record.ended.append(ended)
                return False
            if (absent := self._absent(now_s - started_s)) is not None:
                joined_s = quiet_since_s = now_s
                if absent.waited_s > lost_s + (patience_s if absent.refusal else self._plan.startup_s):
                    record.absent.append(absent)
                    return False
                continue
            if self._observer.epoch != epoch or not self._observer.is_stable:
                epoch, quiet_since_s, marks = self._observer.epoch, now_s, None
            if now_s - quiet_since_s > QUIET_S:
                marks = marks or {number: end for (_, number), end in self._input.ends.items()}
                if all(self._committed(number) >= mark for number, mark in marks.items()):
                    return True
            still_s = {
                number: now_s - max(joined_s, self._progress_s(number))
                for (_, number), end in self._input.ends.items()
                if self._committed(number) < end
            }
            if stuck := {number: waited_s for number, waited_s in still_s.items() if waited_s > lost_s + patience_s}:
                record.unread += self._unread(stuck)
                return True
            if now_s - joined_s > lost_s + self._plan.startup_s + patience_s:
                record.rebalances = epoch
                return True

    def _committed(self, number: int) -> int:
        return self._observer.watch.committed.get((TOPIC, number), 0)

    def _progress_s(self, number: int) -> float:
        """Return when a commit of a partition went further in this phase; 0 if none did."""
        commits = reversed(self._observer.watch.commits)
        return next(
            (each.at_s for each in commits if each.partition == (TOPIC, number) and each.offset > each.before), 0.0
        )

    def _ended(self) -> EndedCopy | None:
        for number, copy in self._copies.items():
            if copy.has_ended_unasked:
                return EndedCopy(copy.client_id, self._protocols[number], copy.exit_code or 0, copy.log_tail())
        return None

    def _absent(self, waited_s: float) -> AbsentCopy | None:
        """Return a copy that is no member. Raises AppError if one is, with another protocol than it was told."""
        members = self._observer.members()
        for number, copy in self._copies.items():
            protocol = self._protocols[number]
            found = next((each for each in members if self._is_of(each, copy)), None)
            if found is None:
                refusal = self._observer.refused_joins.get(copy.client_id, "")
                return AbsentCopy(copy.client_id, protocol, round(waited_s, 1), refusal, copy.log_tail())
            if found.uses_consumer_protocol is not (protocol is GroupProtocol.CONSUMER):
                raise AppError(
                    f"{copy.client_id} was told group.protocol={protocol.value} and joined with the other protocol; "
                    "does the application set group.protocol from KAFKA_GROUP_PROTOCOL, or from {group_protocol} in "
                    "its command, and does its client have that setting?"
                )
        return None

    def _unread(self, still_s: Mapping[int, float]) -> list[UnreadPartition]:
        """Return what is known of partitions that stand still. If new ones do, too, the owner hangs."""
        self._notes.unread.update(still_s)
        owners = self._observer.owners
        hang = {owners.owner_of(number) for number in still_s if not owners.was_kept(number)}
        return [
            UnreadPartition(
                number, round(waited_s, 1), owners.owner_of(number) or "", owners.owner_of(number) not in hang
            )
            for number, waited_s in still_s.items()
        ]

    async def _processed_twice(self) -> int:
        written = counted(await read_values(self._host, OUTPUT))
        return sum(count - 1 for count in written.values())


async def rehearse(plan: RehearsalPlan, listener: RehearsalListener) -> Rehearsal:
    """Play a rehearsal. Raises AppError."""
    return await RehearsalPlay(plan, listener).run()
