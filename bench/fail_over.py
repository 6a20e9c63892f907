"""`make bench-fail_over`: how long clients wait when the node that owns their partition dies, freezes, or is cut off.

Three daemons share a PostgreSQL with a synchronous standby, or a Kafka with three brokers (`--engine kafka`). One
partition has a log tail of 1,000 to 1,000,000 records without a snapshot, which only a SIGTERM makes; the others have
next to none. A client of each partition commits every few ms. The owner of the tail ends by SIGKILL, is stopped by
SIGSTOP, loses its link to the database, or is stopped in order by SIGTERM; then it comes back, and the next repetition
begins when every partition is where it was.

After a fault a time is that to the first acknowledged commit at another node; clients then ask the living nodes for the
coordinator. Logs tell when the node was declared dead and how long claim and replay took. Around a SIGTERM it is the
longest gap between two commits of a client, which is told nothing. Only the cut goes through proxies.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import re
import signal
import statistics
import struct
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import uvloop

from bench.findings import Findings, Verdict
from bench.measure import BenchError
from bench.report import markdown_table
from bench.shared_engines import ENGINES, BenchEngine, engine_parser, with_engine
from coordinator.config.sources import load
from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NEVER_OWNED, wanted_owner
from coordinator.core.shard import partition_for
from coordinator.engine.opening import open_engine
from coordinator.membership.directory import StoreFacts
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import AppendDurable
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.offsets_records import offset_key_prefix
from protocol.record_batch import build_batch
from tests.ha.asking import GROUPS, PARTITIONS, spread
from tests.ha.engines import Address
from tests.ha.nodes import OVERRIDES, EngineNodes
from tests.ha.proxy import Way
from tests.support.eventually import eventually_async
from tests.support.wire import ConnectionEnded, Wire

NODES: Final = (1, 2, 3)
TAIL: Final = 0  # the partition with the tail
VICTIM: Final = wanted_owner(TAIL, NODES)
MOVED: Final = [each for each in range(PARTITIONS) if wanted_owner(each, NODES) == VICTIM]
TAIL_GROUPS: Final = [
    name for number in range(1000) if partition_for(name := f"tail-{number}", PARTITIONS) == TAIL
][:100]  # fmt: skip

ONLY_AT_A_STOP: Final = "offsets.snapshot.tail.bytes=0"
NO_SNAPSHOTS: Final = (ONLY_AT_A_STOP, "offsets.snapshot.stop.ms=0")
PER_BATCH: Final = 100
BATCHES_AT_ONCE: Final = 20
COMMIT_PAUSE_S: Final = 0.01
LOOK_PAUSE_S: Final = 0.005
ANSWER_S: Final = 20.0
STEADY_S: Final = 0.5  # of commits before a fault
MOVED_S: Final = 60.0
BACK_S: Final = 120.0
_VALUE: Final = struct.Struct(">hqihq")  # an OffsetValue of version 3 without metadata

FAULTS: Final = {
    "kill": "SIGKILL",
    "freeze": "SIGSTOP",
    "cut": "cut off from the database",
    "stop": "SIGTERM, longest gap",
}
TARGETS_MS: Final = {"kill": 1000.0, "freeze": 4000.0}
DEAD: Final = re.compile(r"^(\S+ \S+) .*node declared dead ", re.MULTILINE)
CLAIMED: Final = re.compile(rf"^(\S+ \S+) .*partition claimed partition={TAIL} .*ms=(\d+)", re.MULTILINE)


# -- the log tail ------------------------------------------------------------------------------------------------------


def tail(records: int) -> Iterator[list[Entry]]:
    """Yield some batches at once: commits of 100 groups, 100 partitions each, again and again."""
    now_ms = int(time.time() * 1000)
    entries: list[Entry] = []
    for base in range(0, records, PER_BATCH):
        group = TAIL_GROUPS[base // PER_BATCH % len(TAIL_GROUPS)]
        prefix, value = offset_key_prefix(group, "orders"), _VALUE.pack(3, base, -1, 0, now_ms)
        rows = [(prefix + number.to_bytes(4, "big"), value) for number in range(min(PER_BATCH, records - base))]
        batch = build_batch(rows, base_offset=base, timestamp_ms=now_ms)
        entries.append(Entry(batch, base + len(rows) - 1, now_ms))
        if len(entries) == BATCHES_AT_ONCE:
            yield entries
            entries = []
    if entries:
        yield entries


async def write_tail(settings: Sequence[str], records: int) -> None:
    """Write the tail, as the only node of an empty store. BenchError: the store refuses it."""
    config = load(None, [*OVERRIDES, *settings], {})
    engine = await open_engine(config, VICTIM)
    try:
        await engine.directory.facts(StoreFacts(config.cluster_id, PARTITIONS))
        await engine.directory.announce(ClusterNode(VICTIM, "127.0.0.1", 1), uuid.uuid4().hex)
        view = await engine.directory.renew()
        claim = await engine.store.claim(TAIL, view.owners.get(TAIL, NEVER_OWNED).epoch)
        renewed = time.monotonic()
        for entries in tail(records):
            (outcome,) = await engine.store.append([(claim, entries)])
            if not isinstance(outcome, AppendDurable):
                raise BenchError(f"the tail could not be written: {outcome}")
            if time.monotonic() > renewed + config.cluster_heartbeat_ms / 1000:
                await engine.directory.renew()
                renewed = time.monotonic()
        await engine.store.release(claim)
        await engine.directory.leave()
    finally:
        await engine.directory.close()
        await engine.store.close()


# -- clients -----------------------------------------------------------------------------------------------------------


@dataclass
class Ack:
    """An acknowledged commit."""

    at: float  # on the monotonic clock
    node: int


@dataclass
class Living:
    """The nodes that clients ask, by their ports."""

    ports: dict[int, int]

    def any(self) -> int:
        return random.choice([*self.ports])


@dataclass
class GroupClient:
    """Commits for the group of a partition, each acknowledged before the next, where it is led."""

    partition: int
    living: Living
    acks: list[Ack] = field(default_factory=list)
    _wires: dict[int, Wire] = field(default_factory=dict)

    async def run(self) -> None:
        owner = -1
        for offset in itertools.count():
            try:
                if owner not in self.living.ports:
                    owner = await self._find()
                if owner in self.living.ports:
                    if await self._commit(owner, offset):
                        self.acks.append(Ack(time.monotonic(), owner))
                        await asyncio.sleep(COMMIT_PAUSE_S)
                        continue
                    owner = -1
            except (OSError, ConnectionEnded, TimeoutError):
                owner = -1
            await asyncio.sleep(LOOK_PAUSE_S)

    async def drop(self, node: int) -> None:
        """Close the connection to a node; what waits for it there goes on elsewhere."""
        if (wire := self._wires.pop(node, None)) is not None:
            await wire.close()

    async def close(self) -> None:
        for node in [*self._wires]:
            await self.drop(node)

    async def _ask(self, node: int, message: object, version: int) -> Any:
        wire = self._wires.get(node)
        if wire is None or wire.ended.is_set():
            await self.drop(node)
            wire = self._wires[node] = await Wire.connect(self.living.ports[node])
        async with asyncio.timeout(ANSWER_S):  # wait_for, as in Wire.request, may lose a cancellation
            return await wire.send(message, version)

    async def _find(self) -> int:
        request = FindCoordinatorRequest(coordinator_keys=[GROUPS[self.partition]])
        (found,) = (await self._ask(self.living.any(), request, 4)).coordinators
        return int(found.node_id) if found.error_code == 0 else -1

    async def _commit(self, node: int, offset: int) -> bool:
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name="t", partitions=[row])]
        answer = await self._ask(node, OffsetCommitRequest(group_id=GROUPS[self.partition], topics=topics), 8)
        return bool(answer.topics[0].partitions[0].error_code == 0)


class Clients:
    """A client of each partition, while the block runs."""

    def __init__(self, nodes: EngineNodes) -> None:
        self.living = Living({number: nodes.nodes[number].daemon.port for number in nodes.first})
        self.by_partition = {partition: GroupClient(partition, self.living) for partition in range(PARTITIONS)}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Clients:
        self._tasks = [asyncio.create_task(client.run()) for client in self.by_partition.values()]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self.by_partition.values():
            await client.close()
        for each in ended:
            if isinstance(each, Exception):
                raise each

    async def all_commit(self) -> None:
        """Wait until each partition is loaded and takes commits."""
        clients = self.by_partition.values()
        await eventually_async(lambda: all(each.acks for each in clients), "all clients commit", within_s=MOVED_S)

    async def give_up(self, node: int) -> None:
        """Ask a node no more."""
        del self.living.ports[node]
        await asyncio.gather(*(client.drop(node) for client in self.by_partition.values()))

    async def served_elsewhere(self, node: int, since: float) -> dict[int, float]:
        """Wait until each partition of a node was served by another one; return the times of these commits."""

        def first(partition: int) -> float | None:
            acks = self.by_partition[partition].acks
            return next((ack.at for ack in acks if ack.at > since and ack.node != node), None)

        await eventually_async(
            lambda: all(first(partition) for partition in MOVED),
            "the partitions are served elsewhere",
            within_s=MOVED_S,
        )
        return {partition: at for partition in MOVED if (at := first(partition)) is not None}

    def longest_gap(self, partition: int, since: float) -> float:
        """Return the longest time between two commits of a partition, in s, of which the second came after `since`."""
        pairs = itertools.pairwise(self.by_partition[partition].acks)
        return max(after.at - before.at for before, after in pairs if after.at > since)


# -- faults ------------------------------------------------------------------------------------------------------------


class Direct:
    """An engine without its proxies."""

    targets: list[Address] = []  # noqa: RUF012 - never changed

    def __init__(self, engine: BenchEngine) -> None:
        self._engine = engine
        self.start, self.stop, self.fail_over = engine.start, engine.stop, engine.fail_over

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        return self._engine.overrides(self._engine.targets, ports)


async def all_are_back(nodes: EngineNodes) -> None:
    """Wait until all nodes say that each partition is where it should be."""
    async with asyncio.timeout(BACK_S):
        for number in nodes.first:
            await spread(nodes, number, set(NODES))


async def check_tail(nodes: EngineNodes, records: int) -> None:
    """Fetch the last offset of the tail at a node that is not its usual owner. BenchError: it is another one."""
    last = (records - 1) // PER_BATCH
    wanted = OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id=TAIL_GROUPS[last % len(TAIL_GROUPS)], topics=[wanted])
    request = OffsetFetchRequest(groups=[group])
    found = []
    for number in (each for each in NODES if each != VICTIM):
        async with await Wire.connect(nodes.nodes[number].daemon.port) as wire:
            (answer,) = (await wire.request(request, 8)).groups
            found += [each.committed_offset for topic in answer.topics for each in topic.partitions]
    if last * PER_BATCH not in found:
        raise BenchError(f"the last offset of the tail was {last * PER_BATCH}, and is {found} at the new owner")


@dataclass(frozen=True, slots=True)
class Outage:
    """Times for which the partitions of a node were not served, and the two longest steps of that; all in s."""

    served: dict[int, float]  # by partition
    noticed: float | None = None  # until the node was declared dead; None after a SIGTERM
    taken: float | None = None  # claim and replay of the tail


def outage(nodes: EngineNodes, served: dict[int, float], struck_s: float) -> Outage:
    """Find the steps in the logs of the other nodes. `struck_s`: the time of the fault, since 1970."""
    others = "".join(nodes.nodes[number].daemon.log_text() for number in NODES if number != VICTIM)
    dead = [at for found in DEAD.finditer(others) if (at := logged_s(found[1])) > struck_s]
    taken = [int(found[2]) / 1000 for found in CLAIMED.finditer(others) if logged_s(found[1]) > struck_s]
    return Outage(served, min(dead) - struck_s if dead else None, taken[0] if taken else None)


def logged_s(text: str) -> float:
    """Return the time of a log line, which is local, in seconds since 1970."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").timestamp()


