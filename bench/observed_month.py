"""The directory of a month of an observation, generated as extraction and thinning would leave it.

The rows are those that the real way keeps, written by its own functions, with the lists of files and the marks.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.core.events.model import Cause, ClientInfo, Rebalance, RebalanceOutcome, Trigger
from coordinator.core.shard import partition_for
from coordinator.history import file_list
from coordinator.history.events import EVENTS, StoredEvent, columns
from coordinator.history.extract import parquet_bytes
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.layout import COMMITS_DIR, EVENTS_DIR, GROUPS_DIR, path_by_day, path_undivided
from coordinator.history.rows import COMMITS, GROUPS
from coordinator.history.thinning import DAY_MS, DETAILS, HOUR_MS
from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.storage.history_marks import Mark
from coordinator.storage.log.fs import RealFileSystem
from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
)
from protocol.record_batch import build_batch

Ints = npt.NDArray[np.int64]

PARTITIONS: Final = 50  # of the offsets log
GROUP_PARTITIONS: Final = 10
OWNED: Final = ((0, 1, 2), (3, 4, 5), (6, 7), (8, 9))  # by the four members
EVERY_MS: Final = 5_000  # auto.commit.interval.ms
DAY: Final = DAY_MS // EVERY_MS  # cycles of commits
SEGMENT: Final = 120  # cycles: a segment is closed every ten minutes
FIRST: Final = 40  # cycles of the first segment, so that one lies across each midnight
REBALANCES: Final = 20  # a day and group
DAYS: Final = 30
HOURS_TODAY: Final = 6
BEGIN_DAY: Final = 20_700  # since 1970: 2026-09-04
GB: Final = 1_000_000_000
FS: Final = RealFileSystem()
_VALUE: Final = struct.Struct(">hqihq")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of what is generated."""

    groups: int
    days: int  # before today
    partitions: int  # of the offsets log
    full: int  # partitions whose days in full detail are generated
    real_cycles: int  # of the part that goes the real way


def names_by_partition(size: Size) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(size.partitions)]
    for number in range(size.groups):
        name = f"billing-service-{number:05d}"
        found[partition_for(name, size.partitions)].append(name)
    return found


