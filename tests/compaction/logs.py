"""Random offsets logs for the tests of compaction, made of operations from a seed or from hypothesis.

A log is written by operations: a batch of records (commits, groups, tombstones, records without a key; any codec; with
a producer, in a transaction or not), a marker, a new segment, a gap, an empty batch, a control batch of another kind.
`LogWriter` makes sound batches of them, in an encoding of its own, and can continue after a compaction. There are two
kinds of logs: `ANYTHING`, and `OFFSETS` for logs that the coordinator must be able to load.

`replayed` is the smallest reader of such a log, independent of the rules: it sees what a consumer of committed records
sees.
"""

from __future__ import annotations

import hashlib
import random
import struct
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import google_crc32c
from hypothesis import strategies as st

from coordinator.compaction.plan import InputSegment, PartitionPlan, PartitionResult, Plan
from protocol.compression import Codec, compress
from protocol.group_records import RecordKind, Value, decode_record_key, encode_key, encode_value
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    SubscribedTopic,
    TargetPartitions,
)
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.primitives import zigzag
from protocol.record_batch import ControlType, control_type, iter_batches, read_records, verify

START_MS: Final = 1_700_000_000_000
DAY_MS: Final = 86_400_000
LEADER_CHANGE: Final = 2  # a control record that ends no transaction
NO_PRODUCER: Final = -1

OFFSET_KEYS: Final = tuple(
    encode_offset_key(group, topic, partition)
    for group in ("g", "h", "ä😀")
    for topic in ("t", "u")
    for partition in (0, 1)
)
GROUP_KEYS: Final = tuple(encode_group_key(group) for group in ("g", "h", "alone"))
OTHER_KEYS: Final = (b"\0\x0bof another protocol", b"\0\x63" + b"long " * 300)
CONSUMER_KEYS: Final = (
    encode_key(RecordKind.CONSUMER_GROUP, "kip"),  # has no other records, which its tombstone would end
    encode_key(RecordKind.CONSUMER_TOPICS, "ä😀"),
    encode_key(RecordKind.CONSUMER_MEMBER, "ä😀", "m"),
    encode_key(RecordKind.CONSUMER_MEMBER, "ä😀", "n"),
    encode_key(RecordKind.CONSUMER_TARGET_EPOCH, "ä😀"),
    encode_key(RecordKind.CONSUMER_TARGET, "ä😀", "m"),
    encode_key(RecordKind.CONSUMER_CURRENT, "ä😀", "m"),
    encode_key(RecordKind.CONSUMER_REGEX, "ä😀", "a.*"),
)
KEYS: Final = (*OFFSET_KEYS, *GROUP_KEYS, *OTHER_KEYS, *CONSUMER_KEYS)

TRANSACTIONAL: Final = (1, 2, 3)
"""Producer ids that write in transactions only; those of `IDEMPOTENT` never do."""
IDEMPOTENT: Final = (11, 12)


# --- operations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rec:
    key: int | None  # index into KEYS
    is_tombstone: bool = False
    note_bytes: int = 0
    late_ms: int = 0
    has_headers: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    records: tuple[Rec, ...]
    codec: Codec = Codec.NONE
    producer_id: int = NO_PRODUCER
    append_time: bool = False
    copies: int = 1  # of all its records, within the batch: to make it giant


@dataclass(frozen=True, slots=True)
class End:
    producer_id: int
    commit: bool
    new_epoch: bool = False  # as since KIP-890, or when a producer was fenced


@dataclass(frozen=True, slots=True)
class Empty:
    """A batch that an earlier compaction emptied."""

    producer_id: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Gap:
    offsets: int


@dataclass(frozen=True, slots=True)
class Wait:
    ms: int


@dataclass(frozen=True, slots=True)
class Roll:
    """The next batch begins a new segment."""


@dataclass(frozen=True, slots=True)
class OtherControl:
    """A control batch that is no marker."""


Op: TypeAlias = Write | End | Empty | Gap | Wait | Roll | OtherControl
Style: TypeAlias = str
OFFSETS: Final = "offsets"
ANYTHING: Final = "anything"
PLAIN: Final = "plain"  # as OFFSETS, without producers


