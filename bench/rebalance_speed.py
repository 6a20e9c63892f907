"""`make bench-rebalances`: real clients, and how soon a group has its partitions again after members come and go.

Servers run side by side and every client talks to all of them in the same minutes: ours with parked heartbeats off,
ours with its defaults, and Apache Kafka. A repetition begins 1 to 7 s after the one before it, so that it meets
heartbeats at any phase. Join: from the second member's first JoinGroup until both members say that they hold their
partitions. Leave: from its LeaveGroup until the other says that it holds all. Crash: SIGKILL, from the end of the
session, which is 6 s after the member's last request. Delays: ten records a second, from before the produce request to
the member's poll; commits are timed in the client, one a second, in a phase of their own. `--soak` is another program:
50 members that commit by themselves for ten minutes. `make bench-rebalances-consumer` measures members of the consumer
protocol (KIP-848) instead: joins and leaves, and the heartbeats of two members that stay.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.findings import Findings, Verdict, parser
from bench.measure import BenchError, all_cores
from bench.probe import free_ports, scrape
from bench.report import markdown_table
from bench.requests_seen import RequestsSeen, seen
from bench.servers import Running, coordinator
from bench.timed_members import Producer, TimedMember, log_of, settled_ns
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.clients.matrix_consumer_programs import CONSUMER_PROGRAMS
from tests.clients.matrix_members import Options, Program
from tests.clients.matrix_programs import PROGRAMS, BrokenError, Missing, connect, java_name, kafka_version, streams
from tests.conformance.kafka import release
from tests.support.wire import call

PARK: Final = "group.heartbeat.park.ms"
PARK_CLIENT_IDS: Final = "group.heartbeat.park.client.ids"
DELAY: Final = "group.initial.rebalance.delay.ms"
OFF, ON, KAFKA = "ours, off", "ours, on", "Apache Kafka"
SERVERS: Final = {"off": OFF, "on": ON, "kafka": KAFKA}
PARTITIONS: Final = 4
HEARTBEAT_MS: Final = 3000
METADATA_MS: Final = 300_000  # the default of all libraries; a request for metadata would release a parked heartbeat
CRASH_SESSION_MS: Final = 6000
SHORTEST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 7.0
USUAL_INTERVAL_S: Final = 30.0  # after a rebalance the interval that librdkafka is told has grown to the usual one
SETTLED_S: Final = 4.0  # after a rebalance every library has sent a heartbeat: the interval, and a tick of librdkafka's
SETTLED: Final = ", settled"
SOAK_EACH: Final = 10
SOAK_S: Final = 600
CONNECTIONS: Final = "kafka_server_connection_creation_total"
SOAK_METRICS: Final = ("_rebalance_total", "_session_expired_total")


@dataclass(frozen=True, slots=True)
class Client:
    """A row of the tables: a program of the matrix with the session and fetch wait that its library has by default."""

    program: str
    assignor: str = "range"
    session_ms: int = 45_000
    fetch_ms: int = 500
    parks: bool = True  # ours may hold its heartbeats
    static: bool = False
    reads: bool = True
    consumer: str = ""  # what the library adds to the client id
    commits: bool = False  # by itself, as all libraries do by default
    is_classic: bool = True
    target_ms: int = 50  # for the median of joins and leaves


OTHERS: Final = {"streams": streams, "connect": connect}
JAVA: Final = java_name(kafka_version())
CLASSIC: Final = {
    "java": Client(JAVA),
    "java-cooperative": Client(JAVA, "cooperative-sticky"),
    "librdkafka": Client("confluent-kafka"),
    "kafka-python": Client("kafka-python"),
    "franz-go": Client("franz-go", fetch_ms=5000),
    "aiokafka": Client("aiokafka", session_ms=10_000),
    "sarama": Client("sarama", session_ms=10_000, parks=False),
    "kafkajs": Client("kafkajs", session_ms=30_000, fetch_ms=5000, parks=False),
    "kafka-go": Client("kafka-go", session_ms=30_000, fetch_ms=10_000, parks=False),
    "java-static": Client(JAVA, static=True),
    "librdkafka-static": Client("confluent-kafka", static=True),
    "streams": Client("streams", consumer="-StreamThread-1-consumer"),
    "connect": Client("connect", session_ms=10_000, reads=False),
    "librdkafka-cooperative": Client("confluent-kafka", "cooperative-sticky"),
    "kafka-python-cooperative": Client("kafka-python", "cooperative-sticky"),
    "franz-go-cooperative": Client("franz-go", "cooperative-sticky", fetch_ms=5000),
}
CONSUMER: Final = {
    f"{name}-consumer": Client(f"{program}-consumer", commits=True, is_classic=False, fetch_ms=fetch_ms, target_ms=300)
    for name, program, fetch_ms in (
        ("java", JAVA, 500),
        ("franz-go", "franz-go", 5000),
        ("librdkafka", "confluent-kafka", 500),
    )
}
CLIENTS: Final = CLASSIC | CONSUMER
QUICK: Final = ("librdkafka", "kafka-python")
SOAKED: Final = ("java", "librdkafka", "kafka-python", "franz-go", "aiokafka")


@dataclass(slots=True)
class Server:
    """A server that runs, with what was measured on it: client -> what -> samples."""

    name: str
    running: Running
    create_topic: Callable[[str, int], None]
    http_port: int = 0
    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)


@dataclass(slots=True)
class Stage:
    """One client on one server: its members, their topic and group."""

    server: Server
    name: str
    client: Client
    program: Program
    log: TextIO
    requests: RequestsSeen | None
    random: random.Random
    members: list[TimedMember] = field(default_factory=list)
    topic: str = ""

    def begin(self, what: str, partitions: int = PARTITIONS) -> None:
        """Create a topic of its own, whose name is also the group's."""
        self.topic = f"{self.name}-{what}"
        self.server.create_topic(self.topic, partitions)

    def start(
        self, role: str, *, session_ms: int = 0, heartbeat_ms: int = HEARTBEAT_MS, auto_commit: bool = False
    ) -> TimedMember:
        name = f"{self.name}-{role}"
        options = Options(
            bootstrap=f"127.0.0.1:{self.server.running.port}",
            group=self.topic,
            topic=self.topic,
            name=name,
            assignor=self.client.assignor,
            instance=name if self.client.static else None,
            session_ms=session_ms or self.client.session_ms,
            heartbeat_ms=heartbeat_ms,
            fetch_ms=self.client.fetch_ms,
            metadata_ms=METADATA_MS,
            auto_commit="true" if auto_commit or self.client.commits else "false",
        )
        self.members.append(TimedMember(self.program, options, self.log))
        return self.members[-1]

    def end(self, *members: TimedMember) -> None:
        for member in members or tuple(self.members):
            self.members.remove(member)
            member.kill()

    def pauses(self, count: int, longest_s: float) -> list[float]:
        """Return waits at random, one in each of `count` equal parts of the range, in random order.

        A member has no heartbeat under way in the first interval after a rebalance; with waits drawn one by one, a few
        repetitions would meet that interval too often or never.
        """
        width = (longest_s - SHORTEST_PAUSE_S) / count
        drawn = [SHORTEST_PAUSE_S + width * (number + self.random.random()) for number in range(count)]
        self.random.shuffle(drawn)
        return drawn

    def sample(self, what: str, ms: float) -> None:
        self.server.samples.setdefault(self.name, {}).setdefault(what, []).append(round(ms, 3))

    def request_ns(self, member: TimedMember, key: ApiKey, after_ns: int) -> int:
        """Return when the first such request of a member came; where nothing looks, the given time."""
        if self.requests is None:
            return after_ns
        if not self.client.is_classic:
            key = ApiKey.CONSUMER_GROUP_HEARTBEAT
        name = member.options.name + self.client.consumer
        found = self.requests.first(self.server.running.port, name, key, after_ns)
        if found is None:
            raise BenchError(f"no {key.name} of {member!r} was seen")
        return found


