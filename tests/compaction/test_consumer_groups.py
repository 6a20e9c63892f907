"""Compaction keeps the records of KIP-848 groups by key, as Kafka's cleaner does: such a group is nothing special."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.compaction.validate import RefusedError
from coordinator.core.group.state import GroupState
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.replay import Replay
from coordinator.core.shard import Shard
from protocol.group_records import RecordKind, encode_key, encode_value
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch, iter_batches, read_header, read_records
from tests.compaction import oracle
from tests.compaction.logs import DAY_MS, START_MS, Segment, consumer_value
from tests.compaction.test_same_bytes import same
from tests.compaction.test_validate import a_job, check

Record = tuple[bytes, bytes | None]
GROUPS = ("g", "h")
MEMBERS = ("m", "n")
MINUTE_MS = 60_000


class ConsumerLog:
    """A log as a coordinator writes it for KIP-848 groups: each event is a batch, in the order of Kafka's records."""

    def __init__(self) -> None:
        self.segments = [Segment(0)]
        self.next_offset = 0
        self.now_ms = START_MS
        self.number = 0
        self.members: dict[str, set[str]] = {}

    def append(self, *records: Record) -> None:
        self.now_ms += MINUTE_MS
        batch = build_batch(records, base_offset=self.next_offset, timestamp_ms=self.now_ms)
        self.segments[-1].data += bytes(batch)
        self.next_offset += len(records)

    def roll(self) -> None:
        if self.segments[-1].data:
            self.segments.append(Segment(self.next_offset))

    @property
    def closed(self) -> list[Segment]:
        return self.segments[:-1]

    def value(self, kind: RecordKind, group: str, second: str = "") -> Record:
        key = encode_key(kind, group, second)
        return key, encode_value(consumer_value(key, self.number))

    def join(self, group: str, member: str) -> None:
        self.number += 1
        first = [] if group in self.members else [(encode_group_key(group), None)]  # from a classic group
        self.members.setdefault(group, set()).add(member)
        self.append(
            *first,
            self.value(RecordKind.CONSUMER_MEMBER, group, member),
            self.value(RecordKind.CONSUMER_GROUP, group),
            self.value(RecordKind.CONSUMER_REGEX, group, "a.*"),
            self.value(RecordKind.CONSUMER_TARGET, group, member),
            self.value(RecordKind.CONSUMER_TARGET_EPOCH, group),
            self.value(RecordKind.CONSUMER_CURRENT, group, member),
        )

    def leave(self, group: str, member: str) -> None:
        if member in self.members.get(group, ()):
            self.number += 1
            self.members[group].discard(member)
            kinds = (RecordKind.CONSUMER_CURRENT, RecordKind.CONSUMER_TARGET, RecordKind.CONSUMER_MEMBER)
            tombstones = [(encode_key(kind, group, member), None) for kind in kinds]
            self.append(*tombstones, self.value(RecordKind.CONSUMER_GROUP, group))

    def commit(self, group: str) -> None:
        self.number += 1
        self.append((encode_offset_key(group, "t", 0), encode_offset_value(OffsetValue(self.number, -1, "", 1, -1))))

    def delete(self, group: str) -> None:
        if group in self.members and not self.members[group]:
            del self.members[group]
            self.append(
                (encode_offset_key(group, "t", 0), None),
                (encode_key(RecordKind.CONSUMER_TARGET_EPOCH, group), None),
                (encode_key(RecordKind.CONSUMER_REGEX, group, "a.*"), None),
                (encode_key(RecordKind.CONSUMER_TOPICS, group), None),
                (encode_key(RecordKind.CONSUMER_GROUP, group), None),
            )

    def play(self, ops: list[tuple[str, Any]]) -> None:
        for name, argument in ops:
            match name:
                case "join":
                    self.join(*argument)
                case "leave":
                    self.leave(*argument)
                case "commit":
                    self.commit(argument)
                case "delete":
                    self.delete(argument)
                case _:
                    self.roll()


