"""Data directories for `start_files`: their files, what was acknowledged, and a server that runs on one in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from coordinator.config.config import Config
from coordinator.config.sources import load
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import read_whole
from coordinator.storage.log.swap import SwapStep
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.testing.host import ServerHost
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.compaction.swap_protocol_world import compact

DATA: Final = Path(":memory:")
GROUPS: Final = tuple(f"g{number}" for number in range(6))
TOPIC: Final = "orders"
START_S: Final = 30.0
UNCHECKED_BYTES: Final = 16  # of a batch: base offset, length, leader epoch
SETTINGS: Final = {
    "listeners": "127.0.0.1:0",
    "http.listen": "off",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.segment.bytes": "1500",
    "log.segment.bytes": "1024",
    "log.index.interval.bytes": "200",
    "offsets.snapshot.stop.ms": "60000",
    "offsets.snapshot.min.bytes": "0",
    "topics.preload": f"{TOPIC}:2",
    "auto.create.topics.enable": "false",
}

Committed = dict[str, dict[tuple[str, int], int]]
Files = dict[Path, bytes]


def config() -> Config:
    return load(flags=SETTINGS, profile="test")


@dataclass
class World:
    """A data directory, the earlier contents of its files, and what was acknowledged."""

    name: str
    fs: MemoryFileSystem
    earlier: Files
    committed: Committed
    ever: dict[tuple[str, str, int], set[int]]  # by group, topic and partition: every offset that was committed
    records: dict[int, list[bytes]]  # by partition of the topic


@dataclass
class Life:
    """A run of the server on a file system."""

    fs: MemoryFileSystem
    host: ServerHost = field(init=False)

    async def __aenter__(self) -> ServerHost:
        self.host = ServerHost(config())
        self.host._fs = self.fs
        try:
            await asyncio.wait_for(self.host.start(), START_S)
        except BaseException:
            await self.host.close()
            raise
        return self.host

    async def __aexit__(self, *_: object) -> None:
        await asyncio.wait_for(self.host.close(), START_S)


async def _commit(host: ServerHost, group: str, offsets: dict[int, int]) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=f"m{offset}")
        for index, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group, topics=[OffsetCommitRequestTopic(name=TOPIC, topic_id=topic_id(host), partitions=partitions)]
    )
    (answered,) = (await host.call(request)).topics
    assert all(not each.error_code for each in answered.partitions), answered


def topic_id(host: ServerHost) -> bytes:
    return host.runtime.topics.catalogue.topics[TOPIC].topic_id


async def committed(host: ServerHost) -> Committed:
    """Return what the server says; a group whose partition could not be loaded has None."""
    found: Committed = {}
    for group in GROUPS:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        (answer,) = (await host.call(request)).groups
        if answer.error_code:
            continue
        found[group] = {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in answer.topics
            for partition in topic.partitions
        }
    return found


def records(host: ServerHost, unreadable: list[str] | None = None) -> dict[int, list[bytes]]:
    """Return the batches of the topic, by partition, up to one that cannot be read; without partitions offline.

    The base offset and the leader epoch, which no checksum covers, are left out.
    """
    found: dict[int, list[bytes]] = {}
    topic = host.runtime.topics.catalogue.topics.get(TOPIC)
    for partition in topic.partitions if topic is not None else ():
        log = host.runtime.topic_logs.log(partition)
        if log is not None and not partition.is_offline:
            batches = found[partition.index] = []
            try:
                for _, batch in log.batches():
                    batches.append(batch[UNCHECKED_BYTES:])
            except LogError as error:
                if unreadable is None:
                    raise
                unreadable.append(str(error))  # a reader of these records is told so
    return found


async def _work(host: ServerHost, world: World, chance: Random, rounds: int) -> None:
    producer = await host.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    for number in range(rounds):
        group = GROUPS[number % len(GROUPS)]
        offsets = {index: chance.randrange(10**6) for index in range(2)}
        await _commit(host, group, offsets)
        for index, offset in offsets.items():
            world.committed.setdefault(group, {})[TOPIC, index] = offset
            world.ever.setdefault((group, TOPIC, index), set()).add(offset)
        batch = build_batch(
            [(b"k", b"value %d" % number)] * 2,
            timestamp_ms=int(time.time() * 1000),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=2 * (number // 2),
        )
        data = PartitionProduceData(index=number % 2, records=bytes(batch))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=5000,
            topic_data=[TopicProduceData(name=TOPIC, topic_id=topic_id(host), partition_data=[data])],
        )
        (done,) = (await host.call(request)).responses[0].partition_responses
        assert not done.error_code, done
    world.records = records(host)


class _Stopped(Exception):  # noqa: N818 - what happens at a step, and no error
    pass


async def worlds() -> list[World]:
    """Return a directory that was left in order, one of a killed process, and one within the swap of a compaction."""
    chance = Random(5)
    clean = World("stopped", MemoryFileSystem(), {}, {}, {}, {})
    async with Life(clean.fs) as host:
        await _work(host, clean, chance, 20)
    first = files_of(clean.fs)
    async with Life(clean.fs) as host:
        await _work(host, clean, chance, 30)
        killed = clean.fs.copy()
    clean.earlier = first
    second = files_of(clean.fs)
    swapping = clean.fs.copy()
    with suppress(_Stopped):
        compact(swapping, DATA, at_step=_stop_at(SwapStep.APPLY_RENAME, 3))
    assert any(path.name == "swap.json" for path in files_of(swapping)), "it is not within a swap"
    same = (clean.committed, clean.ever, clean.records)
    return [clean, World("killed", killed, first, *same), World("swapping", swapping, second, *same)]


def _stop_at(step: str, number: int) -> Callable[[str], None]:
    left = [number]

    def at_step(taken: str) -> None:
        if taken == step:
            left[0] -= 1
            if not left[0]:
                raise _Stopped

    return at_step


def files_of(fs: MemoryFileSystem, directory: Path = DATA) -> Files:
    """Return all files and their contents."""
    found: Files = {}
    for name in fs.listdir(directory):
        path = directory / name
        if fs.is_dir(path):
            found |= files_of(fs, path)
        elif name != ".lock":
            found[path] = read_whole(fs, path)
    return found


def put(fs: MemoryFileSystem, path: Path, content: bytes | None) -> None:
    if content is None:
        fs.unlink(path)
        return
    file = fs.open(path)
    file.truncate(0)
    file.pwrite(content, 0)
    file.close()
