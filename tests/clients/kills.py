"""A real daemon that is killed with SIGKILL again and again, also while it starts, under clients that never stop.

Consumers of aiokafka, a raw group that rebalances all the time, committers of many groups with several requests in
flight and an idempotent producer work throughout. Segments are rolled and snapshots made often, and `coordinator
compact` runs now and then. Held after each start:
  - every acknowledged commit is there or a later one, and none that was never sent;
  - every acknowledged record is at its offset, none is there twice, and the records of a partition are in order;
  - no generation whose SyncGroup was answered is given again, or one below it (`Restless`).
A round whose seed says so is followed by `coordinator log verify`, which must find nothing.

    python -m tests.clients.kills --seed 7 --kills 300
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import logging
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as LibraryPartition
from aiokafka.errors import KafkaError

from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.record_batch import iter_batches, read_records
from tests.clients.members import TopicPartition
from tests.clients.promises import Promises
from tests.clients.restless import Restless
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually_async
from tests.support.questions import committed_offsets
from tests.support.topics_wire import fetch_request, fetched
from tests.support.wire import ConnectionEnded, Wire, call

OVERRIDES: Final = (
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=4",
    "offsets.topic.segment.bytes=65536",
    "offsets.snapshot.tail.bytes=32768",
    "offsets.snapshot.min.bytes=0",
    "log.segment.bytes=32768",
)
TOPICS: Final = ("orders:6", "restless:4", "records:2")
CONSUMERS: Final = 3
MEMBERS: Final = 4
CONNECTIONS: Final = 3
GROUPS: Final = 20  # of each connection
IN_FLIGHT: Final = 8
COMPACTION_S: Final = 6.0  # about as long as one takes: kills meet all of its steps, and its end
PROGRESS_S: Final = 60.0  # how long a client may take, on a busy machine, to go on after a start


@dataclass
class Records:
    """The records of an idempotent producer: acknowledged, and found in the log."""

    acknowledged: dict[TopicPartition, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    found: dict[TopicPartition, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def check(self, port: int, *, anew: bool = False) -> None:
        """Read what is new in the log, or all of it, and compare it with what was acknowledged before."""
        before = {partition: dict(known) for partition, known in self.acknowledged.items()}
        if anew:
            self.found.clear()
        for partition, known in before.items():
            found = self.found[partition]
            while values := _values(port, partition, len(found)):
                found += values
            lost = [offset for offset, value in known.items() if found[offset : offset + 1] != [value]]
            assert not lost, f"{partition}: acknowledged records are lost, the first at {min(lost)}"
            numbers = [int(value) for value in found]
            assert all(first < second for first, second in itertools.pairwise(numbers)), (
                f"{partition}: a record is there twice, or not in order"
            )


def _values(port: int, partition: TopicPartition, offset: int) -> list[bytes]:
    """Return the values from an offset on, as many as one answer has."""
    data = fetched(call(port, fetch_request({partition: offset}, max_wait_ms=0), 11))
    assert data.error_code == 0, f"{partition}: error {data.error_code} at {offset}"
    raw = data.records or b""
    records = [record for at, header in iter_batches(raw) for record in read_records(raw, at, header)]
    return [bytes(record.value or b"") for record in records if record.offset >= offset]


class Workload:
    """The clients of one run, and what they were promised."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.records = Records()
        self.restless = Restless(daemon, "restless", "restless", MEMBERS)
        self.promises: dict[str, Promises] = defaultdict(Promises)
        self.promises["restless"] = self.restless.promises
        self.counts: Counter[str] = Counter()  # acknowledged requests of each client
        self.stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = itertools.count(1)  # the values of the records

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Workload]:
        """Run all clients; a client that ends by an exception ends the run with it."""
        async with (
            AIOKafkaProducer(bootstrap_servers=self.daemon.address, enable_idempotence=True, linger_ms=2) as producer,
            contextlib.AsyncExitStack() as stack,
        ):
            work = [self._produce(producer, partition) for partition in range(2)]
            for number in range(CONSUMERS):
                consumer = AIOKafkaConsumer(
                    "orders", bootstrap_servers=self.daemon.address, group_id="library", enable_auto_commit=False,
                    session_timeout_ms=20_000, heartbeat_interval_ms=500, auto_offset_reset="earliest",
                )  # fmt: skip
                work.append(self._consume(await stack.enter_async_context(consumer), f"consumer {number}"))
            work += [self.restless.live(number, self.stopping) for number in range(MEMBERS)]
            work += [self._commit(number) for number in range(CONNECTIONS)]
            self._tasks = [asyncio.create_task(each) for each in work]
            try:
                yield self
                self.stopping.set()
                await asyncio.wait_for(asyncio.gather(*self._tasks), PROGRESS_S)
            finally:
                for task in self._tasks:
                    task.cancel()
                if not self.daemon.is_running:  # the run failed between a kill and a start; clients end with a server
                    with contextlib.suppress(AssertionError):
                        await asyncio.to_thread(self.daemon.start)

    @property
    def commits(self) -> int:
        return sum(promises.count for promises in list(self.promises.values()))

    async def all_go_on(self) -> None:
        """Wait until each client has had something acknowledged since this call."""
        clients = [f"consumer {number}" for number in range(CONSUMERS)]
        clients += [f"connection {number}" for number in range(CONNECTIONS)] + ["records 0", "records 1"]
        before, rounds = Counter(self.counts), self.restless.rounds

        def went_on() -> bool:
            for task in self._tasks:
                if task.done():
                    task.result()  # raises what ended it
            return self.restless.rounds > rounds and all(self.counts[each] > before[each] for each in clients)

        await eventually_async(went_on, "every client goes on", within_s=PROGRESS_S)

    def check(self) -> None:
        """Compare what the daemon has with what was acknowledged before this call."""
        for group, promises in list(self.promises.items()):
            acknowledged = dict(promises.acknowledged)
            promises.check(committed_offsets(self.daemon.port, group), acknowledged)
        self.records.check(self.daemon.port)

    async def _consume(self, consumer: AIOKafkaConsumer, name: str) -> None:
        promises = self.promises["library"]
        while not self.stopping.is_set():
            await consumer.getmany(timeout_ms=0)  # a consumer that does not poll leaves after five minutes
            owned = [(each.topic, each.partition) for each in consumer.assignment()]
            offsets = dict.fromkeys(owned, next(promises.rising))
            promises.send(offsets)
            try:
                await consumer.commit({LibraryPartition(*each): offset for each, offset in offsets.items()})
            except KafkaError:
                await asyncio.sleep(0.05)  # a rebalance, or the daemon is down: no promise
                continue
            if offsets:
                promises.acknowledge(offsets)
                self.counts[name] += 1
            await asyncio.sleep(0.01)

    async def _produce(self, producer: AIOKafkaProducer, partition: int) -> None:
        where = ("records", partition)
        while not self.stopping.is_set():
            values = [b"%d" % next(self._numbers) for _ in range(IN_FLIGHT)]
            answers = [await producer.send("records", value, partition=partition) for value in values]
            for value, answer in zip(values, answers, strict=True):
                self.records.acknowledged[where][(await answer).offset] = value
                self.counts[f"records {partition}"] += 1

    async def _commit(self, number: int) -> None:
        """Commit for many groups on one connection, with several requests in flight."""
        groups = itertools.cycle([f"simple-{number}-{each}" for each in range(GROUPS)])
        while not self.stopping.is_set():
            try:
                async with await Wire.connect(self.daemon.port) as wire:
                    while not self.stopping.is_set():
                        sent = [self._send_commit(wire, next(groups)) for _ in range(IN_FLIGHT)]
                        for promises, offsets, answer in sent:
                            (topic,) = (await asyncio.wait_for(answer, PROGRESS_S)).topics
                            code = ErrorCode(topic.partitions[0].error_code)
                            assert code is ErrorCode.NONE or code.retriable, code
                            if code is ErrorCode.NONE:
                                promises.acknowledge(offsets)
                                self.counts[f"connection {number}"] += 1
            except (OSError, ConnectionEnded):
                await asyncio.sleep(0.01)  # the daemon is down

    def _send_commit(self, wire: Wire, group: str) -> tuple[Promises, dict[TopicPartition, int], asyncio.Future[Any]]:
        promises = self.promises[group]
        offset = next(promises.rising)
        partition = offset % 3
        offsets = {("orders", partition): offset}
        promises.send(offsets)
        one = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name="orders", partitions=[one])]
        return promises, offsets, wire.send(OffsetCommitRequest(group_id=group, topics=topics), 8)