def operations(style: Style = ANYTHING, *, max_size: int = 40) -> st.SearchStrategy[list[Op]]:
    """Logs for hypothesis, small first."""
    return st.lists(_op(style), max_size=max_size)


def _op(style: Style) -> st.SearchStrategy[Op]:
    codecs = st.one_of(st.just(Codec.NONE), st.sampled_from(Codec))

    def records(keys: st.SearchStrategy[int | None], *, tombstones: bool = True) -> st.SearchStrategy[tuple[Rec, ...]]:
        rec = st.builds(
            Rec,
            key=keys,
            is_tombstone=st.booleans() if tombstones else st.just(False),
            note_bytes=st.sampled_from((0, 0, 5, 300)),
            late_ms=st.sampled_from((0, 0, 1, -3, 4000)),
            has_headers=st.booleans(),
        )
        return st.lists(rec, min_size=1, max_size=6).map(tuple)

    any_key: st.SearchStrategy[int | None] = st.integers(0, len(KEYS) - 1)
    offset_key: st.SearchStrategy[int | None] = st.integers(0, len(OFFSET_KEYS) - 1)
    if style == ANYTHING:
        any_key = offset_key = st.one_of(any_key, any_key, st.none())
    plain = st.builds(Write, records(any_key), codecs, append_time=st.booleans(), copies=st.sampled_from((1, 1, 1, 40)))
    common: list[st.SearchStrategy[Op]] = [
        plain,
        plain,
        st.builds(Roll),
        st.builds(Gap, st.integers(1, 5)),
        st.builds(Wait, st.sampled_from((1, 50, 3_600_000))),
    ]
    if style == PLAIN:
        return st.one_of(common)
    transactional = st.sampled_from(TRANSACTIONAL)
    in_transaction = st.builds(
        Write, records(offset_key, tombstones=style == ANYTHING), codecs, transactional, append_time=st.booleans()
    )
    return st.one_of(
        *common,
        in_transaction,
        in_transaction,
        st.builds(End, transactional, st.booleans(), st.booleans()),
        st.builds(End, transactional, st.booleans(), st.booleans()),
        st.builds(Write, records(any_key), codecs, st.sampled_from(IDEMPOTENT)),
        st.builds(Empty, st.sampled_from((*TRANSACTIONAL, *IDEMPOTENT, NO_PRODUCER)), st.integers(1, 4)),
        st.builds(OtherControl),
    )


def seeded(seed: int, count: int, style: Style = ANYTHING) -> list[Op]:
    """`count` operations of a long log: mostly commits to a few keys, as offsets logs are."""
    rng = random.Random(seed)
    made = [_random_op(rng, style) for _ in range(count)]
    return made if style == PLAIN else [*made, *(End(producer, rng.random() < 0.5) for producer in TRANSACTIONAL[:2])]


def _random_op(rng: random.Random, style: Style) -> Op:
    def records(keys: Sequence[int | None], *, tombstones: bool) -> tuple[Rec, ...]:
        return tuple(
            Rec(
                rng.choice(keys),
                tombstones and rng.random() < 0.15,
                rng.choice((0, 3, 40)),
                rng.choice((0, 0, 0, -2, 7)),
                rng.random() < 0.1,
            )
            for _ in range(rng.randint(1, 12))
        )

    codec = rng.choice((Codec.NONE, Codec.NONE, Codec.NONE, *Codec))
    any_key: list[int | None] = list(range(len(KEYS) - len(CONSUMER_KEYS)))  # tests have chosen their seeds for these
    offset_key: list[int | None] = list(range(len(OFFSET_KEYS)))
    if style == ANYTHING:
        any_key.append(None)
        offset_key = any_key
    kind = rng.random()
    if kind < 0.06:
        return Roll()
    if kind < 0.10:
        return Gap(rng.randint(1, 50))
    if kind < 0.14:
        return Wait(rng.choice((10, 60_000, 7_200_000)))
    if kind < 0.70 or style == PLAIN:
        copies = 1 if rng.random() < 0.98 else rng.randint(50, 200)
        return Write(records(any_key, tombstones=True), codec, append_time=rng.random() < 0.1, copies=copies)
    if kind < 0.82:
        return Write(records(offset_key, tombstones=style == ANYTHING), codec, rng.choice(TRANSACTIONAL))
    if kind < 0.92:
        return End(rng.choice(TRANSACTIONAL), rng.random() < 0.6, rng.random() < 0.3)
    if kind < 0.98:
        return Write(records(any_key, tombstones=True), codec, rng.choice(IDEMPOTENT))
    return rng.choice((Empty(rng.choice(IDEMPOTENT), 2), OtherControl()))


