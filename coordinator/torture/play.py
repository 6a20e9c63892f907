"""Plays one schedule: a server of its own, copies of the application, the steps, and the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.group.state import STABLE
from coordinator.testing.errors import CoordinatorTestingError
from coordinator.testing.host import ServerHost
from coordinator.testing.verbs import Verbs
from coordinator.torture.abandoned import AbandonedMembers
from coordinator.torture.copies import Copy
from coordinator.torture.input import TOPIC, InputRecords
from coordinator.torture.judge import failures_seen, held_back, judge_output
from coordinator.torture.schedule import TRANSACTION_TIMEOUT_MS, Schedule, Step
from coordinator.torture.take import SERVER_STEPS, TortureTarget, take
from coordinator.torture.verdict import Failure, FailureKind, ScheduleVerdict
from coordinator.torture.watch import Watch

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.server.runtime import Runtime

OUTPUT: Final = "torture-output"
GROUP: Final = "torture"
LOOK_S: Final = 0.02
QUIET_S: Final = 0.5  # without a rebalance, before the first step and at the end
FAULTS_MET_S: Final = 3.0  # after the last step, until its faults are given up
LOOPS: Final = 8  # rebalances after the last step that are too many
MOST_RESTARTS: Final = 5  # of a copy


class AppError(Exception):
    """The application cannot be tortured: it does not start, or consumes nothing. The message has its last lines."""


class NotBegunError(Exception):
    """The copies did not join or commit in time. `args`: what is missing, and their last lines."""


@dataclass(frozen=True, slots=True)
class CopiesPlan:
    """The settings of copies of an application, and of what they consume."""

    command: tuple[str, ...]
    config: Config
    directory: Path
    copies: int = 2
    partitions: int = 4
    records: int = 20  # in each partition at the start
    has_output: bool = False  # the application writes each value that it has processed to OUTPUT
    startup_s: float = 30.0  # until a copy is a member
    patience_s: float = 12.0  # without a commit of a partition, while records wait
    session_timeout_ms: int = 2500
    heartbeat_interval_ms: int = 200


@dataclass(frozen=True, slots=True)
class TorturePlan(CopiesPlan):
    """The settings that all schedules of a run have in common."""

    watch_s: float = 3.0  # after the last step: longer than a session, so that a silent member shows
    exactly_once: bool = False  # it processes in transactions, and each record has to be in the output once


class Play:
    """One schedule being played."""

    def __init__(self, plan: TorturePlan, schedule: Schedule, directory: Path) -> None:
        self._plan = plan
        self._schedule = schedule
        self._host = ServerHost(plan.config)
        self._verbs = Verbs(self._host)
        self._directory = directory
        self._copies: dict[int, Copy] = {}
        self._watch: Watch
        self._abandoned: AbandonedMembers
        self._input = InputRecords(self._verbs, plan.partitions)
        clients = tuple(f"copy-{number}" for number in range(1, plan.copies + 1))
        self._target = TortureTarget(self._verbs, GROUP, clients)
        self._later: set[asyncio.Task[None]] = set()  # what happens to copies after a stage of a transaction
        self._missed_faults = 0
        self._restarts: Counter[int] = Counter()  # by copy that ended by itself

    async def run(self) -> ScheduleVerdict:
        """Play it to its end. Raises AppError if the application did not even begin."""
        started_s = time.monotonic()
        self._directory.mkdir(parents=True, exist_ok=True)
        await self._host.start()
        try:
            self._watch = Watch(self._host.runtime, GROUP)
            self._abandoned = AbandonedMembers(self._host.runtime, GROUP)
            self._host.on_start = self._attach
            await self._verbs.create_topics({TOPIC: self._plan.partitions, OUTPUT: 1})
            if self._plan.exactly_once:
                await self._input.produce_aborted(self._host)
            await self._input.produce(self._plan.records)
            await self._start_copies()
            try:
                await self._begin()
            except NotBegunError as error:
                verdict = ScheduleVerdict(has_begun=False, last_lines={"all copies": error.args[1]})
                sentence = f"within {self._plan.startup_s:g} s, before the first step, {error.args[0]}"
                verdict.failures.append(Failure(FailureKind.STUCK, sentence))
            else:
                async with self._supervised():
                    await self._take_steps()
                    await self._input.produce(5)
                    verdict = await self._settle()
                    await self._judge(verdict)
            verdict.took_s = round(time.monotonic() - started_s, 3)
            return verdict
        finally:
            for task in self._later:
                task.cancel()
            await asyncio.gather(*(copy.kill() for copy in self._copies.values()))
            await self._host.close()

    # -- the parts, in their order -------------------------------------------------------------------------------

    async def _start_copies(self) -> None:
        for number in range(1, self._plan.copies + 1):
            facts = {
                "bootstrap_servers": self._host.bootstrap_servers,
                "topic": TOPIC,
                "group_id": GROUP,
                "client_id": f"copy-{number}",
                "output_topic": OUTPUT,
                "session_timeout_ms": str(self._plan.session_timeout_ms),
                "heartbeat_interval_ms": str(self._plan.heartbeat_interval_ms),
            }
            if self._plan.exactly_once:
                facts["transactional_id"] = facts["client_id"]
                facts["transaction_timeout_ms"] = str(TRANSACTION_TIMEOUT_MS)
            copy = self._copies[number] = Copy(number, self._plan.command, facts, self._directory)
            try:
                await copy.start()
            except OSError as error:
                raise AppError(
                    f"{self._plan.command[0]} cannot be started ({error.strerror}); is it on the PATH?"
                ) from None

    async def _begin(self) -> None:
        """Wait until every copy is a member, all that was there is committed, and the group has been Stable a while."""
        deadline = time.monotonic() + self._plan.startup_s
        generation, since_s = -1, 0.0
        while True:
            if self._watch.generation != generation or not self._is_stable():
                generation, since_s = self._watch.generation, time.monotonic()
            if self._all_joined() and self._all_committed() and time.monotonic() - since_s > QUIET_S:
                return
            for copy in self._copies.values():
                if copy.has_ended_unasked:
                    raise AppError(
                        f"copy {copy.number} ended at its start with exit code {copy.exit_code}; its last lines:\n"
                        f"{copy.log_tail()}"
                    )
            if time.monotonic() > deadline:
                raise NotBegunError(self._missing(), "\n".join(copy.log_tail() for copy in self._copies.values()))
            await asyncio.sleep(LOOK_S)

    def _missing(self) -> str:
        if not self._all_joined():
            group = self._host.runtime.core.groups.get(GROUP)
            sentence = f"only {0 if group is None else len(group.members)} of {self._plan.copies} copies became members"
            for number in self._strays():
                heard_s = self._watch.heartbeats_s.get(f"copy-{number}")
                if heard_s is not None:
                    sentence += (
                        f"; copy {number} was one, and its last heartbeat came {time.monotonic() - heard_s:.1f} s ago"
                    )
            return sentence
        return f"only {self._watch.total_committed()} of {self._input.total} records were committed"

    async def _take_steps(self) -> None:
        self._watch.begin()
        async with self._input.trickling():
            for step in self._schedule.steps:
                await asyncio.sleep(step.after_ms / 1000)
                await self._take(step)
            await self._watch_on()

    async def _take(self, step: Step) -> None:
        if step.do not in SERVER_STEPS:
            await _OF_A_COPY[step.do](self, step)
            return
        with contextlib.suppress(CoordinatorTestingError):  # a member that is away cannot be kicked
            await take(self._target, step)

    def _attach(self, runtime: Runtime) -> None:
        """Watch the next run of the server, too."""
        self._watch.attach(runtime)
        self._abandoned.attach(runtime)
        runtime.forget_templates()  # of heartbeats that came before

    async def _watch_on(self) -> None:
        """Give the faults time to be met, and then the application time to show what they did to it."""
        deadline = time.monotonic() + FAULTS_MET_S
        while self._host.stages.waiting or any(not fault.is_over for fault in self._host.faults.all()):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(LOOK_S)
        self._missed_faults = len(self._host.stages.waiting)
        self._host.stages.clear()
        while True:
            if not self._later and self._host.is_up:
                break
            await asyncio.sleep(LOOK_S)
        await asyncio.sleep(self._plan.watch_s)

    @contextlib.asynccontextmanager
    async def _supervised(self) -> AsyncIterator[None]:
        """Start copies that end by themselves again: one whose producer is fenced cannot go on. Note its progress."""
        if not self._plan.exactly_once:
            yield
            return
        supervisor = asyncio.create_task(self._supervise())
        try:
            yield
        finally:
            supervisor.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await supervisor

    async def _supervise(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._host.is_up:
                self._watch.look()
            for copy in self._copies.values():
                if copy.has_ended_unasked and self._restarts[copy.number] < MOST_RESTARTS:
                    self._restarts[copy.number] += 1
                    await copy.start()

    async def _settle(self) -> ScheduleVerdict:
        """Wait until all is committed and the group is quiet, or until patience ends."""
        verdict = ScheduleVerdict()
        generation = self._watch.generation
        seen_generation, quiet_since_s = generation, time.monotonic()
        waiting_since_s = time.monotonic()
        while True:
            now_s = time.monotonic()
            if self._watch.generation != seen_generation:
                seen_generation, quiet_since_s = self._watch.generation, now_s
            exited = [copy for copy in self._copies.values() if self._has_exited(copy)]
            for copy in exited:
                copy.is_wanted = False
                verdict.failures.append(
                    Failure(FailureKind.EXITED, f"copy {copy.number} ended by itself with exit code {copy.exit_code}")
                )
                verdict.last_lines[copy.client_id] = copy.log_tail()
            still_s = now_s - max(self._watch.last_progress_s, waiting_since_s)
            if self._watch.generation - generation > LOOPS:
                count = self._watch.generation - generation
                verdict.failures.append(
                    Failure(
                        FailureKind.LOOPING,
                        f"{count} rebalances in {now_s - waiting_since_s:.1f} s after the last step",
                    )
                )
                break
            is_quiet = self._all_committed() and now_s - quiet_since_s > QUIET_S
            if is_quiet and not self._strays() and not self._silent(max(self._watch.last_progress_s, quiet_since_s)):
                break
            if still_s > self._plan.patience_s:
                verdict.failures.append(Failure(FailureKind.STUCK, await self._stuck(still_s)))
                break
            if verdict.failures and not any(copy.is_running for copy in self._copies.values()):
                break
            await asyncio.sleep(LOOK_S)
        verdict.rebalances = self._watch.generation
        if not self._all_committed():
            self._watch.progressed(time.monotonic())
        verdict.longest_standstill_s = round(self._watch.longest_standstill_s, 3)
        return verdict

    async def _stuck(self, still_s: float) -> str:
        left = self._input.total - self._watch.total_committed()
        if not left:
            for number in self._strays():
                return f"copy {number} runs, and is no member of the group any more since {still_s:.1f} s"
            for number in self._silent(time.monotonic() - still_s):
                return f"copy {number} runs, and has sent no heartbeat for {still_s:.1f} s"
            return f"all is committed, and the group does not come to rest for {still_s:.1f} s"
        with contextlib.suppress(CoordinatorTestingError):
            why = (await self._verbs.explain(GROUP)).split("\n", 1)[0]
            return f"nothing committed for {still_s:.1f} s, and {left} records wait. {why}"
        return f"nothing committed for {still_s:.1f} s, and {left} records wait; the group is gone"

    async def _judge(self, verdict: ScheduleVerdict) -> None:
        verdict.records = self._input.total
        verdict.sent_twice = self._watch.sent_twice()
        verdict.restarts = self._restarts.total()
        verdict.missed_faults = self._missed_faults
        if self._plan.exactly_once:
            verdict.failures += await self._held_back()
        verdict.failures += failures_seen(self._watch, self._abandoned, self._schedule, restarts=verdict.restarts)
        if self._plan.has_output:
            await judge_output(
                self._host, OUTPUT, self._input.ends, self._watch, verdict, exactly_once=self._plan.exactly_once
            )

    async def _held_back(self) -> list[Failure]:
        """Return the failure that a transaction does not end. That of a copy that was killed ends with its timeout."""
        transactions = self._host.runtime.transactions
        assert transactions is not None
        deadline = time.monotonic() + self._plan.patience_s
        while True:
            if not transactions.core.open or time.monotonic() > deadline:
                return list(held_back(transactions.core))
            await asyncio.sleep(LOOK_S)

    # -- helpers -------------------------------------------------------------------------------------------------

    def _has_exited(self, copy: Copy) -> bool:
        """Return whether a copy ended by itself, and is not started again."""
        is_given_up = not self._plan.exactly_once or self._restarts[copy.number] >= MOST_RESTARTS
        return copy.has_ended_unasked and is_given_up

    def _is_stable(self) -> bool:
        group = self._host.runtime.core.groups.get(GROUP)
        return group is not None and group.state is STABLE and not group.pending_sync

    def _all_joined(self) -> bool:
        group = self._host.runtime.core.groups.get(GROUP)
        return group is not None and len(group.members) >= self._plan.copies

    def _strays(self) -> list[int]:
        """Return the copies that run and are no members."""
        group = self._host.runtime.core.groups.get(GROUP)
        clients = [member.client_id for member in group.members.values()] if group is not None else []
        return [
            copy.number
            for copy in self._copies.values()
            if copy.is_running and not any(client.startswith(copy.client_id) for client in clients)
        ]

    def _silent(self, since_s: float) -> list[int]:
        """Return the copies that run and sent no heartbeat since then. Commits keep them in the group meanwhile."""
        heard = [client for client, at_s in self._watch.heartbeats_s.items() if at_s > since_s]
        return [
            copy.number
            for copy in self._copies.values()
            if copy.is_running and not any(client.startswith(copy.client_id) for client in heard)
        ]

    def _all_committed(self) -> bool:
        if self._plan.exactly_once and self._host.is_up:
            self._watch.look()
        return all(self._watch.committed.get(partition, 0) >= end for partition, end in self._input.ends.items())

    async def _kill_copy(self, step: Step) -> None:
        await self._copies[step.copy or 1].kill()

    async def _stop_copy(self, step: Step) -> None:
        await self._copies[step.copy or 1].stop()

    async def _start_copy(self, step: Step) -> None:
        await self._copies[step.copy or 1].start()

    async def _pause_copy(self, step: Step) -> None:
        copy = self._copies[step.copy or 1]
        copy.signal(signal.SIGSTOP)
        await asyncio.sleep(step.ms / 1000)
        copy.signal(signal.SIGCONT)

    async def _kill_copy_at(self, step: Step) -> None:
        self._at_stage(step, signal.SIGKILL, self._start_again)

    async def _pause_copy_at(self, step: Step) -> None:
        self._at_stage(step, signal.SIGSTOP, self._continue)

    def _at_stage(self, step: Step, number: int, then: Callable[[Copy, Step], Coroutine[Any, Any, None]]) -> None:
        """Send a signal to the copy of a transaction that is at the stage of a step, and do the rest later."""

        def act(transactional_id: str) -> None:
            copy = self._copy_of(transactional_id, step)
            copy.is_wanted = number != signal.SIGKILL
            copy.signal(number)
            task = asyncio.get_running_loop().create_task(then(copy, step))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

        self._verbs.at_stage(step.at, self._target.client(step), act, times=step.times)

    def _copy_of(self, transactional_id: str, step: Step) -> Copy:
        """Return the copy of a transactional id, which begins with its client id."""
        for copy in self._copies.values():
            if transactional_id.startswith(copy.client_id):
                return copy
        return self._copies[step.copy or 1]

    async def _start_again(self, copy: Copy, step: Step) -> None:
        await copy.kill()
        await asyncio.sleep(step.ms / 1000)
        await copy.start()

    async def _continue(self, copy: Copy, step: Step) -> None:
        await asyncio.sleep(step.ms / 1000)
        copy.signal(signal.SIGCONT)

    async def _produce_more(self, step: Step) -> None:
        await self._input.produce(5)


_OF_A_COPY: Final[dict[str, Callable[[Play, Step], Awaitable[Any]]]] = {
    "kill_copy": Play._kill_copy,
    "stop_copy": Play._stop_copy,
    "start_copy": Play._start_copy,
    "pause_copy": Play._pause_copy,
    "kill_copy_at": Play._kill_copy_at,
    "pause_copy_at": Play._pause_copy_at,
    "produce": Play._produce_more,
}
COPY_STEPS: Final = frozenset(_OF_A_COPY)


async def play(plan: TorturePlan, schedule: Schedule, name: str) -> ScheduleVerdict:
    """Play a schedule. `name` is that of the directory for the logs of the copies."""
    return await Play(plan, schedule, plan.directory / name).run()