# -- what is measured ------------------------------------------------------------------------------------------------


def join(stage: Stage, a: TimedMember, b: TimedMember) -> float:
    """Measure one join, in ms."""
    asked_ns = time.monotonic_ns()
    b.ask("join")
    joining_ns = b.says("joining", asked_ns)
    done_ns = settled_ns(PARTITIONS, a, b)
    begun_ns = stage.request_ns(b, ApiKey.JOIN_GROUP, joining_ns)
    return (done_ns - begun_ns) / 1e6


def leave(stage: Stage, a: TimedMember, b: TimedMember) -> float:
    """Measure one leave, in ms. A static member does not say that it leaves; an operator's LeaveGroup removes it."""
    asked_ns = time.monotonic_ns()
    b.ask("leave")
    leaving_ns = b.says("leaving", asked_ns)
    if stage.client.static:
        b.says("left", asked_ns)
        begun_ns = time.monotonic_ns()
        removed = MemberIdentity(member_id="", group_instance_id=b.options.instance)
        request = LeaveGroupRequest(group_id=stage.topic, members=[removed])
        answer = call(stage.server.running.port, request, 4)
        if answer.error_code or answer.members[0].error_code:
            raise BenchError(f"a static member could not be removed: {answer}")
    done_ns = settled_ns(PARTITIONS, a)
    if not stage.client.static:
        begun_ns = stage.request_ns(b, ApiKey.LEAVE_GROUP, leaving_ns)
        b.says("left", asked_ns)
    return (done_ns - begun_ns) / 1e6


