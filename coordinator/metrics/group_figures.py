"""Figures of each group for /metrics: the busiest groups by name, all others as sums under the name `_other`.

A round looks at every group and every committed offset, in steps with other events of the loop in between. It ends by
replacing `shown`, which any thread may read. The rest after a round is in proportion to what it looked at, so that the
rounds of a node with very many offsets take a small part of its time.

Counters must not jump when a group gets or loses its name, so the recorder counts for `_other` what happens to a group
while it has none. A group keeps its name for HOLD_MS at least after it was last among the busiest, and until another
one needs the place.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.events.model import shortened
from coordinator.core.events.recorder import RecordedGroup

if TYPE_CHECKING:
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.group.group import Group
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.topics import Topics

OTHER: Final = "_other"
HOLD_MS: Final = 600_000
SHORTEST_PAUSE_MS: Final = 1000
LOOKED_AT_PER_MS: Final = 20  # groups and offsets, over rounds and the pauses between them: 1 to 2 % of a processor
LOOKED_AT_ONCE: Final = 250  # in one step
READS_AT_MOST: Final = 200  # batches of one round whose time is read from the disk
_NOTHING: Final = RecordedGroup()
# Characters that Prometheus does not take in a label, or that a terminal would obey.
_UNFIT: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

Place = tuple["Partition", int]  # a partition and an offset in it
ReadTimes = Callable[[list[Place], Callable[[list[int]], None]], None]
Score = tuple[bool, int, int, str]


class GroupFigures(NamedTuple):
    """The figures of one group, or the sums over all groups without a name. None: not known, or of no use as a sum."""

    label: str
    members: int
    states: Mapping[str, int]  # number of groups by state
    generation: int | None
    rebalances: Mapping[str, int]  # ended ones, by cause
    rebalance_s: float | None
    commits_refused: int | None
    fencings: int | None
    lag: int | None  # over all partitions whose end is known here
    longest_lag: int | None  # of one of them
    lag_s: float | None
    unknown_partitions: int  # committed partitions whose end is not known here


def label_of(group_id: str) -> str:
    """Return the label of a group: its id, shortened, with the characters escaped that a label must not hold."""
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", shortened(group_id))


class _Lag:
    """The lag of one group, while its offsets are looked at."""

    __slots__ = ("behind", "committed_ms", "longest", "total", "unknown")

    def __init__(self) -> None:
        self.total = 0
        self.longest = -1  # -1: no partition's end is known
        self.unknown = 0
        self.committed_ms = 0  # about when it committed last
        self.behind: list[Place] = []  # the first record that is not committed, in each partition that has one


class GroupMetrics:
    """Gathers the figures of all groups, at most `most` of them by name. All methods belong to the loop's thread."""

    def __init__(self, core: GroupCoordinator, topics: Topics, most: int, read_times: ReadTimes) -> None:
        self.shown: tuple[GroupFigures, ...] = ()
        self._core = core
        self._topics = topics
        self._most = most
        self._read_times = read_times
        self._named: dict[str, int] = {}  # group -> when it was last among the busiest
        self._times: dict[Place, int] = {}  # of the batches that the last round read from the disk
        self._looked_at = 0
        self._next_ms = 0
        self._is_running = False
        self._is_reading = False

    def begin(self, now_ms: int, wall_ms: int) -> Iterator[None] | None:
        """Return the steps of a round; None if none is due."""
        if self._is_running or self._is_reading or now_ms < self._next_ms:
            return None
        self._is_running = True
        return self._steps(now_ms, wall_ms)

    def _steps(self, now_ms: int, wall_ms: int) -> Iterator[None]:
        self._looked_at = 0
        try:
            yield from self._round(now_ms, wall_ms)
        finally:
            self._is_running = False
            self._next_ms = now_ms + max(SHORTEST_PAUSE_MS, self._looked_at // LOOKED_AT_PER_MS)

    def _round(self, now_ms: int, wall_ms: int) -> Iterator[None]:
        groups, recorded = self._core.groups, self._core.recorder.groups
        named = self._named
        if len(groups) <= self._most:
            named.update((group_id, now_ms) for group_id in groups if group_id not in named)
        found: dict[str, tuple[GroupFigures, list[Place]]] = {}
        rest = _Rest()
        busiest: list[Score] = []
        for group_id in list(groups):
            group = groups.get(group_id)
            if group is None:
                continue
            lag = _Lag()
            yield from self._look(group, lag)
            group.lag = lag.total if lag.longest >= 0 else -1
            group.unknown_ends = lag.unknown
            record = recorded.get(shortened(group_id))
            at_ms = record.events[-1].at_ms if record is not None and record.events else 0
            is_alive = bool(group.members) or wall_ms - lag.committed_ms < HOLD_MS
            score = (is_alive, at_ms, len(group.members), group_id)
            if len(busiest) < self._most:
                heapq.heappush(busiest, score)
            elif self._most:
                heapq.heappushpop(busiest, score)
            label = label_of(group_id) if group_id in named else OTHER
            if label == OTHER or label in found:
                rest.add(group, lag)
            else:
                found[label] = _figures(label, group, record or _NOTHING, lag), lag.behind
        self._choose(busiest, now_ms)
        self._core.recorder.named = frozenset(map(shortened, named)) if rest.groups else None
        figures = [each for each, _ in found.values()]
        others = self._core.recorder.others
        if rest.groups or others.rebalances or others.commits_refused or others.fencings:
            figures.append(rest.figures(others))
        yield
        yield from self._show(figures, [behind for _, behind in found.values()], wall_ms)

    def _look(self, group: Group, lag: _Lag) -> Iterator[None]:
        """Compare the committed offsets of a group with the ends of its partitions."""
        topics = self._topics.catalogue.topics
        for name, partitions in list(group.shard.offsets.peek(group.group_id).items()):
            self._looked_at += 1
            if not self._looked_at % LOOKED_AT_ONCE:
                yield
            for committed in partitions.values():  # the first one will do: a client commits its partitions together
                lag.committed_ms = max(lag.committed_ms, committed.commit_timestamp_ms)
                break
            topic = topics.get(name)
            if topic is None:
                lag.unknown += len(partitions)
                continue
            ends = topic.partitions
            for index in list(partitions):
                self._looked_at += 1
                if not self._looked_at % LOOKED_AT_ONCE:
                    yield
                if (current := partitions.get(index)) is None:
                    continue
                partition = ends[index] if 0 <= index < len(ends) else None
                if partition is None or not partition.is_local or partition.is_offline:
                    lag.unknown += 1
                    continue
                if partition.view is not None:
                    partition.refresh()
                behind = partition.high_watermark - current.offset
                if behind > 0:
                    lag.total += behind
                    lag.behind.append((partition, max(current.offset, partition.log_start_offset)))
                lag.longest = max(lag.longest, behind, 0)
        self._looked_at += 1
        if not self._looked_at % LOOKED_AT_ONCE:
            yield

    def _choose(self, busiest: list[Score], now_ms: int) -> None:
        """Choose the groups that have a name in the next round."""
        named, groups = self._named, self._core.groups
        for group_id in [each for each in named if each not in groups]:
            del named[group_id]
        ranked = [group_id for *_, group_id in sorted(busiest, reverse=True)]
        named.update((group_id, now_ms) for group_id in ranked if group_id in named)
        idle = [group_id for group_id, since_ms in named.items() if now_ms - since_ms >= HOLD_MS]
        idle.sort(key=named.__getitem__, reverse=True)  # the one that is idle for longest is the last
        for group_id in ranked:
            if group_id in named:
                continue
            if len(named) >= self._most:
                if not idle:
                    break
                del named[idle.pop()]
            named[group_id] = now_ms

    # -- lag in seconds ------------------------------------------------------------------------------------------

    def _show(self, figures: list[GroupFigures], behind: list[list[Place]], wall_ms: int) -> Iterator[None]:
        """Show the figures, once the times of the first records behind are known."""
        oldest = [wall_ms] * len(behind)  # for each group the time of its oldest record behind; -1: not known
        known, self._times = self._times, {}
        wanted: dict[Place, list[int]] = {}  # what must be read, with the positions of the groups in `oldest`
        for number, places in enumerate(behind):
            for place in places:
                self._looked_at += 1
                if not self._looked_at % LOOKED_AT_ONCE:
                    yield
                time_ms = place[0].cached_time_of(place[1])
                if time_ms is None and (time_ms := known.get(place)) is not None:
                    self._times[place] = time_ms
                if time_ms is not None:
                    oldest[number] = min(oldest[number], time_ms)
                elif place in wanted or len(wanted) < READS_AT_MOST:
                    wanted.setdefault(place, []).append(number)
                else:
                    oldest[number] = -1

        def show(read: list[int]) -> None:
            self._is_reading = False
            for (place, numbers), time_ms in zip(wanted.items(), read, strict=True):
                if time_ms >= 0:
                    self._times[place] = time_ms
                for number in numbers:
                    oldest[number] = min(oldest[number], time_ms)
            for number, time_ms in enumerate(oldest):
                if time_ms >= 0 and figures[number].lag is not None:
                    figures[number] = figures[number]._replace(lag_s=(wall_ms - time_ms) / 1000)
            self.shown = tuple(figures)

        if wanted:
            self._is_reading = True
            self._read_times(list(wanted), show)
        else:
            show([])


def _figures(label: str, group: Group, record: RecordedGroup, lag: _Lag) -> GroupFigures:
    known = lag.longest >= 0
    return GroupFigures(
        label=label,
        members=len(group.members),
        states={group.state.value: 1},
        generation=group.generation,
        rebalances=dict(record.rebalances_by_cause),
        rebalance_s=record.rebalance_ms / 1000,
        commits_refused=record.commits_refused,
        fencings=record.fencings,
        lag=lag.total if known else None,
        longest_lag=lag.longest if known else None,
        lag_s=None,
        unknown_partitions=lag.unknown,
    )


class _Rest:
    """The sums over the groups without a name."""

    def __init__(self) -> None:
        self.groups = 0
        self._members = 0
        self._states = Counter[str]()
        self._total = 0
        self._longest = -1
        self._unknown = 0

    def add(self, group: Group, lag: _Lag) -> None:
        self.groups += 1
        self._members += len(group.members)
        self._states[group.state.value] += 1
        self._total += lag.total
        self._longest = max(self._longest, lag.longest)
        self._unknown += lag.unknown

    def figures(self, record: RecordedGroup) -> GroupFigures:
        known = self._longest >= 0
        return GroupFigures(
            label=OTHER,
            members=self._members,
            states=self._states,
            generation=None,
            rebalances=dict(record.rebalances_by_cause),
            rebalance_s=record.rebalance_ms / 1000,
            commits_refused=record.commits_refused,
            fencings=record.fencings,
            lag=self._total if known else None,
            longest_lag=self._longest if known else None,
            lag_s=None,
            unknown_partitions=self._unknown,
        )