_MEMBER = st.tuples(st.sampled_from(GROUPS), st.sampled_from(MEMBERS))
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("join"), _MEMBER),
        st.tuples(st.just("leave"), _MEMBER),
        st.tuples(st.just("leave"), _MEMBER),
        st.tuples(st.just("commit"), st.sampled_from(GROUPS)),
        st.tuples(st.just("delete"), st.sampled_from(GROUPS)),
        st.tuples(st.just("roll"), st.none()),
    ),
    min_size=1,
    max_size=25,
)


def loaded(segments: list[Segment]) -> tuple[Any, ...]:
    replay = Replay()
    for segment in segments:
        for position, header in iter_batches(segment.data):
            replay.add(header, read_records(segment.data, position, header))
    found, store = replay.settle()
    state = LoadedState.replayed(found, replay, store, Shard(0, {}, dict.fromkeys(GroupState, 0)), 0)
    assert not state.ignored and not state.quarantine.damaged
    offsets = {group_id: store.of_group(group_id) for group_id in store.group_ids()}
    return sorted(state.stored, key=lambda group: group.group_id), replay.live, offsets


@settings(deadline=None)
@given(
    OPS, st.sampled_from((MINUTE_MS, DAY_MS, 3 * DAY_MS)), st.sampled_from((0, DAY_MS)), st.sampled_from((500, 1 << 20))
)
def test_every_mode_writes_the_same_bytes_and_a_start_loads_the_same_groups(
    ops: list[tuple[str, Any]], pause_ms: int, delete_retention_ms: int, segment_bytes: int
) -> None:
    log = ConsumerLog()
    log.play(ops)
    log.roll()
    expected, segments, now_ms = loaded(log.closed), log.closed, log.now_ms
    for _ in range(3):
        if not segments:
            break
        segments = same(
            segments,
            log.next_offset,
            now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        assert loaded(segments) == expected
        now_ms += pause_ms


KINDS = sorted({kind for kind in RecordKind if kind.name.startswith("CONSUMER_")})


@pytest.mark.parametrize("kind", KINDS)
def test_of_each_key_the_newest_record_stays_and_a_tombstone_until_its_horizon(kind: RecordKind) -> None:
    keys = [encode_key(kind, "g", "m"), encode_key(kind, "h", "m")]
    log = ConsumerLog()
    for number in range(1, 4):
        log.append(*((key, encode_value(consumer_value(key, number))) for key in keys))
    log.append((keys[1], None))
    log.roll()
    log.append((encode_offset_key("z", "t", 0), None))  # the last batch of a round stays as it is
    log.roll()

    def left(segments: list[Segment]) -> list[tuple[bytes | None, int, bool]]:
        return [
            (record.key, record.offset, record.value is None)
            for segment in segments
            for position, header in iter_batches(segment.data)
            for record in read_records(segment.data, position, header)
            if record.key in keys
        ]

    once = same(log.closed, log.next_offset, log.now_ms)
    assert left(once) == [(keys[0], 4, False), (keys[1], 6, True)]
    later = same(once, log.next_offset, log.now_ms + DAY_MS - 1)
    assert left(later) == left(once)
    assert left(same(later, log.next_offset, log.now_ms + DAY_MS)) == [(keys[0], 4, False)]


@pytest.mark.parametrize("fast", [False, True])
def test_a_result_that_lost_a_record_is_refused(*, fast: bool) -> None:
    log = ConsumerLog()
    for number in range(12):
        log.join(GROUPS[number % 2], MEMBERS[number % 3 % 2])
    log.leave("g", "m")
    log.roll()
    with a_job(log.closed, log.next_offset, log.now_ms) as (job, plan, part):
        result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
        check(job, part, result, fast=fast)
        (output,) = result.outputs
        data = (job.out / output.file).read_bytes()
        batches = [data[at : at + header.size_bytes] for at, header in iter_batches(data)]
        with_values = [
            number
            for number, batch in enumerate(batches[:-1])  # without the last one the end of the log is another
            if any(record.value is not None for record in read_records(batch, 0, read_header(batch)))
        ]
        assert len(with_values) >= 3
        for lost in with_values:
            rest = [batch for number, batch in enumerate(batches) if number != lost]
            made = oracle._write(job.out_dir(0), 0, output.name, rest)
            with pytest.raises(RefusedError, match="KIP-848 group"):
                check(job, part, replace(result, outputs=(made,)), fast=fast)