def reassignment(stage: Stage, args: argparse.Namespace) -> None:
    """One member stays, one comes and goes in a process that is warm: its first time is not counted."""
    stage.begin("pair")
    a = stage.start("a")
    settled_ns(PARTITIONS, a)
    b = stage.start("b")
    settled_ns(PARTITIONS, a, b)
    time.sleep(SHORTEST_PAUSE_S)
    leave(stage, a, b)
    waits = [stage.pauses(args.repetitions, args.longest_pause) for _ in range(2)]
    for pauses in zip(*waits, strict=True):
        for step, wait_s in zip((join, leave), pauses, strict=True):
            time.sleep(wait_s)
            ms = step(stage, a, b)
            stage.sample(step.__name__, ms)
            stage.sample(f"s before a {step.__name__}", wait_s)
            if wait_s >= SETTLED_S:
                stage.sample(step.__name__ + SETTLED, ms)
    stage.end()


def delays(stage: Stage, args: argparse.Namespace) -> None:
    """Two members that stay: records alone, then records and a commit of both every second."""
    stage.begin("steady")
    a, b = stage.start("a"), stage.start("b")
    settled_ns(PARTITIONS, a, b)
    warm = Producer(stage.server.running.port, stage.topic, PARTITIONS)
    warm.run(3.0)
    settled_ns(PARTITIONS, a, b)
    changes = a.assignments + b.assignments
    for what, commits in (("record", False), ("record beside commits", True)):
        producer = Producer(stage.server.running.port, stage.topic, PARTITIONS)
        ended = threading.Event()
        committing = threading.Thread(target=commit_every_second, args=(ended, a, b), daemon=True)
        if commits:
            committing.start()
        try:
            producer.run(args.seconds)
        finally:
            ended.set()
        if commits:
            committing.join()
        producer.all_are_read(a, b)
        for each in producer.delays_ms(a, b):
            stage.sample(what, each)
    wanted = len(a.commits_ns) + len(b.commits_ns)
    for took_ns in (*a.commits_ns, *b.commits_ns):
        stage.sample("commit", took_ns / 1e6)
    stage.sample("commits", wanted)
    stage.sample("assignments beyond the first", a.assignments + b.assignments - changes)
    stage.sample("errors", len(a.errors) + len(b.errors))
    stage.end()


def commit_every_second(ended: threading.Event, *members: TimedMember) -> None:
    while not ended.wait(1.0):
        for member in members:
            member.ask("commit")


