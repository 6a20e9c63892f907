"""The embedded topics on a disk: `TopicLogs` on an event loop, driven by requests, killed and started again.

`TopicLogsWorld` runs on asyncio with real threads. `ManualTopicLogsWorld` runs on a loop, threads and a disk that the
test steps, so that the power can be cut between any two acts. Both are a `Node` for the real handlers, and both raise
when a ticket is answered twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from coordinator.config.config import Config
from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
from coordinator.core.effects import Ticket
from coordinator.core.topics.effects import DeletedPartitions, TopicEffects
from coordinator.core.topics.topics import Topics
from coordinator.server.api.handler import Api
from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.thread_pool import Then
from coordinator.storage.topic_logs import TopicLogs
from protocol import codec
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from tests.support.manual_loop import ManualLoop, ManualWorker

DATA = Path("/data")


class Session:
    """Stands for a connection: collects the responses to its tickets."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.answers: list[Any] = []
        self.closed = ""
        self.on_answer: Callable[[], None] = lambda: None

    def answer(self, ticket: Ticket, response: Any) -> None:
        if self.answers:
            raise AssertionError(f"{ticket} was answered twice")
        if response is not None:
            if self.api.shape is not None:
                response = self.api.shape(response, ticket.version)
            data = codec.encode_response(response, ticket.version)
            response = codec.decode_response(int(self.api.key), ticket.version, data, 0)
        self.answers.append(response)
        self.on_answer()

    def close(self, reason: str) -> None:
        self.closed = reason


class _Node:
    """The interface that handlers use, over the `TopicLogs` of a subclass."""

    topic_logs: TopicLogs

    def __init__(self, cluster: Cluster | None = None, **config: Any) -> None:
        self.config = Config(**config)
        self.cluster = cluster or Cluster.alone(1, "broker.test", 9092)
        self.cluster_id = "test-cluster"
        self.core: Any = None
        self.deleted: list[DeletedPartitions] = []
        self.verify: Callable[[AddPartitionsToTxnRequest], AddPartitionsToTxnResponse] | None = None
        self._correlation = count(1)

    @property
    def topics(self) -> Topics:
        return self.topic_logs.topics

    @property
    def identity(self) -> ClusterIdentity:
        return ClusterIdentity(
            self.cluster_id, tuple(self.cluster.nodes.values()), self.config.offsets_topic_num_partitions
        )

    def seen_by(self, ticket: Ticket) -> Callable[[ClusterNode], ClusterNode]:
        return lambda node: node

    def reply(self, ticket: Ticket, response: Any) -> None:
        ticket.session.answer(ticket, response)

    def execute_topics(self, effects: TopicEffects, ticket: Ticket | None = None) -> None:
        self.deleted.extend(effects.deleted)
        self.topic_logs.execute(effects)
        for verification in effects.verifications:
            assert self.verify is not None, "there is no transaction coordinator"
            response = self.verify(verification.request)
            self.execute_topics(self.topics.transaction_verified(verification, response, self.now_ms()))

    def send(self, api: Api, request: Any, version: int, session: Session | None = None) -> Session:
        decoded = codec.decode_request(int(api.key), version, codec.encode_request(request, version), 0)
        session = session or Session(api)
        ticket = Ticket(session, api_key=int(api.key), version=version, correlation_id=next(self._correlation))
        api.handle(self, decoded, ticket, self.now_ms())  # type: ignore[arg-type]
        return session

    def now_ms(self) -> int:
        raise NotImplementedError


class TopicLogsWorld(_Node):
    """Runs on the running asyncio loop, with real threads and, by default, real files."""

    def __init__(self, data_dir: Path, fs: FileSystem | None = None, **config: Any) -> None:
        super().__init__(**config)
        self.data_dir = data_dir
        self.fs = fs or RealFileSystem()
        self.loop = asyncio.get_running_loop()
        self.internal_logs: dict[str, Any] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.start()

    def start(self) -> None:
        self.topic_logs = TopicLogs(
            self.loop,
            self.data_dir,
            self.config,
            self.fs,
            on_effects=self.execute_topics,
            cluster=self.cluster,
            internal_logs=self.internal_logs,
        )
        self.topic_logs.start()

    def kill(self) -> None:
        """Stop as SIGKILL does: nothing more is written, nothing is closed in order."""
        self.topic_logs.flusher._closed = True
        for log in self.topic_logs._logs.values():
            log.abandon()
        self.topic_logs.checkpoint.stop()
        self.topic_logs._readers.close()
        self.topic_logs._changer.close()

    def now_ms(self) -> int:
        return int(self.loop.time() * 1000)

    async def call(self, api: Api, request: Any, version: int) -> Any:
        session = self.send(api, request, version)
        if not session.answers:
            answered = asyncio.Event()
            session.on_answer = answered.set
            async with asyncio.timeout(10):
                await answered.wait()
        return session.answers[0]


class ManualPool:
    """Implements `coordinator.storage.thread_pool.Executor`: work is done when `step` is called."""

    def __init__(self) -> None:
        self.work: deque[tuple[Callable[[], Any], Then]] = deque()

    def run(self, work: Callable[[], Any], then: Then) -> None:
        self.work.append((work, then))

    def step(self) -> bool:
        if not self.work:
            return False
        work, then = self.work.popleft()
        try:
            result = work()
        except MachineOffError:
            return True  # the machine is off: no callback runs
        except Exception as error:
            then(None, error)
        else:
            then(result, None)
        return True

    async def drained(self) -> None:
        while self.step():
            pass

    def close(self) -> None:
        pass


class TimedLoop(ManualLoop):
    def time(self) -> float:
        return self.now


class ManualTopicLogsWorld(_Node):
    """Runs on a loop, threads and a disk that the test steps."""

    def __init__(self, fs: LossyFileSystem | None = None, cluster: Cluster | None = None, **config: Any) -> None:
        super().__init__(cluster, **config)
        if fs is None:
            fs = LossyFileSystem()
            fs.mkdir(DATA)
            fs.fsync_dir(DATA.parent)
        self.boots = 0
        self.boot(fs)

    def boot(self, fs: LossyFileSystem) -> None:
        """Start a fresh process on the files of `fs`."""
        self.fs = fs
        self.boots += 1
        self.loop = TimedLoop()
        self.loop.now = 1000.0 * self.boots
        self.worker, self.readers, self.changer = ManualWorker(), ManualPool(), ManualPool()
        self.topic_logs = TopicLogs(
            self.loop,  # type: ignore[arg-type]
            DATA,
            self.config,
            fs,
            on_effects=self.execute_topics,
            cluster=self.cluster,
            readers=self.readers,
            changer=self.changer,
            writer=self.worker,
        )
        self.topic_logs.flusher._clock = self.loop.clock
        self.topic_logs.start()

    def now_ms(self) -> int:
        return int(self.loop.now * 1000)

    def settle(self) -> None:
        """Run the loop and the threads until they have nothing to do."""
        self.loop.run_ready()
        while self.readers.step() or self.changer.step() or self.worker.run():
            self.loop.run_ready()

    def advance(self, seconds: float) -> None:
        self.loop.advance(seconds)
        self.execute_topics(self.topics.advance_clock(self.now_ms()))
        self.settle()

    def call(self, api: Api, request: Any, version: int) -> Any:
        session = self.send(api, request, version)
        self.settle()
        assert session.answers, f"{api.key.name} has no answer"
        return session.answers[0]