async def once(nodes: EngineNodes, fault: str) -> Outage:
    """Bring a fault about, and return how long the partitions of the node were not served."""
    victim = nodes.nodes[VICTIM]
    async with Clients(nodes) as clients:
        await clients.all_commit()
        await asyncio.sleep(STEADY_S)
        at, struck_s = time.monotonic(), time.time()
        if fault == "stop":
            if code := await victim.terminate():
                raise BenchError(f"the node ended with exit code {code}")
            await clients.served_elsewhere(VICTIM, at)
            return Outage({partition: clients.longest_gap(partition, at) for partition in MOVED})
        if fault == "kill":
            os.kill(victim.daemon.pid, signal.SIGKILL)  # `victim.kill` would wait for its end
        elif fault == "freeze":
            victim.freeze()
        else:
            for proxy in victim.proxies:
                proxy.break_off(Way.SILENT)
        await clients.give_up(VICTIM)
        served = await clients.served_elsewhere(VICTIM, at)
        return outage(nodes, {partition: when - at for partition, when in served.items()}, struck_s)


async def come_back(nodes: EngineNodes, fault: str) -> None:
    victim = nodes.nodes[VICTIM]
    if fault == "freeze":
        victim.thaw()
    elif fault == "cut":
        for proxy in victim.proxies:
            proxy.heal()
    else:
        victim.kill()  # it is dead, and is waited for
        await victim.start()
    await all_are_back(nodes)