# --- writing ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Segment:
    base_offset: int
    data: bytes = b""

    @property
    def name(self) -> str:
        return f"{self.base_offset:020d}.log"

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    @property
    def next_offset(self) -> int:
        return max((header.last_offset + 1 for _, header in iter_batches(self.data)), default=self.base_offset)


@dataclass(slots=True)
class LogWriter:
    """Writes operations; `closed` are the finished segments, the last one is the active."""

    next_offset: int = 0
    now_ms: int = START_MS
    leader_epoch: int = 4
    segments: list[Segment] = field(default_factory=lambda: [Segment(0)])
    written: int = 0
    epochs: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    in_transaction: set[int] = field(default_factory=set)

    def write(self, ops: Iterable[Op]) -> LogWriter:
        for op in ops:
            self.now_ms += 10
            self._do(op)
        return self

    @property
    def closed(self) -> list[Segment]:
        return self.segments[:-1]

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    def roll(self) -> LogWriter:
        self._do(Roll())
        return self

    def _do(self, op: Op) -> None:
        match op:
            case Write():
                self._write(op)
            case End(producer_id, commit, new_epoch):
                self._end(producer_id, ControlType.COMMIT if commit else ControlType.ABORT, new_epoch=new_epoch)
            case Empty(producer_id, count):
                if producer_id in TRANSACTIONAL:
                    self.in_transaction.add(producer_id)
                self._append([], producer_id, count=count)
            case Gap(offsets):
                self.next_offset += offsets
            case Wait(ms):
                self.now_ms += ms
            case Roll():
                if self.active.data:
                    self.segments.append(Segment(self.next_offset))
            case OtherControl():
                key = struct.pack(">hh", 0, LEADER_CHANGE)
                value = struct.pack(">hi", 0, 1) + b"\x01\x01\x00"  # a leader, no voters
                self._append([(self.now_ms, key, value, ())], NO_PRODUCER, is_control=True)

    def _write(self, op: Write) -> None:
        if op.producer_id in TRANSACTIONAL:
            self.in_transaction.add(op.producer_id)
        records = []
        for rec in op.records * op.copies:
            self.written += 1
            headers = (("of", b"no use"), ("null", None)) if rec.has_headers else ()
            key = None if rec.key is None else KEYS[rec.key]
            value = None if rec.is_tombstone else _value(rec.key, self.written, rec.note_bytes)
            records.append((self.now_ms + rec.late_ms, key, value, headers))
        self._append(records, op.producer_id, codec=op.codec, append_time=op.append_time)

    def _end(self, producer_id: int, kind: ControlType, *, new_epoch: bool) -> None:
        if new_epoch:
            self.epochs[producer_id] = self.epochs.get(producer_id, 0) + 1
            self.sequences.pop(producer_id, None)
        self.in_transaction.discard(producer_id)
        record = (self.now_ms, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 7), ())
        self._append([record], producer_id, is_control=True)

    def _append(
        self,
        records: Sequence[tuple[int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]],
        producer_id: int,
        *,
        codec: Codec = Codec.NONE,
        append_time: bool = False,
        is_control: bool = False,
        count: int = 0,
    ) -> None:
        last_delta = (len(records) or count) - 1
        sequence = -1
        if producer_id != NO_PRODUCER and not is_control:
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + last_delta + 1
        base_ms = records[0][0] if records else -1
        body = b"".join(
            _record(timestamp - base_ms, delta, key, value, headers)
            for delta, (timestamp, key, value, headers) in enumerate(records)
        )
        max_ms = self.now_ms if append_time or not records else max(timestamp for timestamp, *_ in records)
        transactional = producer_id in TRANSACTIONAL
        checked = struct.pack(
            ">hiqqqhii",
            codec | 0x08 * append_time | 0x10 * transactional | 0x20 * is_control,
            last_delta,
            base_ms,
            max_ms,
            producer_id,
            -1 if producer_id == NO_PRODUCER else self.epochs.setdefault(producer_id, 0),
            sequence,
            len(records),
        )
        body = compress(codec, body)
        crc = google_crc32c.value(checked + body)
        prefix = struct.pack(">qiibI", self.next_offset, 49 + len(body), self.leader_epoch, 2, crc)
        self.active.data += prefix + checked + body
        self.next_offset += last_delta + 1


