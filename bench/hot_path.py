"""CPU cost of one request inside the process: `python bench/hot_path.py [--only commit] [--profile]`.

Real connections, runtime, core and logs, driven by hand: a request goes into `Connection.data_received`, its answer
comes out at a transport that only takes it, and a flush round runs in the same thread, on a file system in memory.
There is no socket, no other thread and no waiting. CPU time is measured, which other load disturbs little. The lowest
of many rounds is printed, because noise only adds.

These figures compare one change with another. `make bench` measures the cost of a request over real sockets.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import pstats
import resource
import shutil
import struct
import sys
import tempfile
import time
import tracemalloc
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from coordinator.config.config import Config  # noqa: E402
from coordinator.core.clock import Clock  # noqa: E402
from coordinator.core.cluster import Cluster, ClusterIdentity  # noqa: E402
from coordinator.core.coordinator import GroupCoordinator  # noqa: E402
from coordinator.core.effects import ClientSoftware  # noqa: E402
from coordinator.core.loading import LoadedState  # noqa: E402
from coordinator.core.offsets.store import OffsetStore  # noqa: E402
from coordinator.core.topics.names import OFFSETS_TOPIC  # noqa: E402
from coordinator.server.api.table import HANDLERS  # noqa: E402
from coordinator.server.connection import Connection  # noqa: E402
from coordinator.server.runtime import Callbacks, Runtime  # noqa: E402
from coordinator.storage.log.flusher import Flusher  # noqa: E402
from coordinator.storage.log.fs import RealFileSystem  # noqa: E402
from coordinator.storage.log.log import Log, LogConfig  # noqa: E402
from coordinator.storage.offsets_log import OffsetsLog  # noqa: E402
from coordinator.storage.snapshot.keeper import Snapshots  # noqa: E402
from coordinator.storage.topic_logs import TopicLogs  # noqa: E402
from protocol.client import decode_response, encode_frame  # noqa: E402
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic  # noqa: E402
from protocol.messages.heartbeat import HeartbeatRequest  # noqa: E402
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol  # noqa: E402
from protocol.messages.offset_commit import (  # noqa: E402
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (  # noqa: E402
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData  # noqa: E402
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment  # noqa: E402
from protocol.record_batch import build_batch  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "bench"
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, COMMIT_VERSION, FETCH_VERSION = 5, 3, 4, 8, 8
PRODUCE_VERSION, READ_VERSION = 9, 12


class Loop:
    """An event loop that runs what is ready when it is told to. Its clock is moved by hand, too."""

    def __init__(self) -> None:
        self.now = time.monotonic()
        self._ready: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        self._ready.append((callback, args))

    call_soon_threadsafe = call_soon

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Any:
        return self

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any:
        return self

    def cancel(self) -> None:
        """Do nothing: no timer fires here."""

    def run(self) -> None:
        while self._ready:
            callback, args = self._ready.popleft()
            callback(*args)


class InlineWorker:
    """The writer thread, without a thread."""

    def put(self, job: Callable[[], None]) -> None:
        job()

    def join(self) -> None:
        pass


class Transport:
    """Takes answers."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.write = self.written.append

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 50_000) if name == "peername" else None

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


def frame(message: Any, version: int, correlation_id: int = 0) -> bytes:
    return encode_frame(message, version, correlation_id, "bench")


