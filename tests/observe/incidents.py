"""Twenty incidents of real clients, ten with a daemon of ours and ten with a real Kafka that is observed.

Each has a group and topics of its own, so several of them can be played at a time. A script plays one until the page of
its group is right, or until it has had time enough; the cause goes on until then.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from coordinator.core.events.model import Cause, IncidentKind
from coordinator.explain.verdict import Finding
from coordinator.observe import unknown
from tests.clients.conftest import Crew
from tests.clients.member_process import MemberProcess
from tests.clients.members import ClientMember, ConfluentMember
from tests.observe.incident_watch import Expected, Watch
from tests.observe.member import Member
from tests.support.eventually import eventually
from tests.support.questions import describe_group

SHORT_SESSION: Final = {"session_timeout_ms": 2500, "heartbeat_ms": 300}
BUSY_S: Final = 35.0  # a script ends it earlier
KAFKA_SETTINGS: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
}
OVERRIDES: Final = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")


class Where(Enum):
    """The coordinator of the group, and how its page knows of it."""

    OURS = "our daemon"
    CLASSIC = "Kafka, classic"
    CONSUMER = "Kafka, KIP-848"


@dataclass(frozen=True, slots=True)
class ScriptedIncident:
    """One row of the table."""

    title: str
    where: Where
    client: str  # the library of the culprit
    script: Callable[[Play], None]
    expected: Expected


class Play:
    """The crew of one incident, its watched page, and its members of the KIP-848 protocol."""

    def __init__(self, crew: Crew, watch: Watch) -> None:
        self.crew = crew
        self.watch = watch
        self._processes: dict[str, Member] = {}

    def start(self, client: str, topic: str, **settings: object) -> None:
        """Start a KIP-848 consumer as a process. Names of settings have underscores here."""
        self._processes[client] = Member(
            topic,
            {
                **consumer_settings(self.crew, client),
                **{key.replace("_", "."): value for key, value in settings.items()},
            },
        )

    def tell(self, client: str, line: str) -> None:
        self._processes[client].tell(line)

    def kill(self, client: str) -> None:
        self._processes.pop(client).kill()

    def close(self, *clients: str) -> None:
        for client in clients or tuple(self._processes):
            self._processes.pop(client).close()

    def two(self, topic: str, **settings: object) -> None:
        """Start two of them, one after the other."""
        self.start("web-1", topic, **settings)
        self.watch.until_settled(1)
        self.start("web-2", topic, **settings)
        self.watch.until_settled(2)

    @contextmanager
    def feeding(self, topic: str, partitions: int) -> Iterator[None]:
        """Produce to a topic all the time, so that members have something to commit."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.crew.daemon.address})
        is_over = threading.Event()

        def feed() -> None:
            while not is_over.wait(0.1):
                for partition in range(partitions):
                    producer.produce(topic, b"value", partition=partition)
                producer.poll(0)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            producer.flush(5)


def consumer_settings(crew: Crew, client: str) -> dict[str, object]:
    return {
        "bootstrap.servers": crew.daemon.address,
        "group.id": crew.group,
        "client.id": client,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 500,
        "topic.metadata.refresh.interval.ms": 1000,
    }


