"""One face for the consumers of three libraries: aiokafka, kafka-python and confluent-kafka (librdkafka).

A `ClientMember` owns a real consumer object and the thread that polls it. Tests look at what the library itself says it
was assigned and what it received, and ask it to commit; they never reach around it. Each change of the assignment is
kept together with the generation and member id it came with, so that a test can hold "no partition had two owners in
one generation" over a whole run, crashes included.

Errors that a library reports while polling are collected in `errors`; a member goes on, as applications do.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

T = TypeVar("T")
TopicPartition = tuple[str, int]
POLL_MS = 50
ANSWER_S = 40.0


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """Options of a member that a test chooses; the others are the library's defaults, or short for quick tests."""

    address: str
    group: str
    topics: tuple[str, ...] = ()
    assignor: str = "range"  # range, roundrobin, sticky or cooperative-sticky, as far as the library has it
    name: str = "member"
    instance_id: str | None = None
    session_timeout_ms: int = 6000
    heartbeat_ms: int = 300
    rebalance_timeout_ms: int = 20_000
    fetch_wait_ms: int = 100
    metadata_ms: int = 5000  # how old the library's knowledge of topics may be
    auto_commit: bool = False
    protocol: str = "classic"  # or "consumer" (librdkafka)
    assigned: tuple[TopicPartition, ...] = ()  # assigned by hand: no topics, no membership
    extra: Mapping[str, Any] = field(default_factory=dict)  # settings in the library's own words


