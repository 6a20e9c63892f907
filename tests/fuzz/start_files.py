"""Damage one file of a data directory, start the real server on it, and judge what came of it.

A start may keep everything, or lose what the damaged bytes held and say so in its log, or refuse with a sentence that
says what to do. It must not end with another error, hang, log a traceback, or serve an offset that was never
committed. Files that only save time (indexes, snapshots, checkpoints) must make no difference at all.

    python -m tests.fuzz.start_files --seed 7 --cases 1000
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from coordinator.config.config import Config
from coordinator.config.sources import load
from coordinator.core.topics.catalogue import CatalogueError, parse_document
from coordinator.server.server import StartupError
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import read_whole
from coordinator.storage.log.swap import SwapStep
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.testing.host import ServerHost
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch, iter_batches
from tests.compaction.swap_protocol_world import compact
from tests.fuzz import edits

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


async def _committed(host: ServerHost) -> Committed:
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


def _records(host: ServerHost, unreadable: list[str] | None = None) -> dict[int, list[bytes]]:
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
    world.records = _records(host)


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


# -- the damage ------------------------------------------------------------------------------------------------------


def damaged(content: bytes, earlier: bytes | None, chance: Random) -> tuple[str, bytes | None]:
    """Return a name and the new content; None: the file is removed."""
    kind = chance.choice(
        ("edit", "edit", "edit", "flip", "flip", "tail", "half", "empty", "removed", "earlier", "zeros")
    )
    if kind == "earlier" and earlier is not None and earlier != content:
        return kind, earlier
    if kind == "removed":
        return kind, None
    if kind == "empty":
        return kind, b""
    if kind == "tail":
        return kind, content[: -chance.randint(1, max(len(content) // 3, 1))]
    if kind == "half":
        return kind, content[: chance.randrange(len(content) + 1)]
    if kind == "zeros":
        start = chance.randrange(len(content) + 1)
        return kind, content[:start] + bytes(len(content) - start)
    return kind, edits.edited(content, chance, (edits.flip,) if kind == "flip" else edits.EDITS)


def put(fs: MemoryFileSystem, path: Path, content: bytes | None) -> None:
    if content is None:
        fs.unlink(path)
        return
    file = fs.open(path)
    file.truncate(0)
    file.pwrite(content, 0)
    file.close()


# -- the judgement ---------------------------------------------------------------------------------------------------

# Files that only save time. What is not listed is authoritative, and may cost what it held.
HINTS: Final = re.compile(
    r"live-state|.*\.(index|timeindex)|cleaner-offset-checkpoint|topic-producers\.json|topic\.id"
    r"|plan\.json|DONE|REFUSED|manifest\.json"
)
# Texts without a checksum: another text that is valid as well cannot be told from the one that was written.
PLAIN_TEXTS: Final = frozenset({"meta.properties", "topics.json", "producer-ids.json"})
ADVICE: Final = re.compile("restore|remove|write|choose|copy|set |start the version|make room|bring")


class Listener(logging.Handler):
    """Keeps the warnings and errors of a run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.tracebacks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and not record.getMessage().startswith("loading failed"):
            self.tracebacks.append(self.format(record))


@contextmanager
def listening() -> Iterator[Listener]:
    listener, logger = Listener(), logging.getLogger("coordinator")
    logger.addHandler(listener)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield listener
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagates


class WrongError(Exception):
    """A start did what it must not."""


