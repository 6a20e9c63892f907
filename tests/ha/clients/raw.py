"""Raw requests, each sent once: `python -m tests.ha.clients.raw --bootstrap … --history FILE --watch group,group`.

Several processes commit to the same keys, and fetch them. Others fetch the offsets that the libraries commit. Insisting
clients go on to send to a node that does not answer: a frozen one finds their requests when it goes on. Members of
groups join, sync and commit all the time; each leader marks its assignment, so that a generation given twice shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import Awaitable
from random import Random
from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupResponse
from tests.ha.clients.calls import ANSWER_S, GroupCaller, NotSentError, OpenError, RefusedError, check
from tests.ha.clients.library import PAUSE_S, UNKNOWN_TOPIC
from tests.ha.clients.options import PARTITIONS, Options, Values, parse
from tests.ha.history import COMMIT, FETCH, JOIN, Generation, History, Key, Process
from tests.support.group_member import GroupMember
from tests.support.wire import ConnectionEnded

NAME = "raw"
WRITERS = 2  # processes that commit to the same keys
MEMBERS = 3
JOIN_S = 7.0  # longer than the rebalance timeout
INSISTING_S = 15.0  # longer than a node is frozen
INSISTING_EVERY_S = 0.25
COMMITS = 5  # of a member in each generation, at most


class TellingMember(GroupMember):
    """A member that keeps the name of its leader."""

    leader = ""

    def joined(self, response: JoinGroupResponse) -> ErrorCode:
        self.leader = response.leader
        return super().joined(response)

    def generation_seen(self) -> Generation:
        """Return the generation that it has joined and synced."""
        members = tuple(sorted(self.members)) if self.is_leader else None
        mark = self.user_data.hex() if self.user_data else None
        return Generation(self.generation, self.leader, members, mark)


class RawClients:
    """All processes of this program, as tasks."""

    def __init__(self, options: Options, history: History) -> None:
        self._options = options
        self._history = history
        self._values = Values(options.number)
        self._topic = options.topic or UNKNOWN_TOPIC
        self._count = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False

    def stop(self) -> None:
        """End all processes. What they wait for counts as killed."""
        self._is_stopping = True  # `wait_for` of Python 3.11 may swallow a cancellation
        for task in self._tasks:
            task.cancel()

    async def run(self) -> None:
        shared = [f"{NAME}-shared-{number}" for number in range(self._options.groups)]
        restless = [f"{NAME}-members-{number}" for number in range(max(1, self._options.groups // 2))]
        self._tasks = tasks = [asyncio.create_task(self._write(group)) for group in shared for _ in range(WRITERS)]
        tasks += [asyncio.create_task(self._insist(group)) for group in shared]
        tasks += [asyncio.create_task(self._watch(group)) for group in (*self._options.watch, *restless)]
        tasks += [asyncio.create_task(self._join(group, index)) for group in restless for index in range(MEMBERS)]
        # A client that ends by an exception is a defect of this program: it ends the run.
        await asyncio.wait(tasks, timeout=self._options.seconds, return_when=asyncio.FIRST_EXCEPTION)
        self.stop()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def _process(self) -> tuple[Process, Random]:
        self._count += 1
        process = self._history.process(f"{NAME}-{self._count}")
        return process, Random(f"{self._options.seed} {self._count}")

    async def _write(self, group: str) -> None:
        process, random = self._process()
        caller = GroupCaller(self._options.addresses, group, random)
        while not self._is_stopping:
            await asyncio.sleep(PAUSE_S * random.random())
            await self._commit_or_fetch(process, caller, random)

    async def _commit_or_fetch(self, process: Process, caller: GroupCaller, random: Random) -> None:
        key = Key(caller.group, random.randrange(PARTITIONS))
        if random.random() < 0.6:
            value = self._values.next()
            process.invoke(COMMIT, key, value)
            await note(process, caller.commit(self._topic, key.partition, value))
        else:
            process.invoke(FETCH, key)
            await note(process, caller.fetch(self._topic, key))

    async def _insist(self, group: str) -> None:
        """Send requests at fixed times on one connection. Each that waits for its answer is a process of its own."""
        idle: list[tuple[Process, Random]] = []
        waiting: set[asyncio.Task[None]] = set()
        _, random = self._process()
        caller = GroupCaller(self._options.addresses, group, random, answer_s=INSISTING_S)

        async def send_one(process: Process, own: Random) -> None:
            await self._commit_or_fetch(process, caller, own)
            idle.append((process, own))

        while not self._is_stopping:
            await asyncio.sleep(INSISTING_EVERY_S)
            with contextlib.suppress(NotSentError):
                await caller.connect()
                task = asyncio.create_task(send_one(*(idle.pop() if idle else self._process())))
                waiting.add(task)
                task.add_done_callback(waiting.discard)

    async def _watch(self, group: str) -> None:
        process, random = self._process()
        caller = GroupCaller(self._options.addresses, group, random)
        partitions = max(PARTITIONS, self._options.partitions, MEMBERS)
        while not self._is_stopping:
            await asyncio.sleep(2 * PAUSE_S * random.random())
            key = Key(group, random.randrange(partitions))
            process.invoke(FETCH, key)
            await note(process, caller.fetch(self._topic, key))

    async def _join(self, group: str, index: int) -> None:
        """Live as a member; it owns the partition with its index, whatever the leader says: values are unique."""
        process, random = self._process()
        caller = GroupCaller(self._options.addresses, group, random)
        member: TellingMember | None = None
        while not self._is_stopping:
            try:
                wire = await caller.connect()
            except NotSentError:
                await asyncio.sleep(PAUSE_S)
                continue
            if member is None:
                member = TellingMember(wire, group, [self._topic], session_timeout_ms=20_000, rebalance_timeout_ms=5000)
            member.wire = wire
            process.invoke(JOIN, Key(group, -1))
            if await note(process, self._joined(member)):
                await self._commit_as(member, index, process, random)
            else:
                await caller.leave()
            await asyncio.sleep(PAUSE_S * random.random())

    async def _joined(self, member: TellingMember) -> Generation:
        code = await member.join(within_s=JOIN_S)
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            member.member_id = ""
        if code is not ErrorCode.NONE:
            raise RefusedError(code.name)
        dealt: dict[str, list[tuple[str, int]]] = {each: [] for each in member.members} if member.is_leader else {}
        member.user_data = None
        code = await member.sync(dealt, uuid.uuid4().bytes, within_s=JOIN_S)
        if code is not ErrorCode.NONE:
            raise OpenError(code.name)
        return member.generation_seen()

    async def _commit_as(self, member: TellingMember, index: int, process: Process, random: Random) -> None:
        for _ in range(random.randint(1, COMMITS)):
            await asyncio.sleep(2 * PAUSE_S * random.random())
            value = self._values.next()
            process.invoke(COMMIT, Key(member.group, index), value)
            if not await note(process, committed(member, (self._topic, index), value)):
                return


async def committed(member: TellingMember, partition: tuple[str, int], value: int) -> None:
    answer = await member.wire.request(member.commit_request({partition: value}), 8, within_s=ANSWER_S)
    check(answer.topics[0].partitions[0].error_code)


async def note(process: Process, working: Awaitable[Any]) -> bool:
    """Note the end of an operation. False if it has not succeeded."""
    try:
        value = await working
    except (NotSentError, RefusedError) as error:
        process.fail(error)
        return False
    except (OpenError, OSError, ConnectionEnded, TimeoutError) as error:
        process.info(error)
        return False
    process.ok(value)
    return True


async def main() -> None:
    options = parse()
    with History(options.history) as history:
        clients = RawClients(options, history)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, clients.stop)
        await clients.run()


if __name__ == "__main__":
    asyncio.run(main())