def mixed(values: Ints) -> npt.NDArray[np.uint64]:
    """Return numbers that look random, the same for the same values (splitmix64)."""
    one = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    one = (one ^ (one >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    one = (one ^ (one >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return one ^ (one >> np.uint64(31))


@dataclass(slots=True)
class GroupRecords:
    """The records of groups in one partition of the log, in log order."""

    cycle: Ints  # it comes before the commits of this cycle
    group: Ints
    values: list[GroupValue]


class World:
    """One partition of the log: any commit of it can be computed from its number, without those before it."""

    def __init__(self, partition: int, names: list[str], days: int) -> None:
        self.partition = partition
        self.names = sorted(names)
        self.topics = [f"orders-{int(name[-5:]) % 40:03d}" for name in self.names]
        count = len(self.names)
        chance = np.random.default_rng(partition)
        self.per_cycle = count * GROUP_PARTITIONS
        self.width = 4_960 // (len(OWNED) * count)  # ms between two batches
        self.slot = chance.permutation(len(OWNED) * count).reshape(count, len(OWNED))  # of each group and member
        sizes = np.empty(len(OWNED) * count, np.int64)
        sizes[self.slot] = np.array([len(each) for each in OWNED])
        before = np.concatenate(([0], np.cumsum(sizes)))  # records of a cycle before each slot
        # For each group, its commits of a cycle in the order of the log.
        self.column_partition = np.empty((count, GROUP_PARTITIONS), np.int64)
        self.column_before = np.empty((count, GROUP_PARTITIONS), np.int64)
        self.column_slot = np.empty((count, GROUP_PARTITIONS), np.int64)
        for group in range(count):
            place = 0
            for member in np.argsort(self.slot[group]):
                for number, owned in enumerate(OWNED[member]):
                    slot = self.slot[group, member]
                    self.column_partition[group, place] = owned
                    self.column_before[group, place] = before[slot] + number
                    self.column_slot[group, place] = slot
                    place += 1
        shape = (count, GROUP_PARTITIONS)
        self.rate = 10 ** chance.uniform(0, 3.5, shape)  # records a second
        self.base = chance.integers(10**6, 10**10, shape)
        self.epoch = chance.integers(0, 30, shape)
        self.records = self._group_records(days, chance)

    def _group_records(self, days: int, chance: np.random.Generator) -> GroupRecords:
        count = len(self.names)
        total = days * count * REBALANCES
        cycle = np.sort(chance.integers(0, days * DAY, total))
        group = chance.integers(0, count, total)
        generation = [1] * count
        members = [[self._member(g, m, chance.bytes(16).hex()) for m in range(len(OWNED))] for g in range(count)]
        ids = chance.bytes(16 * total).hex()
        values = []
        for number, (at, of) in enumerate(zip(cycle.tolist(), group.tolist(), strict=True)):
            generation[of] += 1
            who = number % len(OWNED)  # one of them was started anew
            members[of][who] = self._member(of, who, ids[number * 32 : number * 32 + 32])
            values.append(
                GroupValue(
                    protocol_type="consumer",
                    generation=generation[of],
                    protocol="range",
                    leader=members[of][0].member_id,
                    current_state_timestamp_ms=self.at_ms(at),
                    members=list(members[of]),
                )
            )
        return GroupRecords(cycle, group, values)

    def _member(self, group: int, number: int, text: str) -> MemberValue:
        client = f"{self.names[group]}-{number}"
        uuid = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        topic = self.topics[group]
        return MemberValue(
            member_id=f"{client}-{uuid}",
            group_instance_id=None,
            client_id=client,
            client_host=f"/10.{group % 200}.{number}.7",
            rebalance_timeout_ms=300_000,
            session_timeout_ms=45_000,
            subscription=encode_subscription(Subscription(topics=[topic])),
            assignment=encode_assignment(Assignment([TopicPartitions(topic, list(OWNED[number]))])),
        )

    @staticmethod
    def at_ms(cycle: int) -> int:
        return BEGIN_DAY * DAY_MS + cycle * EVERY_MS

    def start(self, cycle: int) -> int:
        """Return the log offset at which a cycle begins."""
        return cycle * self.per_cycle + int(np.searchsorted(self.records.cycle, cycle, "left"))

    def batch_ms(self, cycle: Ints, slot: Ints) -> Ints:
        jitter = mixed(cycle * 1_000 + slot + self.partition * 10**12) % np.uint64(self.width)
        return BEGIN_DAY * DAY_MS + cycle * EVERY_MS + slot * self.width + jitter.astype(np.int64)

    def newest_ms(self, end: int) -> int:
        """Return the time of the last record before a cycle."""
        last = np.array([self.slot.max()])
        return int(self.batch_ms(np.array([end - 1]), last)[0])

    def numbers(self, cycles: Ints) -> dict[str, Ints]:
        """Return the columns of all commits of some cycles, each of the shape (groups, cycles, partitions)."""
        k = cycles[None, :, None]
        slot = self.column_slot[:, None, :]
        batch = self.batch_ms(k, slot)
        which = np.arange(len(self.names))[:, None, None]
        place = self.column_partition
        key = (self.partition * 1_000 + which) * GROUP_PARTITIONS + place[:, None, :]
        noise = (mixed(key * 10**7 + k) >> np.uint64(11)).astype(np.float64) / 2**53
        rate = np.take_along_axis(self.rate, place, 1)[:, None, :]
        base = np.take_along_axis(self.base, place, 1)[:, None, :]
        before = np.searchsorted(self.records.cycle, cycles, "right")[None, :, None]
        return {
            "log_offset": k * self.per_cycle + before + self.column_before[:, None, :],
            "timestamp_ms": batch,
            "partition": np.broadcast_to(place[:, None, :], batch.shape),
            "committed_offset": base + (rate * (EVERY_MS / 1000) * (k + noise)).astype(np.int64),
            "leader_epoch": np.broadcast_to(np.take_along_axis(self.epoch, place, 1)[:, None, :], batch.shape),
            # One in eight commits was taken in the millisecond before it was appended.
            "committed_ms": batch - (batch % 8 == 0),
        }

    def commits(self, cycles: Ints) -> pa.Table:
        """Return the rows of these cycles as a file has them: by group, then log offset."""
        columns: dict[str, Any] = {name: pa.array(each.reshape(-1)) for name, each in self.numbers(cycles).items()}
        count = len(cycles) * self.per_cycle
        row = pa.array(np.repeat(np.arange(len(self.names), dtype=np.int32), len(cycles) * GROUP_PARTITIONS))
        for name, texts in (("group", self.names), ("topic", self.topics)):
            columns[name] = pa.DictionaryArray.from_arrays(row, pa.array(texts)).cast(pa.string())
        columns["metadata"] = pa.repeat(pa.scalar(""), count)
        columns["expires_ms"] = pa.nulls(count, pa.int64())
        columns["tombstone"] = pa.repeat(pa.scalar(False), count)
        columns["producer_id"] = pa.nulls(count, pa.int64())
        return pa.table([columns[name] for name in COMMITS.names], names=COMMITS.names).cast(COMMITS)

    def groups(self, begin: int, end: int) -> pa.Table:
        """Return the rows of groups in a range of cycles, by group, then log offset."""
        first, last = (int(np.searchsorted(self.records.cycle, each, "left")) for each in (begin, end))
        order = first + np.argsort(self.records.group[first:last], kind="stable")
        rows = [self._group_row(int(number)) for number in order]
        return pa.Table.from_pylist(rows, schema=GROUPS)

    def _group_row(self, number: int) -> dict[str, Any]:
        value = self.records.values[number]
        group, cycle = int(self.records.group[number]), int(self.records.cycle[number])
        topic = self.topics[group]
        return {
            "log_offset": cycle * self.per_cycle + number,
            "timestamp_ms": self.at_ms(cycle),
            "group": self.names[group],
            "tombstone": False,
            "generation": value.generation,
            "protocol_type": value.protocol_type,
            "protocol": value.protocol,
            "leader": value.leader,
            "since_ms": value.current_state_timestamp_ms,
            "members": [
                {
                    "member_id": member.member_id,
                    "group_instance_id": None,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "session_timeout_ms": member.session_timeout_ms,
                    "rebalance_timeout_ms": member.rebalance_timeout_ms,
                    "topics": [topic],
                    "assignment": [{"topic": topic, "partitions": list(owned)}],
                }
                for member, owned in zip(value.members, OWNED, strict=True)
            ],
        }

    def batches(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the record batches of the log, cycle by cycle."""
        keys = [
            [encode_offset_key(name, topic, number) for number in range(GROUP_PARTITIONS)]
            for name, topic in zip(self.names, self.topics, strict=True)
        ]
        place = {}
        for group in range(len(self.names)):
            for member in range(len(OWNED)):
                own = np.flatnonzero(self.column_slot[group] == self.slot[group, member])
                place[int(self.slot[group, member])] = (group, own.tolist())
        for cycle in range(begin, end):
            data = bytearray()
            first, end_of = np.searchsorted(self.records.cycle, [cycle, cycle + 1], "left").tolist()
            at = self.start(cycle)
            for number in range(first, end_of):
                pair = (
                    encode_group_key(self.names[int(self.records.group[number])]),
                    encode_group_value(self.records.values[number]),
                )
                data += build_batch([pair], base_offset=at, timestamp_ms=self.at_ms(cycle))
                at += 1
            found = {name: column[:, 0, :].tolist() for name, column in self.numbers(np.array([cycle])).items()}
            for slot in range(len(place)):
                group, rows = place[slot]
                records: list[tuple[bytes | None, bytes | None]] = [
                    (
                        keys[group][found["partition"][group][row]],
                        _VALUE.pack(
                            3,
                            found["committed_offset"][group][row],
                            found["leader_epoch"][group][row],
                            0,
                            found["committed_ms"][group][row],
                        ),
                    )
                    for row in rows
                ]
                data += build_batch(records, base_offset=at, timestamp_ms=found["timestamp_ms"][group][rows[0]])
                at += len(records)
            yield bytes(data)


# -- what the directory is like ------------------------------------------------------------------------------------


def segments_until(end: int) -> list[tuple[int, int]]:
    """Return the first cycle of each closed segment and of the next one."""
    starts = [0, *range(FIRST, end + 1, SEGMENT)]
    return list(pairwise(starts))


def span_of(day: int, now_ms: int) -> int:
    """Return the span of which one commit is kept in a day (since 1970); 0: all are kept."""
    end_ms = (day + 1) * DAY_MS
    return max((each.span_ms for each in DETAILS if end_ms + each.hours * HOUR_MS <= now_ms), default=0)


@dataclass(slots=True)
class Written:
    """Bytes and rows of what was written, by kind of day."""

    bytes: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, size: int, rows: int) -> None:
        self.bytes[kind] = self.bytes.get(kind, 0) + size
        self.rows[kind] = self.rows.get(kind, 0) + rows
        self.files[kind] = self.files.get(kind, 0) + 1

    def take(self, other: Written) -> None:
        for mine, theirs in ((self.bytes, other.bytes), (self.rows, other.rows), (self.files, other.files)):
            for kind, number in theirs.items():
                mine[kind] = mine.get(kind, 0) + number


KINDS: Final = {0: "all commits", 60_000: "one a minute", 600_000: "one in ten minutes"}


class Generated:
    """Writes one partition of a history as extraction and thinning leave it at a time."""

    def __init__(self, history_dir: Path, world: World, end: int, now_ms: int, *, has_full: bool = True) -> None:
        self.history_dir = history_dir
        self.world = world
        self.end = end
        self.now_ms = now_ms
        self.has_full = has_full
        self.written = Written()
        self._lines: list[ExtractedSegment] = []
        self._thinned_to = 0  # a log offset
        self._thinned_ms = -1

    def write(self) -> Mark:
        """Write all files and the list; return the mark."""
        world = self.world
        segments = segments_until(self.end)
        run: list[tuple[int, int]] = []
        for number, (begin, end) in enumerate(segments):
            day, is_inside = begin // DAY, begin // DAY == (end - 1) // DAY
            is_thinned = span_of(BEGIN_DAY + day, self.now_ms) > 0
            if is_thinned and is_inside and number < len(segments) - 1:
                if run and run[0][0] // DAY != day:
                    self._segment(run[0][0], run[-1][1])
                    run = []
                run.append((begin, end))
                continue
            if run:
                self._segment(run[0][0], run[-1][1])
                run = []
            self._segment(begin, end)
        if run:
            self._segment(run[0][0], run[-1][1])
        path = file_list.list_path(self.history_dir, world.partition)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(asdict(line)) + "\n" for line in self._lines))
        last = segments[-1]
        return Mark(
            next_offset=world.start(last[1]),
            last_segment=world.start(last[0]),
            compacted_to=self._thinned_to,
            whole_since_ms=self._thinned_ms,
            newest_ms=world.newest_ms(last[1]),
            segments=len(self._lines),
        )

    def _segment(self, begin: int, end: int) -> None:
        """Write the files of a segment, or of some that were joined."""
        world, start = self.world, self.world.start(begin)
        files = []
        for day in range(begin // DAY, (end - 1) // DAY + 1):
            first, last = max(begin, day * DAY), min(end, (day + 1) * DAY)
            cycles = np.arange(first, last)
            span_ms = span_of(BEGIN_DAY + day, self.now_ms)
            if span_ms:
                spans = cycles * EVERY_MS // span_ms
                cycles = cycles[np.append(spans[1:] != spans[:-1], True)]
                self._thinned_to, self._thinned_ms = world.start(end), world.newest_ms(last)
            path = path_by_day(self.history_dir, COMMITS_DIR, BEGIN_DAY + day, world.partition, start)
            files.append(str(path.relative_to(self.history_dir)))
            if span_ms or self.has_full:
                self._put(path, world.commits(cycles), KINDS[span_ms])
        groups = world.groups(begin, end)
        if groups.num_rows:
            path = path_undivided(self.history_dir, GROUPS_DIR, world.partition, start)
            files.append(str(path.relative_to(self.history_dir)))
            span_ms = span_of(BEGIN_DAY + begin // DAY, self.now_ms)
            self._put(path, groups, "groups" if span_ms else "groups, not joined yet")
        self._lines.append(ExtractedSegment(start, world.start(end), world.newest_ms(end), tuple(files)))

    def _put(self, path: Path, table: pa.Table, kind: str) -> None:
        data = parquet_bytes(table)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.written.add(kind, len(data), table.num_rows)

    def events(self) -> None:
        """Write the events of each whole day."""
        records, world = self.world.records, self.world
        for day in range(self.end // DAY):
            first, last = np.searchsorted(records.cycle, [day * DAY, (day + 1) * DAY], "left").tolist()
            rows = []
            for number in range(first, last):
                value, at_ms = records.values[number], world.at_ms(int(records.cycle[number]))
                member = value.members[number % len(OWNED)]
                who = ClientInfo(member.member_id, "", member.client_id, member.client_host.lstrip("/"))
                event = Rebalance(
                    group=world.names[int(records.group[number])],
                    at_ms=at_ms - 3_000,
                    trigger=Trigger(Cause.MEMBER_GONE, who, silent_ms=5_000),
                    outcome=RebalanceOutcome.STABLE,
                    previous_generation=value.generation - 1,
                    generation=value.generation,
                    members_before=4,
                    members_after=4,
                    join_ms=3_000,
                    sync_ms=0,
                    rebalance_timeout_ms=300_000,
                    protocol="range",
                    partitions=GROUP_PARTITIONS,
                )
                row = columns(StoredEvent(number, event)) | {"json": msgspec.json.encode(event).decode()}
                rows.append(row)
            table = pa.Table.from_pylist(rows, schema=EVENTS).sort_by(
                [("group", "ascending"), ("log_offset", "ascending")]
            )
            self._put(path_undivided(self.history_dir, EVENTS_DIR, world.partition, first), table, "events")


def meta(data_dir: Path, partitions: int) -> None:
    directory = ObservedDirectory.open(data_dir, FS)
    directory.belongs_to(ObservedLog("bench", b"\1" * 16, partitions))
    directory.close()
