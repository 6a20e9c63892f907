"""A part of the corpus from real clients: aiokafka at a real daemon, `python -m tests.report.live`.

Each group plays its cause in rounds, all groups at once. What happens within a round keeps its time; the time between
two rounds is stretched to hours, as a week would have them. Then the report is asked, and scored.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from aiokafka.errors import KafkaError

from coordinator.core.events.model import encode
from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.history.events import load_events
from coordinator.history.source import HistorySource
from coordinator.report.cases import ProblemKind
from tests.report.corpus import Corpus, write_log
from tests.report.plants import HOUR, MINUTE, START_MS, Planted
from tests.report.score import Score, report_of
from tests.support.daemon import Daemon

SETTINGS: Final = (
    "group.min.session.timeout.ms=1000",
    "group.initial.rebalance.delay.ms=500",
    "group.max.size=3",
)
SETTLES_S: Final = 2.5
SESSION_MS: Final = 1_500


@dataclass(slots=True)
class LiveGroup:
    """The consumers of one group, by name."""

    address: str
    name: str
    topic: str
    members: dict[str, AIOKafkaConsumer] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    async def start(self, *names: str, **settings: Any) -> None:
        for name in names:
            consumer = AIOKafkaConsumer(
                self.topic,
                bootstrap_servers=self.address,
                group_id=self.name,
                client_id=f"{self.name}-{name}",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=300,
                metadata_max_age_ms=400,
                **settings,
            )
            self.members[name] = consumer
            await consumer.start()

    async def stop(self, name: str) -> None:
        await self.members.pop(name).stop()

    async def crash(self, name: str) -> None:
        """End a consumer that does not leave, as one that is killed."""
        consumer = self.members.pop(name)

        async def stay() -> None:
            pass

        consumer._coordinator._maybe_leave_group = stay
        await consumer.stop()

    async def restart(self, name: str) -> None:
        await self.stop(name)
        await asyncio.sleep(0.3)
        await self.start(name)
        await asyncio.sleep(1)


Round = Callable[[LiveGroup, int], Awaitable[None]]


async def healthy(group: LiveGroup, number: int) -> None:
    if number == 2:
        for name in "abc":
            await group.restart(name)


async def static(group: LiveGroup, number: int) -> None:
    for name in "abc":
        await group.restart(name)


async def crashes(group: LiveGroup, number: int) -> None:
    await group.crash("a")
    await asyncio.sleep(SESSION_MS / 1000 + 1)
    await group.start("a")


async def scaling(group: LiveGroup, number: int) -> None:
    await (group.stop("c") if "c" in group.members else group.start("c"))


async def subscription(group: LiveGroup, number: int) -> None:
    group.members["a"].subscribe([group.topic, "other"] if number % 2 else [group.topic])


async def topics(group: LiveGroup, number: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=group.address)
    await admin.start()
    try:
        await admin.create_partitions({group.topic: NewPartitions(total_count=6 + number)})
    finally:
        await admin.close()


async def join_refused(group: LiveGroup, number: int) -> None:
    with contextlib.suppress(KafkaError, TimeoutError):
        await asyncio.wait_for(group.start("d"), 2)
    with contextlib.suppress(KafkaError):
        await group.stop("d")


async def duplicate_instance(group: LiveGroup, number: int) -> None:
    """Start the twin again; the other one is fenced, and its supervisor starts it, and so on."""
    for turn in range(4):
        name = ("twin", "a")[turn % 2]
        if name in group.members:
            with contextlib.suppress(KafkaError):
                await group.crash(name)
        await group.start(name, group_instance_id=f"{group.name}-i")
        await asyncio.sleep(0.8)


async def slow_poll(group: LiveGroup, number: int) -> None:
    """Let `a` work for longer than its max.poll.interval.ms."""
    group.busy.add("a")
    await asyncio.sleep(5)
    group.busy.clear()


async def poll(group: LiveGroup, name: str) -> None:
    """Poll a consumer while it is not busy. One that waits for records counts as polling."""
    while True:
        if name in group.members and name not in group.busy:
            await group.members[name].getmany(timeout_ms=500)
        else:
            await asyncio.sleep(0.05)


@dataclass(frozen=True, slots=True)
class LivePlan:
    """A group: its cause, how often it strikes, and how far apart."""

    play: Round
    rounds: int
    apart_ms: int
    planted: tuple[Planted, ...] = ()
    first: tuple[str, ...] = ("a", "b", "c")
    settings: dict[str, Any] = field(default_factory=dict)
    polls: bool = False


PLANS: Final = {
    "healthy": LivePlan(healthy, 4, 20 * HOUR),
    "static": LivePlan(static, 5, 24 * HOUR, (Planted(ProblemKind.STATIC),)),
    "loop": LivePlan(crashes, 6, 25 * MINUTE, (Planted(ProblemKind.CRASH_LOOP, "loop-a"),)),
    "member": LivePlan(crashes, 6, 20 * HOUR, (Planted(ProblemKind.MEMBER, "member-a"),)),
    "scaling": LivePlan(scaling, 30, 5 * HOUR, (Planted(ProblemKind.SCALING),), ("a", "b")),
    "subscription": LivePlan(subscription, 7, 20 * HOUR, (Planted(ProblemKind.SUBSCRIPTION, "subscription-a"),)),
    "topics": LivePlan(topics, 7, 20 * HOUR, (Planted(ProblemKind.TOPICS),), ("a", "b")),
    "full": LivePlan(join_refused, 5, 20 * HOUR, (Planted(ProblemKind.JOIN_REFUSED, "full-d"),)),
    "twins": LivePlan(duplicate_instance, 3, 20 * HOUR, (Planted(ProblemKind.DUPLICATE_INSTANCE, "twins-i"),), ("b",)),
    "poll": LivePlan(
        slow_poll,
        6,
        20 * HOUR,
        (Planted(ProblemKind.SLOW_POLL, "poll-a"),),
        settings={"max_poll_interval_ms": 3_000},
        polls=True,
    ),
}


async def play(address: str, name: str, plan: LivePlan) -> list[int]:
    """Play a group. Return when each round began; the first one is its start."""
    group = LiveGroup(address, name, f"{name}-topic")
    began = [time.time_ns() // 1_000_000]
    polling: list[asyncio.Future[None]] = []
    try:
        await group.start(*plan.first, **plan.settings)
        polling += [asyncio.ensure_future(poll(group, each)) for each in plan.first if plan.polls]
        await asyncio.sleep(SETTLES_S)
        for number in range(1, plan.rounds + 1):
            began.append(time.time_ns() // 1_000_000)
            await plan.play(group, number)
            await asyncio.sleep(SETTLES_S)
    finally:
        for task in polling:
            task.cancel()
        for consumer in group.members.values():
            with contextlib.suppress(KafkaError):
                await consumer.stop()
    return began


def stretched(source: HistorySource, began: dict[str, list[int]], directory: Path) -> Corpus:
    """Write a data directory with the events of the rounds, hours apart."""
    records = []
    for name, plan in PLANS.items():
        for stored in load_events(source, name):
            event = stored.event
            number = sum(event.at_ms >= begin for begin in began[name]) - 1
            if number < 0 or number > plan.rounds:
                continue
            shift_ms = START_MS + HOUR + number * plan.apart_ms - began[name][number]
            event.at_ms += shift_ms
            records.append((event.at_ms, name.encode(), encode(event)))
    directory.mkdir()
    (directory / "meta.properties").write_text(
        "version=1\ncluster.id=live\nnode.id=1\ncoordinator.format.version=1\noffsets.topic.num.partitions=1\n"
    )
    write_log(directory / f"{EVENTS_TOPIC}-0", records)
    return Corpus(directory, 7, {name: list(plan.planted) for name, plan in PLANS.items()}, len(records))


def main() -> int:
    parser = argparse.ArgumentParser(description="Score coordinator report on groups of real clients.")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the directories here")
    arguments = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it warns of each rebalance
    with tempfile.TemporaryDirectory() as temporary:
        place = arguments.keep or Path(temporary)
        topics = [f"{name}-topic:6" for name in PLANS] + ["other:6"]
        with Daemon(place / "daemon", overrides=SETTINGS, topics=topics) as daemon:

            async def play_all() -> dict[str, list[int]]:
                found = await asyncio.gather(*(play(daemon.address, *each) for each in PLANS.items()))
                return dict(zip(PLANS, found, strict=True))

            began = asyncio.run(play_all())
        corpus = stretched(HistorySource.of(daemon.data_dir), began, place / "data")
        report = report_of(corpus)
        score = Score()
        score.add(corpus, report.problems)
    print("\n".join(report.lines()))
    print(score.table())
    print("\n".join(score.mistakes))
    return 0 if score.precision >= 0.95 and score.recall >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