class Received(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: bytes
    at_ns: int  # monotonic clock, when the library handed it over


class Ownership(NamedTuple):
    """The partitions that a member was assigned by a rebalance, and its generation."""

    generation: int  # -1 where the library does not tell
    member_id: str
    partitions: frozenset[TopicPartition]
    at_s: float = 0.0  # wall clock, when the library told it
    received_before: int = 0  # number of records that the member had received until then


class Told(NamedTuple):
    """A step in the life of a member, at the moment when it happened in its own thread."""

    event: str  # joining, assigned, revoked or leaving
    at_ns: int  # monotonic clock
    partitions: frozenset[TopicPartition]


class StaleOffsetsError(Exception):
    """The offsets to commit are those of an earlier assignment."""


class ClientMember(ABC):
    """A consumer of some library, polled by its own thread from construction until `close`."""

    library: ClassVar[str]
    assignors: ClassVar[frozenset[str]]

    def __init__(self, options: MemberOptions) -> None:
        self.options = options
        self._received: list[Received] = []
        self.ownerships: list[Ownership] = []
        self.revoked: list[frozenset[TopicPartition]] = []  # what the library told to give up, in order
        self.told: list[Told] = []
        self.errors: list[BaseException] = []
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._commands: queue.Queue[tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self.is_open = False  # the library has made its consumer
        self._thread = threading.Thread(target=self._run, name=options.name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<{self.library} {self.options.name} {sorted(self._assignment)} errors={self.errors[-3:]}>"

    # -- for tests -----------------------------------------------------------------------------------------------

    def assignment(self) -> frozenset[TopicPartition]:
        """Return the partitions that the library reports as owned."""
        self._check_alive()
        return self._assignment

    @property
    def received(self) -> list[Received]:
        """Return the records that it has read, in order."""
        self._check_alive()
        return self._received

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise AssertionError(f"{self!r} died: {self._failure!r}") from self._failure

    def values(self) -> list[bytes]:
        return [each.value for each in self.received]

    def commit(self, offsets: Mapping[TopicPartition, int], *, ownerships: int | None = None) -> None:
        """Commit and wait for the answer.

        With `ownerships`, the number of assignments that the caller has seen, nothing is committed when there is one
        more: the offsets belong to an assignment that is over.

        Raises:
            StaleOffsetsError: the member was assigned partitions anew
            Exception: what the library raises
        """

        def commit_if_current() -> None:
            if ownerships is not None and len(self.ownerships) != ownerships:
                raise StaleOffsetsError(f"{self.options.name} has been assigned partitions anew")
            self._commit(offsets)

        self.do(commit_if_current)

    def committed(self, partition: TopicPartition) -> int | None:
        """The committed offset as the library reads it; None where there is none."""
        return self.do(lambda: self._committed(partition))

    def do(self, function: Callable[[], T]) -> T:
        """Run something in the thread that owns the consumer."""
        future: Future[T] = Future()
        self._commands.put((function, future))
        if not self._thread.is_alive():
            raise AssertionError(f"{self!r} is closed") from self._failure
        return future.result(timeout=ANSWER_S)

    def close(self) -> None:
        """Leave the group the way the library does, and end."""
        self._stopping.set()
        self._thread.join(timeout=ANSWER_S)
        assert not self._thread.is_alive(), f"{self!r} does not close"
        self._check_alive()

    # -- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._tell("joining")
            self._open()
            self.is_open = True
            while not self._stopping.is_set():
                self._run_commands()
                try:
                    self._poll()
                except Exception as error:
                    self.errors.append(error)
                self._assignment = self._assigned()
            self._tell("leaving")
            self._close()
        except BaseException as failure:
            self._failure = failure
        finally:
            self._assignment = frozenset()
            self._run_commands()

    def _run_commands(self) -> None:
        while True:
            try:
                function, future = self._commands.get_nowait()
            except queue.Empty:
                return
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

    def _tell(self, event: str, partitions: frozenset[TopicPartition] = frozenset()) -> None:
        self.told.append(Told(event, time.monotonic_ns(), partitions))

    def _was_given(self, partitions: Iterable[Any]) -> None:
        given = frozenset((each.topic, each.partition) for each in partitions)
        self._tell("assigned", given)
        self.ownerships.append(Ownership(*self._identity(), given, time.time(), len(self._received)))

    def _gave_up(self, partitions: frozenset[TopicPartition]) -> None:
        self._tell("revoked", partitions)
        self.revoked.append(partitions)
        self._assignment = self._assignment - partitions

    # -- what each library does its own way ----------------------------------------------------------------------

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _poll(self) -> None: ...

    @abstractmethod
    def _assigned(self) -> frozenset[TopicPartition]: ...

    @abstractmethod
    def _identity(self) -> tuple[int, str]: ...

    @abstractmethod
    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    @abstractmethod
    def _committed(self, partition: TopicPartition) -> int | None: ...

    @abstractmethod
    def _close(self) -> None: ...


def class_of_its_own(assignor: type) -> type:
    """aiokafka's sticky assignor keeps its memory in the class, as if a process had one consumer."""
    return type(assignor.__name__, (assignor,), {})


class AioKafkaMember(ClientMember):
    """aiokafka, on an event loop of its own that runs while it is polled."""

    library = "aiokafka"
    assignors = frozenset({"range", "roundrobin", "sticky"})

    def _open(self) -> None:
        from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
        from aiokafka import TopicPartition as LibraryPartition
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        options, member = self.options, self
        assignors = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
        }
        self._partition_type = LibraryPartition
        self._loop = asyncio.new_event_loop()
        self._consumer: Any = None

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_revoked(self, revoked: Any) -> None:
                member._gave_up(frozenset((each.topic, each.partition) for each in revoked))

            async def on_partitions_assigned(self, assigned: Any) -> None:
                member._was_given(assigned)

        async def start() -> None:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=options.address,
                group_id=options.group,
                group_instance_id=options.instance_id,
                client_id=options.name,
                enable_auto_commit=options.auto_commit,
                auto_offset_reset="earliest",
                partition_assignment_strategy=(class_of_its_own(assignors[options.assignor]),),
                session_timeout_ms=options.session_timeout_ms,
                rebalance_timeout_ms=options.rebalance_timeout_ms,
                heartbeat_interval_ms=options.heartbeat_ms,
                metadata_max_age_ms=options.metadata_ms,
                fetch_max_wait_ms=options.fetch_wait_ms,
                **options.extra,
            )
            if options.topics:
                consumer.subscribe(topics=list(options.topics), listener=Listener())
            else:
                consumer.assign([LibraryPartition(*each) for each in options.assigned])
            self._consumer = consumer
            await consumer.start()

        self._loop.run_until_complete(start())

    def _poll(self) -> None:
        batches = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=POLL_MS))
        now_ns = time.monotonic_ns()
        for messages in batches.values():
            for each in messages:
                self._received.append(Received(each.topic, each.partition, each.offset, each.value, now_ns))

    def _assigned(self) -> frozenset[TopicPartition]:
        return frozenset((each.topic, each.partition) for each in self._consumer.assignment())

    def _identity(self) -> tuple[int, str]:
        coordinator = self._consumer._coordinator
        return coordinator.generation, str(getattr(coordinator, "member_id", ""))

    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = {self._partition_type(*each): offset for each, offset in offsets.items()}
        self._loop.run_until_complete(self._consumer.commit(wanted))

    def _committed(self, partition: TopicPartition) -> int | None:
        found: int | None = self._loop.run_until_complete(self._consumer.committed(self._partition_type(*partition)))
        return found

    def _close(self) -> None:
        try:
            self._loop.run_until_complete(self._consumer.stop())
        except asyncio.CancelledError:  # aiokafka 0.14 ends so, having left the group, if a fetch waits for its retry
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(self._consumer._client.close())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