async def case(world: World, path: Path, content: bytes | None, *, twice: bool = False) -> str:
    """Start on the directory with this content of one file; return the outcome in a word. WrongError: not allowed.

    `twice`: a second start must find what the first one found.
    """
    fs = world.fs.copy()
    put(fs, path, content)
    with listening() as listener:
        try:
            async with Life(fs) as host:
                outcome = await _judge(world, path, content, host, listener)
                found = await _committed(host), _records(host, [])
            if twice:
                async with Life(fs) as host:
                    again = await _committed(host), _records(host, [])
                if again != found:
                    raise WrongError("a second start found something else than the first one")
        except StartupError as error:
            sentence = str(error)
            if "\n" in sentence or len(sentence) < 20 or not ADVICE.search(sentence):
                raise WrongError(f"it refused without advice: {sentence}") from None
            if HINTS.fullmatch(path.name) and "swap.json" not in sentence:
                raise WrongError(f"it refused because of a file that only saves time: {sentence}") from None
            outcome = "refused"
        except TimeoutError:
            raise WrongError(f"it did not start or stop in {START_S:g} s") from None
    if listener.tracebacks:
        raise WrongError(f"it logged a traceback: {listener.tracebacks[0]}")
    return outcome


async def _judge(world: World, path: Path, content: bytes | None, host: ServerHost, listener: Listener) -> str:
    unreadable: list[str] = []
    found, records = await _committed(host), _records(host, unreadable)
    for group, offsets in found.items():
        for (topic, index), offset in offsets.items():
            if offset not in world.ever.get((group, topic, index), ()):
                raise WrongError(f"{group} has offset {offset} of {topic}-{index}, which was never committed")
    for index, batches in records.items():
        if batches != world.records.get(index, [])[: len(batches)] and not path.suffix == ".log":
            raise WrongError(f"{TOPIC}-{index} has other records")
    if found == world.committed and records == world.records:
        return "kept"
    if HINTS.fullmatch(path.name):
        raise WrongError(f"a file that only saves time made a difference: {found} is not {world.committed}")
    if path.name in PLAIN_TEXTS and content is not None and is_valid_text(path.name, content):
        return "not noticed"
    if is_shorter_newest_segment(world, path, content):
        return "not noticed"
    if not listener.lines and not unreadable:
        raise WrongError(f"it lost something and logged nothing: {_difference(found, world.committed)}")
    return "lost, and said so"


def is_valid_text(name: str, content: bytes) -> bool:
    if name != "topics.json":
        return True
    try:
        parse_document(content.decode())
    except (CatalogueError, UnicodeDecodeError):
        return False
    return True


def is_shorter_newest_segment(world: World, path: Path, content: bytes | None) -> bool:
    """Return True if a log's newest segment ends behind one of its batches: as if no more had been written.

    After a clean stop the checkpoint knows its size, so that this is noticed.
    """
    whole = read_whole(world.fs, path)
    newest = max(each for each in files_of(world.fs) if each.parent == path.parent and each.suffix == ".log")
    if content is None or path != newest or not whole.startswith(content):
        return False
    return len(content) in {0, *(position + header.size_bytes for position, header in iter_batches(whole))}


def _difference(found: Committed, due: Committed) -> str:
    return ", ".join(
        f"{group}: {found.get(group)} instead of {due[group]}" for group in due if found.get(group) != due[group]
    )


# -- runs ------------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The outcomes of many cases, and those that were wrong."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


async def run(seed: int, cases: int, *, stop_at: int = 20) -> Tally:
    """Run cases from a seed. The number of a case and the seed make it again."""
    made = await worlds()
    tally = Tally()
    for number in range(cases):
        chance = Random(f"{seed}/{number}")
        world = chance.choice(made)
        files = files_of(world.fs)
        path = chance.choice(sorted(files))
        kind, content = damaged(files[path], world.earlier.get(path), chance)
        try:
            tally.outcomes[await case(world, path, content, twice=number % 4 == 0)] += 1
        except Exception as error:
            tally.wrong.append(
                f"seed {seed} case {number}: {world.name} {path} {kind}: {type(error).__name__}: {error}"
            )
            if not isinstance(error, WrongError):
                logging.getLogger("tests.fuzz").exception("case %d", number)
            if len(tally.wrong) >= stop_at:
                break
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage files and start on them.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=500)
    given = parser.parse_args()
    begun = time.monotonic()
    tally = asyncio.run(run(given.seed, given.cases))
    print(dict(tally.outcomes), f"{time.monotonic() - begun:.1f} s")
    for each in tally.wrong:
        print("WRONG", each)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