def crash(stage: Stage, args: argparse.Namespace) -> None:
    """One member stays, another is killed, again and again; both have a session of 6 s.

    Both send their first heartbeat one interval after the rebalance. The victim has an interval of its own, so that its
    session ends at any phase of the survivor's heartbeats.
    """
    stage.begin("crash")
    a = stage.start("a", session_ms=CRASH_SESSION_MS)
    settled_ns(PARTITIONS, a)
    for _ in range(crashes(args)):
        heartbeat_ms = round(stage.random.uniform(1000, HEARTBEAT_MS))
        b = stage.start("b", session_ms=CRASH_SESSION_MS, heartbeat_ms=heartbeat_ms)
        settled_ns(PARTITIONS, a, b)
        time.sleep(stage.random.uniform(3.2, 6.2))
        killed_ns = time.monotonic_ns()
        stage.end(b)
        done_ns = settled_ns(PARTITIONS, a)
        stage.sample("crash, from the kill", (done_ns - killed_ns) / 1e6)
        if stage.requests is not None:
            name = b.options.name + stage.client.consumer
            last_ns = stage.requests.last(stage.server.running.port, name, killed_ns)
            if last_ns is None:
                raise BenchError(f"no request of {b!r} was seen")
            stage.sample("crash", (done_ns - last_ns) / 1e6 - CRASH_SESSION_MS)
    stage.end()


def heartbeats(stage: Stage, args: argparse.Namespace) -> None:
    """Count the heartbeats of two members that stay."""
    stage.begin("stable")
    a, b = stage.start("a"), stage.start("b")
    settled_ns(PARTITIONS, a, b)
    time.sleep(SETTLED_S if args.quick else USUAL_INTERVAL_S)
    from_ns = time.monotonic_ns()
    time.sleep(args.seconds)
    to_ns = time.monotonic_ns()
    key = ApiKey.HEARTBEAT if stage.client.is_classic else ApiKey.CONSUMER_GROUP_HEARTBEAT
    for member in (a, b) if stage.requests is not None else ():
        count = stage.requests.count(stage.server.running.port, member.options.name, key, from_ns, to_ns)
        stage.sample(HEARTBEATS, count * 60 / args.seconds)
    stage.end()


HEARTBEATS: Final = "heartbeats a minute"
PARTS: Final = {"reassignment": reassignment, "delays": delays, "crash": crash, "heartbeats": heartbeats}
DEFAULT_PARTS: Final = ("reassignment", "delays", "crash")