@cache
def make_all_versions_of_kafka_pythons_answers() -> None:
    """Make the classes of all response versions while there is one thread.

    kafka-python 3.0.12 makes the class of a response version at its first use and finds all others through a weak
    reference to the class that was made last. If two threads make the same class at once, the reference may point to
    the copy that has no other reference; after the next garbage collection no consumer of the process decodes this
    response.
    """
    import kafka  # noqa: F401 - all its answers are there then
    from kafka.protocol.api_header import ResponseClassRegistry

    for newest in list(ResponseClassRegistry._response_class_registry.values()):
        of_any_version = newest[None]
        for version in range(of_any_version.max_version + 1):
            of_any_version[version]


class KafkaPythonMember(ClientMember):
    """kafka-python 3."""

    library = "kafka-python"
    assignors = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})

    def __init__(self, options: MemberOptions) -> None:
        make_all_versions_of_kafka_pythons_answers()
        super().__init__(options)

    def _open(self) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer
        from kafka import TopicPartition as LibraryPartition
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
        from kafka.structs import OffsetAndMetadata

        options, member = self.options, self
        assignors = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            "sticky": StickyPartitionAssignor,
            "cooperative-sticky": CooperativeStickyAssignor,
        }
        self._partition_type = LibraryPartition
        self._offset_type = OffsetAndMetadata

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, revoked: Any) -> None:
                member._gave_up(frozenset((each.topic, each.partition) for each in revoked))

            def on_partitions_assigned(self, assigned: Any) -> None:
                member._forget_positions(assigned)
                member._was_given(assigned)

        self._consumer = KafkaConsumer(
            bootstrap_servers=options.address,
            group_id=options.group,
            group_instance_id=options.instance_id,
            client_id=options.name,
            enable_auto_commit=options.auto_commit,
            auto_offset_reset="earliest",
            partition_assignment_strategy=(assignors[options.assignor],),
            session_timeout_ms=options.session_timeout_ms,
            max_poll_interval_ms=options.rebalance_timeout_ms,
            heartbeat_interval_ms=options.heartbeat_ms,
            metadata_max_age_ms=options.metadata_ms,
            reconnect_backoff_max_ms=200,
            fetch_max_wait_ms=options.fetch_wait_ms,
            **options.extra,
        )
        if options.topics:
            self._consumer.subscribe(list(options.topics), listener=Listener())
        else:
            self._consumer.assign([LibraryPartition(*each) for each in options.assigned])

    def _forget_positions(self, assigned: Any) -> None:
        """Have the consumer begin at the committed offsets, as the eager protocol asks of it.

        Version 3.0.12 keeps the position of a partition that it had before the rebalance. If it missed a generation in
        which another member had the partition, it reads again what that member committed.
        """
        from kafka.consumer.subscription_state import TopicPartitionState

        if self.options.assignor != "cooperative-sticky":
            self._consumer._subscription.assignment.update({each: TopicPartitionState() for each in assigned})

    def _poll(self) -> None:
        # Version 3.0.12 forgets a join that news of topics caused, and is silent from then on, when a poll ends while
        # the join is under way. Saying again that it is needed makes the next poll wait for the same join.
        coordinator = self._consumer._coordinator
        if coordinator._join_task is not None:
            coordinator.request_rejoin()
        batches = self._consumer.poll(timeout_ms=POLL_MS)
        now_ns = time.monotonic_ns()
        for messages in batches.values():
            for each in messages:
                self._received.append(Received(each.topic, each.partition, each.offset, each.value, now_ns))

    def _assigned(self) -> frozenset[TopicPartition]:
        return frozenset((each.topic, each.partition) for each in self._consumer.assignment())

    def _identity(self) -> tuple[int, str]:
        generation = self._consumer._coordinator._generation
        return generation.generation_id, generation.member_id

    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = {self._partition_type(*each): self._offset_type(offset, "", -1) for each, offset in offsets.items()}
        self._consumer.commit(wanted)

    def _committed(self, partition: TopicPartition) -> int | None:
        found: int | None = self._consumer.committed(self._partition_type(*partition))
        return found

    def _close(self) -> None:
        self._consumer.close(autocommit=False)