class Client:
    """One connection and the member behind it."""

    def __init__(self, node: Node, group: str = "", index: int = 0) -> None:
        self.node = node
        self.group, self.index = group, index
        self.member_id = ""
        self.generation = -1
        self.assigns: list[str] = []
        self.transport = Transport()
        self.connection = Connection(node.runtime)
        self.connection.connection_made(cast("asyncio.Transport", self.transport))
        self.send = self.connection.data_received

    def answers(self, api_key: int, version: int) -> list[Any]:
        """Return the responses since the last call, decoded."""
        data = b"".join(self.transport.written)
        self.transport.written.clear()
        found = []
        while data:
            size = 4 + int.from_bytes(data[:4], "big")
            found.append(decode_response(api_key, version, data[4:size])[1])
            data = data[size:]
        return found

    def join_frame(self) -> bytes:
        name = TOPIC.encode()
        metadata = struct.pack(f">hih{len(name)}si", 0, 1, len(name), name, -1)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        return frame(request, JOIN_VERSION)

    def joined(self) -> None:
        (answer,) = self.answers(11, JOIN_VERSION)
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.assigns = [member.member_id for member in answer.members]

    def sync_frame(self) -> bytes:
        name = TOPIC.encode()
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member_id,
                    assignment=struct.pack(f">hih{len(name)}siii", 0, 1, len(name), name, 1, number, -1),
                )
                for number, member_id in enumerate(self.assigns)
            ],
        )
        return frame(request, SYNC_VERSION)

    def heartbeat_frame(self) -> bytes:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)
        return frame(request, HEARTBEAT_VERSION)

    def commit_frame(self, partitions: int) -> bytes:
        first = self.index * partitions if partitions == 1 else 0
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=TOPIC,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=first + number, committed_offset=12_345, committed_metadata=""
                        )
                        for number in range(partitions)
                    ],
                )
            ],
        )
        return frame(request, COMMIT_VERSION)

    def fetch_frame(self, partitions: int) -> bytes:
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=list(range(partitions)))]
        groups = [OffsetFetchRequestGroup(group_id=self.group, topics=topics)]
        return frame(OffsetFetchRequest(groups=groups, require_stable=True), FETCH_VERSION)

    def produce_frame(self) -> bytes:
        batch = bytes(build_batch([(None, b"x" * 1_000)], timestamp_ms=int(time.time() * 1_000)))
        data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=self.index, records=batch)])
        return frame(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data]), PRODUCE_VERSION)

    def read_frame(self, offset: int) -> bytes:
        wanted = FetchPartition(partition=self.index, fetch_offset=offset, partition_max_bytes=1 << 20)
        asked = FetchTopic(topic=TOPIC, partitions=[wanted])
        request = FetchRequest(
            max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[asked], forgotten_topics_data=[]
        )
        return frame(request, READ_VERSION)


class Node:
    """Everything the server has, but for sockets, timers and threads."""

    def __init__(self, directory: Path, **overrides: Any) -> None:
        config = replace(
            Config(),
            log_dirs=str(directory),
            topics_preload=f"{TOPIC}:10",
            group_initial_rebalance_delay_ms=0,
            max_connections=1_000_000,
            max_connections_per_ip=1_000_000,
            **overrides,
        )
        self.loop = Loop()
        loop = cast("asyncio.AbstractEventLoop", self.loop)
        fs = RealFileSystem()
        cluster = Cluster.alone(1)
        clock, callbacks = Clock(self.loop), Callbacks()
        count = config.offsets_topic_num_partitions
        logs = {
            number: Log.open(directory / f"{OFFSETS_TOPIC}-{number}", LogConfig(100 << 20, 1 << 40, 4096), fs)
            for number in range(count)
        }
        offsets_log = OffsetsLog(
            logs,
            config,
            loop,
            callbacks.on_durable,
            callbacks.on_failed,
            flusher=lambda durable, failed: Flusher(loop, durable, failed, worker=InlineWorker()),
        )
        topic_logs = TopicLogs(
            loop,
            directory,
            config,
            fs,
            on_effects=callbacks.on_topic_effects,
            cluster=cluster,
            internal_logs={OFFSETS_TOPIC: [logs[number] for number in range(count)]},
            writer=InlineWorker(),
        )
        topic_logs.start()
        self.core = GroupCoordinator(
            config,
            partitions=count,
            new_member_uuid=lambda: str(uuid.uuid4()),
            topic_partition_exists=topic_logs.topics.partition_exists,
            take_read_up_to=topic_logs.topics.take_read_up_to,
            wall_offset_ms=0,
            on_event=callbacks.on_event,
        )
        self.runtime = runtime = Runtime(
            config,
            loop,
            HANDLERS,
            identity=ClusterIdentity("bench", tuple(cluster.nodes.values()), count),
            cluster=cluster,
            clock=clock,
            callbacks=callbacks,
            core=self.core,
            offsets_log=offsets_log,
            snapshots=Snapshots(config, fs, offsets_log),
            topic_logs=topic_logs,
        )
        for number in range(count):
            self.core.load_begin(number)
            runtime.execute(self.core.loaded(number, LoadedState.of((), OffsetStore(), 0), 0, runtime.now_ms()))
        runtime.end_of_event()

    def tick(self) -> None:
        """A millisecond passes: what is due runs."""
        self.loop.now += 0.001
        self.runtime._tick()
        self.loop.run()

    def group(self, name: str, size: int) -> list[Client]:
        """A stable group; its first client leads."""
        clients = [Client(self, name, index) for index in range(size)]
        for client in clients:
            client.send(client.join_frame())
            self.loop.run()  # the first waits for the record of its group
            (answer,) = client.answers(11, JOIN_VERSION)
            client.member_id = answer.member_id
        self.rebalance(clients)
        return clients

    def rebalance(self, clients: Sequence[Client]) -> tuple[float, float]:
        """All join, all sync. CPU seconds of both, and of what comes after the last JoinGroup was sent."""
        joins = [client.join_frame() for client in clients]
        clock = time.process_time
        begun = clock()
        for client, join in zip(clients[:-1], joins[:-1], strict=True):
            client.send(join)
        before_last = clock()
        clients[-1].send(joins[-1])
        self.loop.run()
        while not clients[0].transport.written:
            self.tick()  # the initial delay, of no length, and again as long as members are new
        joined = clock()
        for client in clients:
            client.joined()
        syncs = [client.sync_frame() for client in reversed(clients)]  # the leader's last: everyone is parked
        sync_begun = clock()
        for client, sync in zip(reversed(clients), syncs, strict=True):
            client.send(sync)
        self.loop.run()
        ended = clock()
        for client in clients:
            (answer,) = client.answers(14, SYNC_VERSION)
            assert answer.error_code == 0
            assert answer.assignment
        return joined - begun + ended - sync_begun, joined - before_last + ended - sync_begun


