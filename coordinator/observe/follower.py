"""Follows all partitions of the offsets topic at their leaders, one Fetch at a time for each node.

A task for each node asks for all partitions that it leads, hands the answer on, and asks again when that is done. If a
node answers that it leads a partition no longer, or ends the connection, Metadata is asked again, with growing pauses
while that fails. A node's task ends by itself when it leads nothing any more; it is never cancelled between writing an
answer and giving it to the state.

An offset outside of the cluster's log is looked up: if the log begins later, records were removed before they could be
read, and a gap is left; if it ends earlier, it is another log than the mirrored one (LogRecreatedError).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.observe.backoff import LAST_S, Backoff
from coordinator.observe.cluster import ObservedCluster, TopicLayout
from coordinator.observe.errors import ClusterProblem, LogRecreatedError
from coordinator.observe.fetching import (
    MAX_FETCH_VERSION,
    Advice,
    FetchedPart,
    Wanted,
    advice_for,
    fetch_request,
    read_answer,
    sentence_for,
)
from coordinator.observe.log_ends import EARLIEST, LATEST, offsets_at
from coordinator.observe.progress import FollowProgress
from coordinator.processes.wall_clock import wall_ms
from protocol.messages.fetch import FetchResponse

LOG: Final = logging.getLogger("coordinator.observe")

MAX_BYTES: Final = 4 << 20  # of one answer; at most this much of each node waits to be written
MAX_BYTES_OF_ALL: Final = 64 << 20
PARTITION_MAX_BYTES: Final = 1 << 20
# Pause after an answer that was not full: fewer and larger answers cost less.
PACE_S: Final = 0.1
REFRESH_S: Final = 60.0  # between two looks at the leaders while all is well
TELL_PAUSE_S: Final = 5.0  # before a partition with an error that a user has to mend is asked for again


class Sink(Protocol):
    """The receiver of what is fetched."""

    def position(self, partition: int) -> int:
        """Return the offset to fetch next."""

    async def take(self, parts: Sequence[FetchedPart]) -> None:
        """Take an answer; on return the positions have moved behind it."""

    async def skip_to(self, partition: int, offset: int) -> None:
        """Leave a gap up to an offset."""

    async def repair(self) -> None:
        """Make writing possible again after an OSError."""


class Follower:
    """The tasks that follow one topic. `run` ends only by an error or by cancellation.

    `on_layout` is called whenever the leaders have been looked up, and returns where the batches go.
    """

    def __init__(
        self,
        cluster: ObservedCluster,
        progress: FollowProgress,
        *,
        on_layout: Callable[[TopicLayout], Awaitable[Sink]],
        pace_s: float = PACE_S,
    ) -> None:
        self._cluster = cluster
        self._sink: Sink  # given by `on_layout`
        self._progress = progress
        self._on_layout = on_layout
        self._pace_s = pace_s
        self._leaders: dict[int, int] = {}
        self._order: dict[int, None] = {}  # partitions; those that gave data last come last
        self._paused_until: dict[int, float] = {}  # partition -> time of the loop
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._look_again = asyncio.Event()
        # Nodes and partitions that have one now. A start that could not reach the cluster has noted one already.
        self._problems: set[str] = {"metadata"} if progress.problem else set()

    async def run(self) -> None:
        """Follow until cancelled. LogRecreatedError and ObserveError end it."""
        backoff, spacing = Backoff(), Backoff(self._pace_s)
        loop = asyncio.get_running_loop()
        try:
            while True:
                asked_at = loop.time()
                try:
                    layouts = await self._cluster.layouts([OFFSETS_TOPIC])
                    layout = layouts.get(OFFSETS_TOPIC, TopicLayout())
                except ClusterProblem as problem:
                    self._tell("metadata", str(problem))
                    await self._pause(backoff)
                    continue
                if layout.error_code or not layout.leaders:
                    self._tell("metadata", _why_no_topic(layout))
                    await self._pause(backoff)
                    continue
                self._sink = await self._on_layout(layout)
                self._progress.connects = self._cluster.connects
                self._mended("metadata")
                self._assign(layout.leaders)
                without = [partition for partition, leader in sorted(layout.leaders.items()) if leader < 0]
                if without:
                    self._tell("leaders", _no_leader(without))
                    await self._pause(backoff)
                    continue
                self._mended("leaders")
                backoff.succeeded()
                await self._wait(REFRESH_S)
                await spacing.pause()  # many partitions may ask for it at once
                if loop.time() - asked_at > LAST_S:
                    spacing.succeeded()
        finally:
            await self._stop_tasks()

    def _assign(self, leaders: Mapping[int, int]) -> None:
        """Give each node its partitions, and start the tasks of nodes that have none."""
        self._leaders = dict(leaders)
        for partition in leaders:
            self._order.setdefault(partition)
        for node in {leader for leader in leaders.values() if leader >= 0}:
            if node not in self._tasks or self._tasks[node].done():
                self._tasks[node] = asyncio.create_task(self._follow(node), name=f"observe-node-{node}")
                self._tasks[node].add_done_callback(lambda _: self._look_again.set())

    async def _wait(self, seconds: float) -> None:
        """Wait until the leaders may have changed, at most `seconds`. Raises the error that ended a node's task."""
        try:
            async with asyncio.timeout(seconds):
                await self._look_again.wait()
        except TimeoutError:
            pass
        self._look_again.clear()
        for node, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[node]
                task.result()

    async def _pause(self, backoff: Backoff) -> None:
        pause_s = backoff.next_pause_s()
        self._look_again.clear()
        await asyncio.sleep(pause_s)
        await self._wait(0)

    async def _follow(self, node: int) -> None:
        """Fetch from one node while it leads any partition."""
        backoff = Backoff()
        who = f"node {node}"
        was_connected = False
        while any(leader == node for leader in self._leaders.values()):
            wanted = self._wanted(node)
            if not wanted:
                await asyncio.sleep(self._pace_s)
                continue
            try:
                link = await self._cluster.node(node)
                nodes = len(self._tasks) or 1
                max_bytes = max(PARTITION_MAX_BYTES, min(MAX_BYTES, MAX_BYTES_OF_ALL // nodes))
                request = fetch_request(wanted, max_bytes=max_bytes, partition_max_bytes=PARTITION_MAX_BYTES)
                response = await link.call(request, FetchResponse, MAX_FETCH_VERSION)
            except ClusterProblem as problem:
                self._progress.reconnects += was_connected
                was_connected = False
                self._tell(who, str(problem))
                self._look_again.set()
                await backoff.pause()
                continue
            was_connected = True
            self._progress.fetches += 1
            is_full = await self._handle(node, response, wanted, max_bytes, backoff)
            if not is_full:
                await asyncio.sleep(self._pace_s)

    def _wanted(self, node: int) -> list[Wanted]:
        """Return the partitions to fetch from a node now, those that waited longest first."""
        now = asyncio.get_running_loop().time()
        return [
            Wanted(partition, self._sink.position(partition))
            for partition in self._order
            if self._leaders.get(partition) == node and self._paused_until.get(partition, 0.0) <= now
        ]

    async def _handle(
        self, node: int, response: FetchResponse, wanted: Sequence[Wanted], max_bytes: int, backoff: Backoff
    ) -> bool:
        """Hand an answer on. Returns True if more is at hand at once, or nothing is and the broker waited for it."""
        fetched = read_answer(response, wanted)
        who = f"node {node}"
        try:
            await self._sink.take(fetched.parts)
        except ClusterProblem as problem:
            self._tell(who, str(problem))
            await backoff.pause()
            return True
        except OSError as error:
            self._tell(
                who,
                f"the mirror cannot be written ({error.strerror or error}); make room or mend the disk, trying again",
            )
            await backoff.pause()
            await self._repair()
            return True
        for part in fetched.parts:
            self._mended(f"partition {part.partition}")
            if part.data:
                self._order[part.partition] = self._order.pop(part.partition)
        for partition, code in fetched.errors.items():
            await self._handle_error(partition, code)
        if fetched.errors and not fetched.parts:
            await backoff.pause()
        else:
            self._mended(who)
            backoff.succeeded()
        size = sum(len(part.data) for part in fetched.parts)
        is_cut = any(len(part.data) >= PARTITION_MAX_BYTES // 2 for part in fetched.parts)
        return size >= max_bytes // 2 or is_cut or not size

    async def _repair(self) -> None:
        try:
            await self._sink.repair()
        except OSError:
            return  # the next write fails again, and comes back here

    async def _handle_error(self, partition: int, code: int) -> None:
        advice = advice_for(code)
        pause_s = TELL_PAUSE_S if advice is Advice.TELL else self._pace_s
        self._paused_until[partition] = asyncio.get_running_loop().time() + pause_s
        if advice is Advice.TELL:
            self._tell(f"partition {partition}", sentence_for(code))
        elif advice is Advice.FIND_RANGE:
            await self._find_range(partition)
        else:
            self._look_again.set()

    async def _find_range(self, partition: int) -> None:
        """Go to the start of a log that begins later. LogRecreatedError: the log ends before the mirror."""
        position = self._sink.position(partition)
        try:
            key = (OFFSETS_TOPIC, partition)
            begin = (await offsets_at(self._cluster, {key: self._leaders[partition]}, EARLIEST)).get(key)
            end = (await offsets_at(self._cluster, {key: self._leaders[partition]}, LATEST)).get(key)
        except ClusterProblem as problem:
            self._tell(f"partition {partition}", str(problem))
            return
        if begin is None or end is None or begin <= position <= end:
            self._look_again.set()
            return
        if position > end:
            raise _recreated(partition, position, end)
        LOG.warning(
            "partition %d: the cluster has removed the offsets %d to %d before they could be read; the mirror goes on "
            "at %d, and commands on its past name the gap",
            partition,
            position,
            begin - 1,
            begin,
        )
        await self._sink.skip_to(partition, begin)

    # problems

    def _tell(self, who: str, sentence: str) -> None:
        self._problems.add(who)
        if self._progress.note_problem(sentence, wall_ms()):
            LOG.warning("%s", sentence)

    def _mended(self, who: str) -> None:
        """Forget the problem of a node or partition; when none is left, there is no problem."""
        if who in self._problems:
            self._problems.discard(who)
            if not self._problems:
                self._progress.clear_problem()
                LOG.info("the cluster is followed again")

    async def _stop_tasks(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()


def _recreated(partition: int, position: int, end: int) -> LogRecreatedError:
    return LogRecreatedError(f"partition {partition} ends at {end}, before the mirror, which ends at {position}")


def _no_leader(partitions: Sequence[int]) -> str:
    some = ", ".join(map(str, partitions[:5])) + (" and others" if partitions[5:] else "")
    return f"{OFFSETS_TOPIC} has no leader for partition {some}, so its groups are not followed; trying again"


def _why_no_topic(layout: TopicLayout) -> str:
    """Return a sentence that says why there is nothing to follow."""
    if layout.error_code and advice_for(layout.error_code) is Advice.TELL:
        return sentence_for(layout.error_code)
    return (
        f"the cluster has no topic {OFFSETS_TOPIC} yet, because no group has committed; waiting for it (without the "
        "ACL Describe on that topic a cluster may say the same)"
    )