class Compaction:
    """`coordinator compact`, in a process of its own."""

    def __init__(self, data_dir: Path, said: Path) -> None:
        self._command = [sys.executable, "-m", "coordinator", "compact", "--data-dir", str(data_dir), "--roll"]
        self._command += ["--mode", "single", "--min-cleanable-dirty-ratio", "0"]
        self._said = said
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(self._command, cwd=REPOSITORY, stdout=said, stderr=said)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def await_end(self) -> None:
        if self._process is not None:
            self._process.wait(PROGRESS_S)


def verify(data_dir: Path) -> None:
    """Let `coordinator log verify` look at all files."""
    command = [sys.executable, "-m", "coordinator", "log", "verify", str(data_dir)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PROGRESS_S, check=False)
    assert done.returncode == 0, f"log verify found: {done.stdout}{done.stderr}"


async def start(daemon: Daemon, compact: Compaction) -> None:
    """Start the daemon. A compaction that found no daemon may hold the directory; the start then waits for its end."""
    try:
        await asyncio.to_thread(daemon.start)
    except AssertionError:
        if not compact.is_running:
            raise
        await asyncio.to_thread(compact.await_end)
        await asyncio.to_thread(daemon.start)


async def run(directory: Path, seed: int, kills: int, tell: Callable[[str], None] = lambda line: None) -> Counter[str]:
    """Kill a daemon so often and return counts. AssertionError says which promise was broken."""
    chance, counts = Random(seed), Counter[str]()
    daemon = Daemon(directory, overrides=OVERRIDES, topics=TOPICS).start()
    compact = Compaction(daemon.data_dir, directory / "compact.log")
    start_s = 1.0
    try:
        async with Workload(daemon).running() as work:
            await work.all_go_on()
            for number in range(1, kills + 1):
                if number % 2:  # while it serves
                    await work.all_go_on()
                    if number % 10 == 1 and not compact.is_running:
                        compact.begin()
                        if chance.random() < 0.5:
                            await asyncio.to_thread(compact.await_end)
                        else:
                            await asyncio.sleep(chance.uniform(0, COMPACTION_S))
                    counts["with a compaction at work"] += compact.is_running
                    await asyncio.sleep(chance.uniform(0, 0.3))
                    daemon.kill()
                    counts["while it served"] += 1
                else:
                    daemon.spawn()
                    await asyncio.sleep(chance.uniform(0.2, 1.1) * start_s)
                    served = daemon.port_file.exists()
                    daemon.kill()
                    counts["while it served" if served else "during its start"] += 1
                if number % 2 and number < kills:
                    continue  # the next kill meets the start
                if number % 10 == 0 and chance.random() < 0.5:
                    compact.kill()
                if chance.random() < 0.1:
                    await asyncio.to_thread(verify, daemon.data_dir)
                    counts["log verify of files left by a kill"] += 1
                begun = time.monotonic()
                await start(daemon, compact)
                start_s = time.monotonic() - begun
                await asyncio.to_thread(work.check)
                if chance.random() < 0.1:
                    await asyncio.to_thread(verify, daemon.data_dir)
                    counts["log verify beside the daemon"] += 1
                tell(f"{number} kills; acknowledged: {work.commits} commits, {work.records.count} records")
            await work.all_go_on()
        await asyncio.to_thread(work.check)
        await asyncio.to_thread(work.records.check, daemon.port, anew=True)
        daemon.stop()
        await asyncio.to_thread(verify, daemon.data_dir)
        counts["commits acknowledged"] = work.commits
        counts["records acknowledged"] = work.records.count
        counts["generations answered"] = len(work.restless.synced)
        counts["groups"] = len(work.promises)
        counts["compactions done"] = daemon.log_text().count("compaction swapped")
        counts["starts from a snapshot"] = sum(
            "loaded partitions_from_snapshot=" in line and "partitions_from_snapshot=0" not in line
            for line in daemon.log_lines()
        )
        return counts
    finally:
        compact.kill()
        daemon.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a daemon under clients, and look for what was acknowledged.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=300)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the library tells of each lost connection
    begun = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        counts = asyncio.run(run(directory, given.seed, given.kills, tell=lambda line: print(line, flush=True)))
    except AssertionError as broken:
        print(f"BROKEN (seed {given.seed}; the files are in {directory}): {broken}")
        return 1
    shutil.rmtree(directory)
    print(f"{given.kills} kills with seed {given.seed} in {time.monotonic() - begun:.0f} s")
    for name, count in counts.items():
        print(f"  {name}: {count}")
    print("acknowledged commits lost: 0; records lost or twice: 0; generations given again: 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
