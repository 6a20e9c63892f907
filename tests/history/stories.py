"""Builds the offsets log of a group step by step: members that come and go, commits by them or by tools.

    Story().members("a", "b").commit(t=5).empty().wait(60).commit(t=0)      # the last commit is a reset

It is one partition of the offsets log. Every record is a batch of its own, except those of one request.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordinator.history.commits import Commits
from coordinator.history.rebalances import GroupRecord
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from protocol.consumer import Assignment, TopicPartitions, encode_assignment
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import ControlType, build_batch, build_control_batch
from tests.compaction.logs import START_MS, Segment
from tests.history.worlds import data_dir

Owned = Mapping[str, Mapping[str, list[int]]]  # member -> topic -> partitions


class Story:
    """A log under construction. Each step advances the time by 10 ms."""

    def __init__(self, group: str = "g") -> None:
        self.group = group
        self.now_ms = START_MS
        self.next_offset = 0
        self.generation = 0
        self.closed: list[Segment] = []
        self.active = Segment(0)

    def wait(self, seconds: float) -> Story:
        self.now_ms += int(seconds * 1000)
        return self

    def roll(self) -> Story:
        self.closed.append(self.active)
        self.active = Segment(self.next_offset)
        return self

    def segments(self) -> list[Segment]:
        """Return the segments. The last one is empty, so that all others are closed."""
        self.roll()
        return [*self.closed, self.active]

    def source(self, directory: Path) -> HistorySource:
        return data_dir(directory, [*self.closed, self.active])

    def past(self, directory: Path) -> tuple[Commits, list[GroupRecord]]:
        past = load_group(self.source(directory), self.group)
        return past.commits, past.records

    # -- steps

    def commit(self, producer_id: int = -1, metadata: str = "", **offsets: int | None) -> Story:
        """Commit in one request: `t=5` is partition 0 of topic t, `t_3=5` partition 3. None deletes."""
        records: list[tuple[bytes | None, bytes | None]] = []
        for name, offset in offsets.items():
            topic, _, number = name.partition("_")
            value = None
            if offset is not None:
                value = encode_offset_value(OffsetValue(offset, -1, metadata, self.now_ms, -1))
            records.append((encode_offset_key(self.group, topic, int(number or 0)), value))
        return self._write(records, producer_id)

    def end_transaction(self, producer_id: int, *, commit: bool) -> Story:
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        batch = build_control_batch(
            kind, base_offset=self.next_offset, timestamp_ms=self.now_ms, producer_id=producer_id, producer_epoch=0
        )
        return self._append(batch, 1)

    def created(self) -> Story:
        return self._state({}, None)

    def members(self, *names: str, owning: Owned | None = None, **instances: str) -> Story:
        """Start a new generation. `name=instance` is a static member."""
        self.generation += 1
        owned = owning or {}
        every = dict.fromkeys(names, None) | instances
        return self._state({name: (instance, owned.get(name, {})) for name, instance in every.items()}, "range")

    def replaced(self, owning: Owned | None = None, **instances: str) -> Story:
        """Restart a static member, in the same generation."""
        self.generation -= 1
        return self.members(owning=owning, **instances)

    def empty(self) -> Story:
        self.generation += 1
        return self._state({}, None)

    def deleted(self) -> Story:
        return self._write([(encode_group_key(self.group), None)])

    def _state(self, members: Mapping[str, tuple[str | None, Mapping[str, list[int]]]], protocol: str | None) -> Story:
        values = [
            MemberValue(
                member_id=f"{name.rstrip('0123456789')}-{name:-<8}-0000",
                group_instance_id=instance,
                client_id=name.rstrip("0123456789"),
                client_host="/10.0.0.1",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=45_000,
                subscription=b"\0\0\0\0\0\0\xff\xff\xff\xff",
                assignment=encode_assignment(
                    Assignment(assigned_partitions=[TopicPartitions(*each) for each in owned.items()]), 0
                ),
            )
            for name, (instance, owned) in members.items()
        ]
        value = GroupValue(
            protocol_type="consumer",
            generation=self.generation,
            protocol=protocol,
            leader=values[0].member_id if values else None,
            current_state_timestamp_ms=self.now_ms,
            members=values,
        )
        return self._write([(encode_group_key(self.group), encode_group_value(value))])

    def _write(self, records: list[tuple[bytes | None, bytes | None]], producer_id: int = -1) -> Story:
        batch = build_batch(
            records,
            base_offset=self.next_offset,
            timestamp_ms=self.now_ms,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            is_transactional=producer_id >= 0,
        )
        return self._append(batch, len(records))

    def _append(self, batch: bytes | bytearray, count: int) -> Story:
        self.active.data += bytes(batch)
        self.next_offset += count
        self.now_ms += 10
        return self