@contextmanager
def node(**overrides: Any) -> Iterator[Node]:
    memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(prefix="hot-path-", dir=memory if memory.is_dir() else None))
    try:
        yield Node(directory, **overrides)
    finally:
        shutil.rmtree(directory)


def measure(args: argparse.Namespace, what: str, per_round: int, act: Callable[[], None]) -> None:
    """Print the lowest CPU time of a round, by request."""
    act()
    if args.rounds_only:
        for _ in range(args.rounds_only):
            act()
        return
    gc.collect()
    gc.freeze()
    best = float("inf")
    ends = time.monotonic() + args.seconds
    while time.monotonic() < ends:
        begun = time.process_time_ns()
        act()
        best = min(best, time.process_time_ns() - begun)
    print(f"{what:<58} {best / per_round / 1000:8.2f} µs", flush=True)
    if args.profile:
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(5):
            act()
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(args.profile)


def drive(clients: list[Client], frames: list[bytes], loop: Loop, *, check: tuple[int, int, int]) -> Callable[[], None]:
    """Every client sends its frame; then the loop runs. The first time the answers are looked at."""
    pairs = [(client.send, data) for client, data in zip(clients, frames, strict=True)]
    api_key, version, expected = check
    is_checked = False

    def act() -> None:
        nonlocal is_checked
        for send, data in pairs:
            send(data)
        loop.run()
        if not is_checked:
            is_checked = True
            for client in clients:
                answers = client.answers(api_key, version)
                assert len(answers) == expected, answers
        for client in clients:
            client.transport.written.clear()

    return act


def requests(args: argparse.Namespace) -> None:
    """Heartbeats, commits and fetches of 100 groups of ten."""
    with node() as here:
        clients = [client for number in range(100) for client in here.group(f"bench-{number}", 10)]
        loop = here.loop
        hundred = clients[::10]
        beats = [client.heartbeat_frame() for client in clients]
        for client, beat in zip(clients, beats, strict=True):
            client.send(beat)
            client.transport.written.clear()
        cases: list[tuple[str, list[Client], list[bytes], int, int, int]] = [
            ("heartbeat, p1", clients, beats, 1, 12, HEARTBEAT_VERSION),
            ("heartbeat, p10", hundred, [client.heartbeat_frame() * 10 for client in hundred], 10, 12, 4),
        ]
        for partitions in (1, 10):
            name = f"{partitions} partition" + "s" * (partitions > 1)
            commits = [client.commit_frame(partitions) for client in clients]
            fetches = [client.fetch_frame(partitions) for client in clients]
            cases += [
                (f"commit of {name}, p1", clients, commits, 1, 8, COMMIT_VERSION),
                (f"commit of {name}, p10", hundred, [data * 10 for data in commits[::10]], 10, 8, COMMIT_VERSION),
                (f"fetch of {name}, p1", clients, fetches, 1, 9, FETCH_VERSION),
                (f"fetch of {name}, p10", hundred, [data * 10 for data in fetches[::10]], 10, 9, FETCH_VERSION),
            ]
        cases.append(("commit of 1 partition, alone", clients[:1], [clients[0].commit_frame(1)], 1, 8, COMMIT_VERSION))
        for what, who, frames, each, api_key, version in cases:
            if args.only in what:
                act = drive(who, frames, loop, check=(api_key, version, each))
                measure(args, what, len(who) * each, act)
        if args.only in "heartbeat, decoded":
            act = drive(clients, beats, loop, check=(12, HEARTBEAT_VERSION, 1))

            def forgetful() -> None:
                for client in clients:
                    client.connection._heartbeat = None
                act()

            measure(args, "heartbeat, decoded", len(clients), forgetful)