def _value(key: int | None, number: int, note_bytes: int) -> bytes:
    note = ("n" * note_bytes)[:note_bytes]
    if key is not None and KEYS[key] in CONSUMER_KEYS:
        return encode_value(consumer_value(KEYS[key], number, note))
    if key is not None and len(OFFSET_KEYS) <= key < len(OFFSET_KEYS) + len(GROUP_KEYS):
        members = [
            MemberValue(
                member_id=f"member {number}",
                group_instance_id=None,
                client_id="c",
                client_host="/h",
                rebalance_timeout_ms=1,
                session_timeout_ms=1,
                subscription=b"s" + note.encode(),
                assignment=b"",
            )
        ] * (number % 3 == 0)
        leader = members[0].member_id if members else None
        return encode_group_value(
            GroupValue(
                protocol_type="consumer",
                generation=number,
                protocol="range" if members else None,
                leader=leader,
                current_state_timestamp_ms=number,
                members=members,
            )
        )
    return encode_offset_value(OffsetValue(number, number % 5 - 1, note, START_MS + number, -1))


def consumer_value(key: bytes, number: int, note: str = "") -> Value:
    """Return a value for the key of a record of a KIP-848 group; another one for each number."""
    decoded = decode_record_key(key)
    assert decoded is not None
    topic_id, partitions = number.to_bytes(16, "big"), [0, number % 9]
    match decoded.kind:
        case RecordKind.CONSUMER_GROUP:
            return ConsumerGroupMetadataValue(number, number % 3)
        case RecordKind.CONSUMER_TOPICS:
            return ConsumerGroupPartitionMetadataValue([SubscribedTopic(topic_id, "t" + note, number)])
        case RecordKind.CONSUMER_MEMBER:
            return ConsumerGroupMemberMetadataValue(None, None, f"c{number}", "/h", ["t" + note], None, 1, None)
        case RecordKind.CONSUMER_TARGET_EPOCH:
            return ConsumerGroupTargetAssignmentMetadataValue(number)
        case RecordKind.CONSUMER_TARGET:
            return ConsumerGroupTargetAssignmentMemberValue([TargetPartitions(topic_id, partitions)])
        case RecordKind.CONSUMER_CURRENT:
            return ConsumerGroupCurrentMemberAssignmentValue(
                number, number - 1, 0, [CurrentPartitions(topic_id, partitions)]
            )
        case _:
            return ConsumerGroupRegularExpressionValue(["a" + note], number, number)


