"""Requests to the coordinator of a group, each sent once: the client learns exactly what is known of its outcome."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.ha.history import Key
from tests.support.wire import ConnectionEnded, Wire

CONNECT_S = 2.0
ANSWER_S = 2.5
# Errors that a coordinator gives before it appends anything.
REFUSALS = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class NotSentError(Exception):
    """No coordinator was found or reached: the request was not sent."""


class OpenError(Exception):
    """The request was sent, and its outcome is not known."""


class RefusedError(Exception):
    """The coordinator refused the request before it did anything."""


def check(code: int) -> None:
    """Raise what an error code means for the outcome of a request that changes something."""
    if code == ErrorCode.NONE:
        return
    error = ErrorCode(code)
    raise (RefusedError if error in REFUSALS else OpenError)(error.name)


class GroupCaller:
    """A connection to the coordinator of one group. It is looked up anew after an error."""

    def __init__(
        self, addresses: list[tuple[str, int]], group: str, random: Random, *, answer_s: float = ANSWER_S
    ) -> None:
        self.group = group
        self.answer_s = answer_s
        self.wire: Wire | None = None
        self._addresses = addresses
        self._random = random
        self._connecting = asyncio.Lock()  # several requests may want a connection at once

    async def connect(self) -> Wire:
        """Return the connection to the coordinator. Raises NotSentError."""
        async with self._connecting:
            if self.wire is None or self.wire.ended.is_set():
                await self.leave()
                try:
                    self.wire = await self._connect()
                except (OSError, ConnectionEnded, TimeoutError) as error:
                    raise NotSentError(repr(error)) from error
            return self.wire

    async def _connect(self) -> Wire:
        host, port = self._random.choice(self._addresses)
        async with asyncio.timeout(CONNECT_S), await Wire.connect(port, host=host) as wire:
            answer = await wire.request(FindCoordinatorRequest(coordinator_keys=[self.group]), 4)
        found = answer.coordinators[0]
        if found.error_code != ErrorCode.NONE:
            raise NotSentError(ErrorCode(found.error_code).name)
        async with asyncio.timeout(CONNECT_S):
            return await Wire.connect(found.port, host=found.host)

    async def leave(self) -> None:
        """Close the connection; the next request looks for the coordinator again."""
        wire, self.wire = self.wire, None
        if wire is not None:
            await wire.close()

    async def request(self, message: Any, version: int) -> Any:
        """Send one request. Raises NotSentError, OpenError."""
        wire = await self.connect()
        try:
            return await wire.request(message, version, within_s=self.answer_s)
        except (OSError, ConnectionEnded, TimeoutError) as error:
            await self.leave()
            raise OpenError(repr(error)) from error

    async def commit(self, topic: str, partition: int, value: int) -> None:
        """Commit without being a member. Raises NotSentError, OpenError, RefusedError."""
        part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=value)
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])],
        )
        answer = await self.request(request, 8)
        await self._judge(answer.topics[0].partitions[0].error_code)

    async def fetch(self, topic: str, key: Key) -> int | None:
        """Return the committed offset, None if there is none. Raises NotSentError, OpenError, RefusedError."""
        assert key.group == self.group
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[key.partition])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.group, topics=topics)])
        (group,) = (await self.request(request, 8)).groups
        await self._judge(group.error_code)
        (partition,) = group.topics[0].partitions
        await self._judge(partition.error_code)
        return int(partition.committed_offset) if partition.committed_offset >= 0 else None

    async def _judge(self, code: int) -> None:
        if code in MOVED:
            await self.leave()
        check(code)