def one_client(findings: Findings, args: argparse.Namespace, servers: list[Server], name: str, logs: Path) -> None:
    """Measure all parts of one client, each on all servers at the same time."""
    program = find_program(CLIENTS[name].program)

    def work(server: Server, part: str) -> None:
        with log_of(logs, f"{name}-{server.name}") as log:
            seeded = random.Random(f"{args.seed}-{name}-{part}")  # the same waits on every server
            stage = Stage(server, name, CLIENTS[name], program, log, args.requests, seeded)
            try:
                if findings.attempt(f"{server.name}: {name}, {part}", lambda: PARTS[part](stage, args)):
                    findings.progress(f"{server.name}: {name}: {summary(server.samples[name], part)}")
            finally:
                stage.end()

    for part in args.parts:
        if part == "delays" and not CLIENTS[name].reads:
            continue
        threads = [threading.Thread(target=work, args=(server, part), daemon=True) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def summary(samples: dict[str, list[float]], part: str) -> str:
    shown = {
        "reassignment": ("join", "leave"),
        "delays": ("record", "commit"),
        "crash": ("crash", CRASHED),
        "heartbeats": (HEARTBEATS,),
    }[part]
    return ", ".join(f"{what} {median_and_most(samples.get(what, ()))}" for what in shown)


CRASHED: Final = "crash, from the kill"


# -- 50 members for ten minutes ---------------------------------------------------------------------------------------


def soak(findings: Findings, args: argparse.Namespace, server: Server, logs: Path) -> None:
    """Groups of ten members that commit by themselves and do nothing else for a long time."""
    with ExitStack() as stack:
        stages, producers = [], []
        for name in args.soaked:
            log = stack.enter_context(log_of(logs, f"{name}-soak"))
            stage = Stage(server, name, CLIENTS[name], find_program(CLIENTS[name].program), log, None, random.Random(1))
            stack.callback(stage.end)
            stage.begin("soak", 2 * SOAK_EACH)
            for number in range(SOAK_EACH):
                stage.start(f"soak-{number}", auto_commit=True)
            settled_ns(2 * SOAK_EACH, *stage.members, within_s=180)
            findings.progress(f"{server.name}: {SOAK_EACH} members of {name} hold their partitions")
            stages.append(stage)
            producers.append(Producer(server.running.port, stage.topic, 2 * SOAK_EACH))
        time.sleep(10)
        members = [member for stage in stages for member in stage.members]
        before, changes = scrape(server.http_port), [len(member.changes) for member in members]
        errors = [len(member.errors) for member in members]
        threads = [threading.Thread(target=each.run, args=(args.soak_seconds,), daemon=True) for each in producers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = scrape(server.http_port)
        committed = all(producer.is_committed(stage.topic) for stage, producer in zip(stages, producers, strict=True))
        grown = {
            name: after[name] - before.get(name, 0)
            for name in after
            if name.partition("{")[0].endswith(SOAK_METRICS) and after[name] != before.get(name, 0)
        }
        read = all(producer.all_are_read(*stage.members) for stage, producer in zip(stages, producers, strict=True))
        found = {
            "members": len(members),
            "seconds": args.soak_seconds,
            "grown": grown,
            "connections": after[CONNECTIONS] - before[CONNECTIONS] - len(producers),
            "changed": sum(len(m.changes) != count for m, count in zip(members, changes, strict=True)),
            "errors": [error for m, count in zip(members, errors, strict=True) for error in m.errors[count:]],
            "ended": sum(not member.is_running() for member in members),
            "all read": read,
            "all committed": committed,
            "records": sum(len(each.sent_ns) for each in producers),
        }
        for stage, producer in zip(stages, producers, strict=True):
            server.samples.setdefault(stage.name, {})["soak record"] = producer.delays_ms(*stage.members)
    findings.raw[f"soak, {server.name}"] = found
    rebalances = sum(grown[name] for name in grown if "rebalance_total" in name)
    expired = sum(grown[name] for name in grown if "session_expired" in name)
    findings.lines += [
        "",
        f"**{found['members']} members for {args.soak_seconds:g} s, automatic commits ({server.name})**",
        "",
        f"{', '.join(args.soaked)}, {SOAK_EACH} of each in a group: {rebalances:g} rebalances, {expired:g} expired "
        f"sessions, {found['changed']} members with another assignment, {len(found['errors'])} errors told by clients, "
        f"{found['ended']} ended; {found['records']:,} records, {'all' if read else 'NOT ALL'} read, "
        f"{'all' if committed else 'NOT ALL'} committed; {found['connections']:g} connections opened meanwhile.",
    ]
    told = len(found["errors"]) + found["ended"]
    for what, count in (("extra rebalances", rebalances), ("expired members", expired), ("errors told", told)):
        findings.verdicts.append(Verdict(f"{what} among {found['members']} stable members", 0, "in all", count))


# -- servers and programs --------------------------------------------------------------------------------------------


def find_program(name: str) -> Program:
    try:
        return (PROGRAMS | OTHERS | CONSUMER_PROGRAMS)[name]()
    except (Missing, BrokenError) as reason:
        raise BenchError(str(reason)) from None


def known_settings(python: str) -> set[str]:
    """Return the settings that this build of ours knows."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [python, "-m", "coordinator", "config", "--json"], capture_output=True, text=True, timeout=60, cwd=root
    )
    if done.returncode != 0:
        raise BenchError(f"ours does not list its settings: {done.stderr[-300:]}")
    return {each["name"] for each in json.loads(done.stdout)}


def overrides(key: str, known: set[str], park_ms: int | None) -> list[str]:
    """Return the settings of ours with parked heartbeats off or on."""
    chosen = {DELAY: "0"}
    if key == "off" and PARK in known:
        chosen[PARK] = "0"
    if key == "on":
        if PARK not in known:
            raise BenchError(f"this build has no setting {PARK}")
        chosen[PARK_CLIENT_IDS] = "aiokafka-*"
        if park_ms is not None:
            chosen[PARK] = str(park_ms)
    return [f"{name}={value}" for name, value in chosen.items()]


@contextmanager
def server_of(key: str, args: argparse.Namespace, directory: Path) -> Iterator[Server]:
    if key == "kafka":
        broker = peers_at_hand.prepared(directory, {DELAY: "0"})
        with peers_at_hand.run_kafka(broker, all_cores()) as running:
            yield Server(KAFKA, running, broker.create_topic)
        return
    (http_port,) = free_ports(1)
    chosen = overrides(key, known_settings(args.python), args.park_ms)
    with coordinator(directory, all_cores(), python=args.python, http_port=http_port, overrides=chosen) as running:

        def create_topic(name: str, partitions: int) -> None:
            topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            answer = call(running.port, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
            if answer.topics[0].error_code:
                raise BenchError(f"{name} was not created: {answer}")

        yield Server(SERVERS[key], running, create_topic, http_port)


# -- the report ------------------------------------------------------------------------------------------------------


def median_and_most(samples: Sequence[float]) -> str:
    return f"{statistics.median(samples):,.0f}/{max(samples):,.0f}" if samples else "-"


def percentiles(samples: Sequence[float]) -> str:
    if not samples:
        return "-"
    ordered = sorted(samples)
    return " / ".join(f"{ordered[min(len(ordered) - 1, int(len(ordered) * share))]:,.1f}" for share in (0.5, 0.99, 1.0))


def about(findings: Findings, args: argparse.Namespace) -> None:
    """Say which releases these were, and how often what was done."""
    versions = {name: find_program(CLIENTS[name].program).version for name in args.clients}
    if "kafka" in args.servers:
        versions[KAFKA] = f"{KAFKA} {release()}"
    findings.raw["versions"] = versions
    findings.raw["settings"] = {
        name: getattr(args, name)
        for name in ("repetitions", "seconds", "longest_pause", "soak_seconds", "park_ms", "seed")
    }
    if args.consumer:
        findings.lines += [
            "",
            f"{args.repetitions} joins and leaves, {SHORTEST_PAUSE_S:g} to {args.longest_pause:g} s apart; heartbeats "
            f"were counted for {args.seconds:g} s. Initial rebalance delay 0, else the defaults of each server and "
            f"library, with automatic commits. {', '.join(dict.fromkeys(versions.values()))}.",
        ]
    elif args.parts:
        findings.lines += [
            "",
            f"{args.repetitions} joins and leaves, {SHORTEST_PAUSE_S:g} to {args.longest_pause:g} s apart; "
            f"{crashes(args)} crashes; two times {args.seconds:g} s of ten records a second. Heartbeat interval "
            f"{HEARTBEAT_MS / 1000:g} s, initial rebalance delay 0, else the defaults of each library. "
            f"{', '.join(dict.fromkeys(versions.values()))}.",
        ]


def crashes(args: argparse.Namespace) -> int:
    return max(2, int(args.repetitions) // 2)


def tables(findings: Findings, servers: list[Server], names: Sequence[str]) -> None:
    def table(heading: str, columns: Sequence[tuple[str, str]], show: Callable[[Sequence[float]], str]) -> None:
        headings = ["client", *(f"{label}: {server.name}" for label, _ in columns for server in servers)]
        rows = [
            [name, *(show(server.samples.get(name, {}).get(what, ())) for _, what in columns for server in servers)]
            for name in names
        ]
        if any(cell != "-" for row in rows for cell in row[1:]):
            findings.table(heading, markdown_table(headings, rows))

    steps = [
        (what, what) for what in ("join", "leave", "crash") if any(what in servers[0].samples.get(n, {}) for n in names)
    ]
    table("Reassignment, median/maximum in ms", steps, median_and_most)
    steps = [(what, what + SETTLED) for what in ("join", "leave")]
    table(f"Those of them that began {SETTLED_S:g} s or more after the rebalance before", steps, median_and_most)
    table("From the kill, session of 6 s included, median/maximum in ms", [("crash", CRASHED)], median_and_most)
    table("Delay of records, p50 / p99 / maximum in ms", [("record", "record")], percentiles)
    table("Heartbeats a minute of a member that stays, median/maximum", [(HEARTBEATS, HEARTBEATS)], median_and_most)
    table("Delay of commits, p50 / p99 / maximum in ms", [("commit", "commit")], percentiles)


def verdicts(findings: Findings, servers: dict[str, Server], names: Sequence[str]) -> None:
    """Hold ours with its defaults to the targets: fast where it parks, unchanged where it does not."""
    on, off = servers.get(ON), servers.get(OFF)
    if on is None:
        return
    for name in names:
        found = on.samples.get(name, {})
        if CLIENTS[name].parks:
            for what in ("join", "leave"):
                if samples := found.get(what):
                    median = statistics.median(samples)
                    target_ms = CLIENTS[name].target_ms
                    findings.verdicts.append(Verdict(f"{name}: median of {what}", target_ms, "ms", median))
        elif off is not None:
            for what in ("record", "commit"):
                mine, theirs = found.get(what), off.samples.get(name, {}).get(what)
                if mine and theirs:
                    most = 1.5 * statistics.median(theirs) + 2.0  # a wide bound: the noise of a shared machine
                    findings.verdicts.append(
                        Verdict(f"{name}: median delay of a {what}, as without", most, "ms", statistics.median(mine))
                    )


def words(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def arguments() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument(
        "--clients", type=words, help=f"of {','.join(CLIENTS)} (default: the classic ones but the last three)"
    )
    made.add_argument("--consumer", action="store_true", help="members of the consumer protocol (KIP-848) instead")
    made.add_argument("--servers", type=words, default=list(SERVERS), help="of off,on,kafka (default: all)")
    made.add_argument("--parts", type=words, help=f"of {','.join(PARTS)} (default: all)")
    made.add_argument("--repetitions", type=int, help="of join and leave; half as many crashes (default 5)")
    made.add_argument("--seconds", type=float, help="of each of the two phases of delays (default 15)")
    made.add_argument(
        "--longest-pause", type=float, default=LONGEST_PAUSE_S, help="s between a join and a leave (default 7)"
    )
    made.add_argument("--soak", action="store_true", help="only this: 50 members that stay, on the first server")
    made.add_argument("--soak-seconds", type=float, default=SOAK_S, help=f"how long they stay (default {SOAK_S})")
    made.add_argument("--park-ms", type=int, help=f"{PARK} of `on` (default: as it is by default)")
    made.add_argument("--seed", type=int, default=1, help="of the waits between repetitions")
    args = made.parse_args()
    if args.consumer:
        args.clients = args.clients or list(CONSUMER)
        args.parts = args.parts or ["reassignment", "heartbeats"]
        args.seconds = args.seconds or 60.0
    args.clients = args.clients or list(QUICK if args.quick else list(CLASSIC)[:-3])
    args.soaked = [each for each in args.clients if each in SOAKED]
    args.parts = [] if args.soak else args.parts or list(DEFAULT_PARTS)
    args.repetitions = args.repetitions or (2 if args.quick else 5)
    args.seconds = args.seconds or (3.0 if args.quick else 15.0)
    for given, known in ((args.clients, CLIENTS), (args.servers, SERVERS), (args.parts, PARTS)):
        if unknown := [each for each in given if each not in known]:
            made.error(f"there is no {', '.join(unknown)}; choose of {', '.join(known)}")
    return args


def main() -> int:
    args = arguments()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    findings = Findings("rebalances-consumer" if args.consumer else "rebalances", "Reassignment with real clients")
    with ExitStack() as stack:
        work_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir)))
        servers: list[Server] = []
        for key in args.servers:

            def start(key: str = key) -> None:
                servers.append(stack.enter_context(server_of(key, args, work_dir / key)))

            findings.attempt(f"{SERVERS[key]}: start", start)
        args.requests = seen([each.running.port for each in servers])
        if args.requests is None:
            findings.lines += ["", "Requests could not be watched (this needs root): times begin in the client."]
        else:
            stack.enter_context(args.requests)
        logs = args.work_dir / "rebalances-logs"
        if args.soak and servers:
            findings.attempt(f"{servers[0].name}: soak", lambda: soak(findings, args, servers[0], logs))
        elif servers:
            for name in args.clients:
                findings.attempt(name, lambda name=name: one_client(findings, args, servers, name, logs))
    about(findings, args)
    tables(findings, servers, args.clients)
    verdicts(findings, {each.name: each for each in servers}, args.clients)
    findings.raw["samples_ms"] = {each.name: each.samples for each in servers}
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