def _record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
) -> bytes:
    body = b"\0" + zigzag(timestamp_delta) + zigzag(offset_delta) + _bytes(key) + _bytes(value) + zigzag(len(headers))
    for name, content in headers:
        body += _bytes(name.encode()) + _bytes(content)
    return zigzag(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return zigzag(-1) if data is None else zigzag(len(data)) + data


# --- compacting and reading -------------------------------------------------------------------------------------------

Compact: TypeAlias = Callable[[Plan, PartitionPlan, Path, Path], PartitionResult]


def plan_for(
    segments: Sequence[Segment],
    directory: Path,
    *,
    clean_up_to: int,
    now_ms: int,
    delete_retention_ms: int = DAY_MS,
    segment_bytes: int = 1 << 20,
    partition: int = 0,
) -> tuple[Plan, PartitionPlan]:
    """Write the segments into `directory` as a job finds them; return the plan for them."""
    directory.mkdir(parents=True, exist_ok=True)
    inputs = []
    for segment in segments:
        (directory / segment.name).write_bytes(segment.data)
        sha256 = hashlib.sha256(segment.data).hexdigest()
        inputs.append(InputSegment(segment.name, segment.size_bytes, sha256, segment.base_offset, segment.next_offset))
    part = PartitionPlan(partition, clean_up_to, tuple(inputs))
    plan = Plan("plan", "epoch", now_ms, now_ms + 1, now_ms, delete_retention_ms, segment_bytes, (part,))
    return plan, part


def compacted(
    compact: Compact,
    segments: Sequence[Segment],
    clean_up_to: int,
    now_ms: int,
    *,
    delete_retention_ms: int = DAY_MS,
    segment_bytes: int = 1 << 20,
) -> tuple[list[Segment], PartitionResult]:
    """Run one round in a temporary directory; return the outputs and the result."""
    with tempfile.TemporaryDirectory() as name:
        in_dir, out_dir = Path(name, "in", "0"), Path(name, "out", "0")
        plan, part = plan_for(
            segments,
            in_dir,
            clean_up_to=clean_up_to,
            now_ms=now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        result = compact(plan, part, in_dir, out_dir)
        return outputs_of(result, out_dir), result


def outputs_of(result: PartitionResult, out_dir: Path) -> list[Segment]:
    """Return the outputs of a compaction, each compared with the facts in the result."""
    assert result.error is None, result.error
    made = []
    for output in result.outputs:
        data = (out_dir.parent / output.file).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (output.size_bytes, output.sha256)
        made.append(Segment(output.base_offset, data))
    return made


State: TypeAlias = dict[bytes, tuple[bytes, int]]  # key -> value, offset
Pending: TypeAlias = set[tuple[int, bytes, bytes | None, int]]


def replayed(segments: Iterable[Segment], *, then_commit: bool = False) -> tuple[State, Pending]:
    """Return the newest committed value of every key, and the records of open transactions. Checks every batch.

    With `then_commit`, as if the transactions that are open at the end were committed next.
    """
    newest: dict[bytes, tuple[bytes | None, int]] = {}
    open_: dict[int, list[tuple[bytes, bytes | None, int]]] = {}

    def apply(key: bytes, value: bytes | None, offset: int) -> None:
        if offset > newest.get(key, (None, -1))[1]:
            newest[key] = (value, offset)

    for segment in segments:
        least = segment.base_offset
        end = 0
        for position, header in iter_batches(segment.data):
            verify(segment.data, position, header)
            assert header.base_offset >= least, "the batches ascend"
            least, end = header.last_offset + 1, position + header.size_bytes
            records = read_records(segment.data, position, header)
            offsets = [record.offset for record in records]
            assert offsets == sorted(set(offsets)), "the records ascend"
            assert all(header.base_offset <= offset <= header.last_offset for offset in offsets)
            for record in records:
                if header.is_control:
                    kind = control_type(record)
                    if kind is not ControlType.UNKNOWN:
                        for item in open_.pop(header.producer_id, []):
                            if kind is ControlType.COMMIT:
                                apply(*item)
                elif record.key is None:
                    continue
                elif header.is_transactional:
                    open_.setdefault(header.producer_id, []).append((record.key, record.value, record.offset))
                else:
                    apply(record.key, record.value, record.offset)
        assert end == len(segment.data), "whole batches"
    if then_commit:
        for items in open_.values():
            for item in items:
                apply(*item)
    state = {key: (value, offset) for key, (value, offset) in newest.items() if value is not None}
    return state, {(producer_id, *item) for producer_id, items in open_.items() for item in items}