# -- the benchmark -----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def with_tail(engine: BenchEngine, directory: Path, records: int, fault: str) -> AsyncIterator[EngineNodes]:
    """Start three nodes on a new database with a tail. A node that is stopped in order makes snapshots."""
    engine.new_database()
    await write_tail(engine.overrides(engine.targets, []), records)
    shared = engine if fault == "cut" else Direct(engine)
    overrides = (ONLY_AT_A_STOP,) if fault == "stop" else NO_SNAPSHOTS
    async with EngineNodes(directory, shared, len(NODES), overrides=overrides) as nodes:
        await all_are_back(nodes)
        yield nodes


async def repeated(engine: BenchEngine, directory: Path, records: int, fault: str, times: int) -> list[Outage]:
    found = []
    if fault == "stop" and times > 1:  # a snapshot takes the tail away
        return [(await repeated(engine, directory / str(number), records, fault, 1))[0] for number in range(times)]
    async with with_tail(engine, directory, records, fault) as nodes:
        for _ in range(times):
            found.append(await once(nodes, fault))
            await check_tail(nodes, records)
            await come_back(nodes, fault)
        if said := nodes.complaints():
            raise BenchError(said[0])
    return found


def row(records: int, fault: str, found: list[Outage]) -> list[str]:
    """The row of a table; all times in ms."""
    tail_ms = [each.served[TAIL] * 1000 for each in found]
    beside_ms = [max(s for partition, s in each.served.items() if partition != TAIL) * 1000 for each in found]
    cells = [FAULTS[fault], f"{records:,}", str(len(found))]
    for values in (tail_ms, beside_ms):
        cells += [f"{statistics.median(values):,.0f}", f"{max(values):,.0f}"]
    for steps in ([each.noticed for each in found], [each.taken for each in found]):
        known_ms = [step * 1000 for step in steps if step is not None]
        cells.append(f"{statistics.median(known_ms):,.0f}" if known_ms else "-")
    return cells