def parked(args: argparse.Namespace) -> None:
    """Parked heartbeats of 100 groups of ten: until the next request of the client, and until their time is over."""
    if args.only not in "heartbeat, parked until the next one, for its time, memory":
        return
    with node() as here:
        clients = [client for number in range(100) for client in here.group(f"parked-{number}", 10)]
        for client in clients:
            client.connection.identified(ClientSoftware("apache-kafka-java", "4.4.0"))
        beats = [client.heartbeat_frame() for client in clients]
        for client, beat in zip(clients, beats, strict=True):
            client.send(beat)
            client.send(beat)
            client.transport.written.clear()

        act = drive(clients, beats, here.loop, check=(12, HEARTBEAT_VERSION, 1))
        measure(args, "heartbeat, parked until the next one", len(clients), act)

        def wait() -> None:
            here.loop.now += here.runtime.config.group_heartbeat_park_ms / 1000
            while not clients[-1].transport.written:
                here.tick()
            for client in clients:
                client.transport.written.clear()

        def park() -> None:
            for client, beat in zip(clients, beats, strict=True):
                client.send(beat)

        def park_and_wait() -> None:
            park()
            wait()

        wait()
        measure(args, "heartbeat, parked for its time", len(clients), park_and_wait)
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        park()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"{'heartbeat, parked: memory while it waits':<58} {(after - before) / len(clients):8.0f} bytes")


def reads(args: argparse.Namespace) -> None:
    """Fetches of records in memory, by one client of each partition."""
    if args.only not in "read of 1 record, read of 10 records":
        return
    with node() as here:
        clients = [Client(here, index=number) for number in range(10)]
        for client in clients:
            for _ in range(10):
                client.send(client.produce_frame())
                here.loop.run()
            client.transport.written.clear()
        for what, offset in (("read of 1 record", 9), ("read of 10 records", 0)):
            if args.only in what:
                frames = [client.read_frame(offset) for client in clients]
                act = drive(clients, frames, here.loop, check=(1, READ_VERSION, 1))

                def act_often(act: Callable[[], None] = act) -> None:
                    for _ in range(100):
                        act()

                measure(args, what, 1_000, act_often)


def storms(args: argparse.Namespace) -> None:
    """Rebalances in which all members join and sync."""
    for groups, size in ((1, 1000), (1000, 10), (1, 100)):
        what = f"join + sync, {groups:,} groups of {size:,}, per member"
        if args.only not in what:
            continue
        with node() as here:
            everyone = [here.group(f"storm-{number}", size) for number in range(groups)]
            gc.collect()
            gc.freeze()
            costs: list[float] = []
            tails: list[float] = []
            ends = time.monotonic() + args.seconds
            profile = cProfile.Profile()
            while time.monotonic() < ends or not costs:
                if args.profile:
                    profile.enable()
                results = [here.rebalance(clients) for clients in everyone]
                profile.disable()
                costs.append(sum(cost for cost, _ in results))
                tails.append(min(tail for _, tail in results))
            print(f"{what:<58} {min(costs) / groups / size * 1e6:8.2f} µs", flush=True)
            if groups == 1:
                print(f"{'  from its last JoinGroup to its last SyncGroup answer':<58} {min(tails) * 1000:8.2f} ms CPU")
            if args.profile:
                pstats.Stats(profile).sort_stats("tottime").print_stats(args.profile)


def growth(args: argparse.Namespace) -> None:
    """A heartbeat and a commit among 10 to 100,000 members; what a member without a connection takes in memory."""
    with node() as here:
        first: list[Client] = []
        members = 0
        for target in (10, 1_000, 10_000, 100_000):
            before = resident_bytes()
            added = target - members
            while members < target:
                clients = here.group(f"growth-{members}", 10)
                members += 10
                if len(first) < 1000:
                    first += clients
                else:
                    for client in clients:
                        client.connection.connection_lost(None)
            del clients
            gc.collect()
            if target == 100_000:
                grown = (resident_bytes() - before) / added
                print(
                    f"{'memory of a member without a connection':<58} {grown:8.0f} bytes ({grown / 10:.1f} MB of 100k)"
                )
            each = max(1, 100 // len(first))
            who = first[:1000]
            beats = [client.heartbeat_frame() * each for client in who]
            act = drive(who, beats, here.loop, check=(12, HEARTBEAT_VERSION, each))
            measure(args, f"heartbeat among {target:,} members", len(who) * each, act)
            commits = [client.commit_frame(1) * each for client in who]
            act = drive(who, commits, here.loop, check=(8, COMMIT_VERSION, each))
            measure(args, f"commit among {target:,} members", len(who) * each, act)
            gc.unfreeze()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure (default 2)")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N dearest functions of each")
    parser.add_argument("--rounds-only", type=int, default=0, metavar="N", help="N rounds and no figure: for callgrind")
    args = parser.parse_args()
    requests(args)
    parked(args)
    reads(args)
    if not args.rounds_only:
        storms(args)
        if args.only in "growth":
            growth(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
