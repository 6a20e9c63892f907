"""A group of raw members that rebalances and commits all the time, and never accepts a generation twice."""

from __future__ import annotations

import asyncio
import uuid

from protocol.error_codes import ErrorCode
from tests.clients.members import TopicPartition
from tests.clients.promises import Promises
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember
from tests.support.wire import ConnectionEnded, Wire


class Restless:
    """A raw group that rebalances and commits all the time, and remembers every answer that binds the coordinator."""

    def __init__(self, daemon: Daemon, group: str, topic: str, size: int) -> None:
        self.daemon = daemon
        self.group = group
        self.topic = topic
        self.size = size
        self.promises = Promises()
        self.synced: dict[int, bytes] = {}  # generation -> the mark of the one round whose outcome it is
        self.rounds = 0

    async def live(self, index: int, stopping: asyncio.Event) -> None:
        """One member's life: connect, join, sync, commit, rejoin, for ever; after a crash the same id goes on."""
        member: GroupMember | None = None
        while not stopping.is_set():
            try:
                async with await Wire.connect(self.daemon.port) as wire:
                    if member is None:
                        member = GroupMember(wire, self.group, [self.topic], rebalance_timeout_ms=5000)
                    member.wire = wire
                    while not stopping.is_set():
                        await self._round(member, index)
            except (OSError, ConnectionEnded):
                await asyncio.sleep(0.01)  # the daemon is dead: connect again until it is back

    async def _round(self, member: GroupMember, index: int) -> None:
        answered = max(self.synced, default=-1)
        code = await member.join()
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            member.member_id = ""  # its generation was never made durable
            return
        if code is not ErrorCode.NONE:
            assert code.retriable or code is ErrorCode.REBALANCE_IN_PROGRESS, code
            await asyncio.sleep(0.01)
            return
        assert member.generation >= answered, f"generation {answered} was answered, and then {member.generation} given"
        dealt: dict[str, list[TopicPartition]] = {}
        if member.is_leader:
            for partition in range(self.size):
                dealt.setdefault(member.members[partition % len(member.members)], []).append((self.topic, partition))
        if await member.sync(dealt, uuid.uuid4().bytes) is not ErrorCode.NONE or not member.user_data:
            return
        first = self.synced.setdefault(member.generation, member.user_data)
        assert first == member.user_data, f"generation {member.generation} was answered, and then used again"
        for _ in range(3):
            partition = (self.topic, index)  # each member has one key of its own, so that offsets only rise
            offset = next(self.promises.rising)
            self.promises.send({partition: offset})
            if await member.commit({partition: offset}) is not ErrorCode.NONE:
                return
            self.promises.acknowledge({partition: offset})
        self.rounds += 1