def measure_all(findings: Findings, engine: BenchEngine, args: argparse.Namespace) -> None:
    rows: list[list[str]] = []
    raw = findings.raw.setdefault("seconds", [])
    for records, fault in itertools.product(args.tails, args.faults):
        if fault == "cut" and not engine.targets:
            continue  # brokers tell their own addresses, so no proxy can stand before them

        def run(records: int = records, fault: str = fault) -> None:
            with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
                found = uvloop.run(repeated(engine, Path(name), records, fault, args.repetitions))
            raw.append({"fault": fault, "records": records, "found": [asdict(each) for each in found]})
            rows.append(row(records, fault, found))
            findings.progress(f"{fault}, {records:,} records: median {rows[-1][3]} ms, longest {rows[-1][4]} ms")
            if fault in TARGETS_MS:
                what = f"{FAULTS[fault]} with {records:,} records of tail, longest"
                longest_ms = max(each.served[TAIL] for each in found) * 1000
                findings.verdicts.append(Verdict(what, TARGETS_MS[fault], "ms", longest_ms))

        findings.attempt(f"ours: {FAULTS[fault]}, {records:,} records", run)
    headings = ["the owner", "records of tail", "repetitions", "median, ms", "longest"]
    headings += ["other partitions of that node: median, ms", "longest", "noticed after, ms", "claim and replay, ms"]
    findings.table(f"Until the first commit at another node: {ENGINES[args.engine]}", markdown_table(headings, rows))


def main() -> int:
    arguments = engine_parser(__doc__)
    arguments.add_argument("--repetitions", type=int, help="of each fault (default 5; --quick 1)")
    arguments.add_argument("--tails", help="records of the tail (default 1000,100000,1000000; --quick 1000,20000)")
    arguments.add_argument("--faults", default=",".join(FAULTS), help=f"some of {','.join(FAULTS)}")
    args = arguments.parse_args()
    args.repetitions = args.repetitions or (1 if args.quick else 5)
    tails = args.tails or ("1000,20000" if args.quick else "1000,100000,1000000")
    args.tails = [int(each) for each in tails.split(",")]
    args.faults = args.faults.split(",")
    if not set(args.faults) <= set(FAULTS):
        arguments.error(f"--faults takes {','.join(FAULTS)}")
    return with_engine("fail_over", "Fail-over with a shared store", args, measure_all)


if __name__ == "__main__":
    sys.exit(main())