class SlowToRevoke(ConfluentMember):
    """A KIP-848 consumer whose callback for revoked partitions waits until it is told to end."""

    def _open(self) -> None:
        import confluent_kafka

        options = self.options
        self._partition_type = confluent_kafka.TopicPartition
        self.may_revoke = threading.Event()
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": options.address,
                "group.id": options.group,
                "client.id": options.name,
                "group.protocol": "consumer",
                "max.poll.interval.ms": options.rebalance_timeout_ms,
            }
        )
        self._consumer.subscribe(
            list(options.topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )

    def _on_revoke(self, consumer: Any, revoked: Any) -> None:
        self.may_revoke.wait(BUSY_S)
        super()._on_revoke(consumer, revoked)


@contextmanager
def busy(member: ClientMember) -> Iterator[None]:
    """Keep the thread of a member from polling, as a handler does that takes long."""
    is_over = threading.Event()
    handler = threading.Thread(target=lambda: member.do(lambda: is_over.wait(BUSY_S)), daemon=True)
    handler.start()
    try:
        yield
    finally:
        is_over.set()
        handler.join()


@contextmanager
def repeatedly(member: ClientMember, action: Callable[[], object]) -> Iterator[None]:
    """Have the thread of a member do something between its polls, again and again."""
    is_over = threading.Event()

    def drive() -> None:
        while not is_over.is_set():
            member.do(action)
            is_over.wait(1.0)

    driver = threading.Thread(target=drive, daemon=True)
    driver.start()
    try:
        yield
    finally:
        is_over.set()
        driver.join()


@contextmanager
def stopped(member: MemberProcess) -> Iterator[None]:
    """Stop a process, as a suspended machine does."""
    os.kill(member._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(member._process.pid, signal.SIGCONT)


# -- with a daemon of ours, and with classic groups of Kafka -------------------------------------------------------


def slow_joiner(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    slow = crew.join("confluent-kafka", "slow", rebalance_timeout_ms=60_000)
    crew.settles(slow)
    with busy(slow):
        crew.join("aiokafka", "fast")
        _note_begin(play)
        play.watch.until_told()


def _note_begin(play: Play) -> None:
    """Note when the coordinator itself shows the rebalance."""
    crew = play.crew
    eventually(lambda: describe_group(crew.daemon.port, crew.group).state == "PreparingRebalance", "it rebalances")
    play.watch.began_ms = int(time.time() * 1000)


def slow_among_others(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    steady = crew.join("aiokafka", "steady")
    slow = crew.join("confluent-kafka", "slow", rebalance_timeout_ms=60_000)
    crew.settles(steady, slow)
    with busy(slow):
        crew.join("aiokafka", "new")
        _note_begin(play)
        play.watch.until_told()


def poll_interval(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    fast = crew.join("aiokafka", "fast")
    slow = crew.join("confluent-kafka", "slow", rebalance_timeout_ms=6000)
    crew.settles(fast, slow)
    with repeatedly(slow, lambda: time.sleep(8)):
        play.watch.until_told()


def crash_loop(play: Play) -> None:
    crew = play.crew
    topic = crew.topic(4)
    commits = {"auto_commit": True, "extra": {"auto_commit_interval_ms": 500}}
    steady = crew.join("aiokafka", "steady", **SHORT_SESSION, **commits)
    with play.feeding(topic, 4):
        for _ in range(3):
            doomed = crew.join_as_process("aiokafka", "doomed", **SHORT_SESSION, **commits)
            crew.settles(steady, doomed)
            play.watch.until_settled(2, for_ms=1000)
            doomed.kill()
        play.watch.until_told()


def killed_once(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    steady = crew.join("aiokafka", "steady", **SHORT_SESSION)
    doomed = crew.join_as_process("kafka-python", "doomed", **SHORT_SESSION)
    crew.settles(steady, doomed)
    doomed.kill()
    play.watch.until_told()


def clean_leave(play: Play) -> None:
    crew = play.crew
    topic = crew.topic(4)
    commits = {"auto_commit": True, "extra": {"auto.commit.interval.ms": 500}}
    members = [crew.join("confluent-kafka", name, **commits) for name in ("stays", "leaves")]
    with play.feeding(topic, 4):
        crew.settles(*members)
        play.watch.until_settled(2, for_ms=7000)  # longer than its session, so only its commits tell that it lived
        crew.leave(members[1])
        play.watch.until_told()


def rolling_restart(play: Play) -> None:
    crew = play.crew
    crew.topic(6)
    members = [crew.join("confluent-kafka", f"web-{number}") for number in range(3)]
    crew.settles(*members, within_s=60)
    play.watch.until_settled(3, for_ms=1500)
    for number in range(3):
        crew.leave(members[number])
        members[number] = crew.join("confluent-kafka", f"web-{number}")
        crew.settles(*members, within_s=60)
    play.watch.until_told()


def shared_instance_id(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    one = crew.join_as_process("aiokafka", "host-a", instance_id="only-one")
    crew.settles(one)
    crew.join_as_process("aiokafka", "host-b", instance_id="only-one")
    play.watch.until_told()


def subscription_flapping(play: Play) -> None:
    crew = play.crew
    first, second = crew.topic(2, "first"), crew.topic(2, "second")
    steady = crew.join("aiokafka", "steady")
    flapping = crew.join("confluent-kafka", "flapping")
    crew.settles(steady, flapping)
    topics = [[first], [first, second]]

    def subscribe() -> None:
        flapping._consumer.subscribe(topics[0])  # type: ignore[attr-defined]
        topics.reverse()

    with repeatedly(flapping, subscribe):
        play.watch.until_told()


def disjoint_assignors(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    one = crew.join("confluent-kafka", "by-range", assignor="range")
    crew.settles(one)
    crew.join_as_process("kafka-python", "by-turns", assignor="roundrobin")
    play.watch.until_told()


def slow_leader(play: Play) -> None:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    assign = RangePartitionAssignor.assign.__func__
    is_over = threading.Event()

    def slow_assign(cls: Any, cluster: Any, members: Any) -> Any:
        if any(member_id.startswith("leader-") for member_id in members):  # not the groups of other incidents
            is_over.wait(BUSY_S)
        return assign(cls, cluster, members)

    RangePartitionAssignor.assign = classmethod(slow_assign)
    try:
        play.crew.topic(4)
        play.crew.join("aiokafka", "leader-1", session_timeout_ms=60_000, rebalance_timeout_ms=60_000)
        play.watch.until_told()
    finally:
        is_over.set()
        RangePartitionAssignor.assign = classmethod(assign)


def stopped_process(play: Play) -> None:
    crew = play.crew
    crew.topic(4)
    steady = crew.join("aiokafka", "steady")
    frozen = crew.join_as_process("aiokafka", "frozen", session_timeout_ms=12_000)
    crew.settles(steady, frozen)
    with stopped(frozen):
        play.watch.until_told()


def more_members_than_partitions(play: Play) -> None:
    crew = play.crew
    crew.topic(1)
    one = crew.join("confluent-kafka", "one")
    crew.settles(one)
    crew.join_as_process("kafka-python", "two")
    play.watch.until_told()


# -- with KIP-848 groups of Kafka ----------------------------------------------------------------------------------


def slow_revocation(play: Play) -> None:
    crew = play.crew
    topic = crew.topic(4)
    slow = SlowToRevoke(crew._options("slow", {"rebalance_timeout_ms": 60_000}))
    try:
        play.watch.until_settled(1)
        play.start("fast", topic)
        play.watch.until_told()
    finally:
        slow.may_revoke.set()
        slow.close()


def killed_consumer(play: Play) -> None:
    topic = play.crew.topic(4)
    with play.feeding(topic, 4):
        play.two(topic)
        play.watch.until_settled(2, for_ms=6000)  # longer than its session, so that its commits are its last trace
        play.kill("web-2")
        play.watch.until_told()


def subscription_change(play: Play) -> None:
    first, second = play.crew.topic(4, "first"), play.crew.topic(2, "second")
    play.two(first)
    play.tell("web-2", f"subscribe {first},{second}")
    play.watch.until_told()


def more_partitions(play: Play) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

    topic = play.crew.topic(2)
    play.two(topic)
    admin = AdminClient({"bootstrap.servers": play.crew.daemon.address})
    for done in admin.create_partitions([NewPartitions(topic, 4)]).values():
        done.result(30)
    play.watch.until_told()


def static_restart(play: Play) -> None:
    topic = play.crew.topic(4)
    play.start("web-1", topic, group_instance_id="one")
    play.watch.until_settled(1)
    play.start("web-2", topic, group_instance_id="two")
    play.watch.until_settled(2)
    play.close("web-2")
    play.start("web-2", topic, group_instance_id="two")
    play.watch.until_told()


SLOW_NAMED: Final = Expected(("slow",), (Finding.SLOW_REBALANCE,), unknown=unknown.NO_BEGIN)
INCIDENTS: Final = (
    ScriptedIncident(
        "a member does not poll, and all wait for it",
        Where.OURS,
        "confluent-kafka",
        slow_joiner,
        Expected(("slow",), (Finding.SLOW_JOINER,)),
    ),
    ScriptedIncident(
        "a member exceeds its poll interval again and again",
        Where.OURS,
        "confluent-kafka",
        poll_interval,
        Expected(("slow",), (Finding.POLL_INTERVAL,)),
    ),
    ScriptedIncident(
        "a process is killed whenever it has partitions",
        Where.OURS,
        "aiokafka",
        crash_loop,
        Expected(("doomed",), (Finding.CRASH_LOOP,)),
    ),
    ScriptedIncident(
        "a process is killed once",
        Where.OURS,
        "kafka-python",
        killed_once,
        Expected(("doomed",), (Finding.MEMBER_LOST,), (Cause.SESSION_EXPIRED,)),
    ),
    ScriptedIncident(
        "members are replaced one after another",
        Where.OURS,
        "confluent-kafka",
        rolling_restart,
        Expected(("web-0", "web-1", "web-2"), (Finding.ROLLING_DEPLOY,), says="replaced so far: 3 clients"),
    ),
    ScriptedIncident(
        "two processes have one group.instance.id",
        Where.OURS,
        "aiokafka",
        shared_instance_id,
        Expected(("only-one",), (Finding.SHARED_INSTANCE_ID,)),
    ),
    ScriptedIncident(
        "a member changes its subscription again and again",
        Where.OURS,
        "confluent-kafka",
        subscription_flapping,
        Expected(("flapping",), (Finding.SUBSCRIPTION_FLAPPING,), (Cause.PROTOCOLS_CHANGED,)),
    ),
    ScriptedIncident(
        "assignors have nothing in common",
        Where.OURS,
        "kafka-python",
        disjoint_assignors,
        Expected(("by-turns",), (Finding.ASSIGNORS_DISJOINT,), (IncidentKind.JOIN_REFUSED,)),
    ),
    ScriptedIncident(
        "the leader takes long to assign",
        Where.OURS,
        "aiokafka",
        slow_leader,
        Expected(("leader-1",), (Finding.SLOW_LEADER,)),
    ),
    ScriptedIncident(
        "a process is stopped",
        Where.OURS,
        "aiokafka",
        stopped_process,
        Expected(("frozen",), (Finding.SILENT_MEMBER,)),
    ),
    ScriptedIncident(
        "the only member does not poll, and a new one waits for it",
        Where.CLASSIC,
        "confluent-kafka",
        slow_joiner,
        SLOW_NAMED,
    ),
    ScriptedIncident(
        "one of several members does not poll, and all wait for it",
        Where.CLASSIC,
        "confluent-kafka",
        slow_among_others,
        Expected((), (Finding.SLOW_REBALANCE,), says="which ones have not is not known", unknown=unknown.NO_BEGIN),
    ),
    ScriptedIncident(
        "a process is killed whenever it has partitions",
        Where.CLASSIC,
        "aiokafka",
        crash_loop,
        Expected(("doomed",), (Finding.COMES_AND_GOES,), unknown=unknown.LEFT_OR_EXPIRED),
    ),
    ScriptedIncident(
        "a member leaves in good order",
        Where.CLASSIC,
        "confluent-kafka",
        clean_leave,
        Expected(("leaves",), (Finding.MEMBER_LOST,), (Cause.MEMBER_LEFT,)),
    ),
    ScriptedIncident(
        "there are more members than partitions",
        Where.CLASSIC,
        "kafka-python",
        more_members_than_partitions,
        Expected(("one", "two"), (Finding.IDLE_MEMBERS,)),
    ),
    ScriptedIncident(
        "a callback for revoked partitions takes long",
        Where.CONSUMER,
        "confluent-kafka",
        slow_revocation,
        Expected(("slow",), (Finding.SLOW_REVOCATION,), unknown=unknown.SILENCE),
    ),
    ScriptedIncident(
        "a process is killed once",
        Where.CONSUMER,
        "confluent-kafka",
        killed_consumer,
        Expected(
            ("web-2",),
            (Finding.MEMBER_LOST,),
            (Cause.MEMBER_GONE,),
            says="left or lost its session",
            unknown=unknown.LEFT_OR_EXPIRED,
        ),
    ),
    ScriptedIncident(
        "a member subscribes to another topic",
        Where.CONSUMER,
        "confluent-kafka",
        subscription_change,
        Expected(("web-2",), causes=(Cause.PROTOCOLS_CHANGED,)),
    ),
    ScriptedIncident(
        "the topic gets more partitions",
        Where.CONSUMER,
        "confluent-kafka",
        more_partitions,
        Expected((), causes=(Cause.TOPICS_CHANGED,)),
    ),
    ScriptedIncident(
        "a static member is started again",
        Where.CONSUMER,
        "confluent-kafka",
        static_restart,
        Expected(("two",), causes=(IncidentKind.STATIC_MEMBER_REPLACED,)),
    ),
)