def remote_assignor(assignor: str) -> str:
    """Return the assignor of the server that stands for one of a client."""
    return "range" if assignor == "range" else "uniform"


class ConfluentMember(ClientMember):
    """confluent-kafka, which is librdkafka."""

    library = "confluent-kafka"
    assignors = frozenset({"range", "roundrobin", "cooperative-sticky"})

    def _open(self) -> None:
        import confluent_kafka

        options = self.options
        self._partition_type = confluent_kafka.TopicPartition
        settings: dict[str, Any] = {
            "bootstrap.servers": options.address,
            "group.id": options.group,
            "client.id": options.name,
            "enable.auto.commit": options.auto_commit,
            "enable.auto.offset.store": options.auto_commit,
            "auto.offset.reset": "earliest",
            "max.poll.interval.ms": options.rebalance_timeout_ms,
            "topic.metadata.refresh.interval.ms": options.metadata_ms,
            "reconnect.backoff.max.ms": 200,
            "fetch.wait.max.ms": options.fetch_wait_ms,
            "error_cb": lambda error: None,
            "log_level": 2,  # its notes about a broker that went away are expected here
        }
        if options.protocol == "consumer":
            settings |= {"group.protocol": "consumer", "group.remote.assignor": remote_assignor(options.assignor)}
        else:
            settings["partition.assignment.strategy"] = options.assignor
            settings["session.timeout.ms"] = options.session_timeout_ms
            settings["heartbeat.interval.ms"] = options.heartbeat_ms
        settings |= options.extra
        if options.instance_id is not None:
            settings["group.instance.id"] = options.instance_id
        self._consumer = confluent_kafka.Consumer(settings)
        if options.topics:
            self._consumer.subscribe(
                list(options.topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
            )
        else:
            self._consumer.assign([confluent_kafka.TopicPartition(*each) for each in options.assigned])

    def _on_assign(self, consumer: Any, assigned: Any) -> None:
        self._was_given(assigned)

    def _on_revoke(self, consumer: Any, revoked: Any) -> None:
        self._gave_up(frozenset((each.topic, each.partition) for each in revoked))

    def _poll(self) -> None:
        # The first by itself: `consume` waits for all that it is asked for, or for the whole time.
        messages: list[Any] = self._consumer.consume(num_messages=1, timeout=POLL_MS / 1000)
        if messages:
            messages += self._consumer.consume(num_messages=500, timeout=0)
        now_ns = time.monotonic_ns()
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
            read = (message.topic(), message.partition(), message.offset(), message.value())
            self._received.append(Received(*read, now_ns))

    def _assigned(self) -> frozenset[TopicPartition]:
        return frozenset((each.topic, each.partition) for each in self._consumer.assignment())

    def _identity(self) -> tuple[int, str]:
        return -1, str(self._consumer.memberid())

    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = [self._partition_type(*each, offset) for each, offset in offsets.items()]
        for each in self._consumer.commit(offsets=wanted, asynchronous=False):
            if each.error is not None:
                raise RuntimeError(str(each.error))

    def _committed(self, partition: TopicPartition) -> int | None:
        (found,) = self._consumer.committed([self._partition_type(*partition)], timeout=20)
        if found.error is not None:
            raise RuntimeError(str(found.error))
        return int(found.offset) if found.offset >= 0 else None

    def _close(self) -> None:
        self._consumer.close()


LIBRARIES: dict[str, type[ClientMember]] = {
    each.library: each for each in (AioKafkaMember, KafkaPythonMember, ConfluentMember)
}


def check_one_owner_in_each_generation(*members: ClientMember) -> None:
    """Over all that these members were ever given: no partition went to two member ids in one generation."""
    owners: dict[tuple[int, TopicPartition], str] = {}
    for member in members:
        for held in member.ownerships:
            for partition in held.partitions if held.generation >= 0 else ():
                owner = owners.setdefault((held.generation, partition), held.member_id)
                assert owner == held.member_id, f"{partition} had {owner} and {held.member_id} in {held.generation}"
