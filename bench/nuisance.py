"""One misbehaving group, in a process of its own, for `neighbours.py`.

    python bench/nuisance.py PORT KIND

Kinds: `joins`, 10,000 JoinGroups a second that each ask for a new member id, over 100 connections; `pipelined`, the
same over one; `metadata`, 20 members that join again and again, each with a megabyte of metadata; `offsets`,
OffsetFetch of 100,000 offsets, and `describe`, DescribeGroups of 5,000 members, both from 10 connections as fast as
they are answered. (5,000 members that rejoin all the time are `storm.c`.) It prints "ready" when its group exists,
and runs until stdin ends; then it prints how many answers it got.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import uvloop

from bench.probe import Probe
from protocol.consumer import Subscription, encode_subscription
from protocol.frames import FrameReader
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.wire import encode_frame

GROUP: Final = "nuisance"
JOINS_PER_S: Final = 10_000
TICK_S: Final = 0.001
MEGABYTE: Final = 1_000_000
OFFSETS: Final = 100_000
MEMBERS: Final = 5000
SUBSCRIPTION: Final = encode_subscription(Subscription(topics=["nuisance"]), 0)


def join(metadata: bytes = SUBSCRIPTION, member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


class Peer(asyncio.Protocol):
    """A connection that counts its answers, and may send again with each."""

    answers = 0

    def __init__(self, next_frame: Callable[[bytes], bytes] | None = None) -> None:
        self._next_frame = next_frame
        self._frames = FrameReader(1 << 30)
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        if self._next_frame is not None:
            self.transport.write(self._next_frame(b""))

    def data_received(self, data: bytes) -> None:
        for frame in self._frames.feed(data):
            Peer.answers += 1
            if self._next_frame is not None and self.transport is not None:
                self.transport.write(self._next_frame(frame))

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None


async def connect(port: int, count: int, next_frame: Callable[[bytes], bytes] | None = None) -> list[Peer]:
    loop = asyncio.get_running_loop()
    return [
        cast("Peer", (await loop.create_connection(lambda: Peer(next_frame), "127.0.0.1", port))[1])
        for _ in range(count)
    ]


async def joins(port: int, connections: int) -> None:
    peers = await connect(port, connections)
    frame = encode_frame(join(), 5, 1)
    loop = asyncio.get_running_loop()
    sent, began = 0, loop.time()
    while True:
        await asyncio.sleep(TICK_S)
        due = int((loop.time() - began) * JOINS_PER_S)
        if due - sent > JOINS_PER_S:  # what the server does not read is not made up for
            sent = due - JOINS_PER_S // 10
        share: dict[int, int] = {}
        for number in range(sent, due):
            share[number % connections] = share.get(number % connections, 0) + 1
        sent = due
        for place, count in share.items():
            peer = peers[place]
            if peer.transport is None:
                peers[place] = (await connect(port, 1))[0]
            elif peer.transport.get_write_buffer_size() < MEGABYTE:
                peer.transport.write(frame * count)


async def metadata(port: int) -> None:
    """Join as 20 members. Each joins again with other metadata as soon as it is answered, so that all must rejoin."""
    number = 0

    def again(frame: bytes) -> bytes:
        nonlocal number
        number += 1
        user_data = number.to_bytes(8, "big") + bytes(MEGABYTE)
        subscription = encode_subscription(Subscription(topics=["nuisance"], user_data=user_data), 0)
        return encode_frame(join(subscription, member_id_in(frame)), 3, 1)

    await connect(port, 20, again)
    await asyncio.Event().wait()


def member_id_in(answer: bytes) -> str:
    """Return the member id in an answer to JoinGroup v3: behind 14 bytes, the protocol and the leader."""
    at = 14
    for _ in range(2):
        at += 2 + int.from_bytes(answer[at : at + 2], "big")
    return answer[at + 2 : at + 2 + int.from_bytes(answer[at : at + 2], "big")].decode()


def commit_offsets(port: int) -> None:
    with Probe(port) as probe:
        for start in range(0, OFFSETS, 5000):
            partitions = [
                OffsetCommitRequestPartition(partition_index=number, committed_offset=number)
                for number in range(start, start + 5000)
            ]
            topics = [OffsetCommitRequestTopic(name="nuisance", partitions=partitions)]
            answer = probe.ask(OffsetCommitRequest(group_id=GROUP, topics=topics), 8)
            assert not any(each.error_code for topic in answer.topics for each in topic.partitions)


async def flood(port: int, request: Any, version: int) -> None:
    frame = encode_frame(request, version, 1)
    await connect(port, 10, lambda _: frame)
    await asyncio.Event().wait()


async def members(port: int) -> None:
    """Make a group of 5,000 members, which stay in it without a connection."""
    frame = encode_frame(join(), 3, 1)
    peers = []
    for _ in range(MEMBERS // 500):
        peers += await connect(port, 500)
        for peer in peers[-500:]:
            assert peer.transport is not None
            peer.transport.write(frame)
    while Peer.answers < MEMBERS:  # noqa: ASYNC110  # a client of the benchmark, not of the server
        await asyncio.sleep(0.05)


async def run(port: int, kind: str) -> None:
    if kind == "offsets":
        commit_offsets(port)
        act = flood(port, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)]), 8)
    elif kind == "describe":
        await members(port)
        act = flood(port, DescribeGroupsRequest(groups=[GROUP]), 5)
    elif kind == "metadata":
        act = metadata(port)
    else:
        act = joins(port, 1 if kind == "pipelined" else 100)
    task = asyncio.create_task(act)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    task.cancel()
    print(Peer.answers, flush=True)


if __name__ == "__main__":
    uvloop.run(run(int(sys.argv[1]), sys.argv[2]))
