"""Offsets logs for the benches of the Spark pipeline: large, shaped like a busy cluster's, and the same for one seed.

Groups differ in size and in how often they commit: a few are everywhere, most are rare. A batch is one commit of one
group with 1 to 19 partitions; about 1 % of the records are group metadata with members, about 1 % tombstones. A record
with its share of the batch header takes about 95 bytes. Groups go to the partition that a coordinator gives them, and
the directory has the names of a data directory, so commands run on it.

    python bench/spark_logs.py DIR --size 200MB --keys 100000
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from coordinator.core.shard import partition_for
from protocol.compression import Codec
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    encode_group_key,
    encode_group_value,
    offset_key_prefix,
)
from protocol.record_batch import build_batch

START_MS: Final = 1_790_000_000_000
STEP_MS: Final = 7  # between two commits, on average
MOST_PARTITIONS: Final = 19
GROUP_SHARE: Final = 0.01
TOMBSTONE_SHARE: Final = 0.01
SKEW: Final = 0.8  # the n-th group commits n ** -SKEW as often as the first
MEANWHILE: Final = 1024  # choices drawn at once

_VALUE: Final = struct.Struct(">hqihq")  # an OffsetValue of version 3 without metadata
_PARTITION: Final = struct.Struct(">i")
_MB: Final = {"": 1, "k": 1000, "M": 1000**2, "G": 1000**3}


@dataclass(slots=True)
class _Group:
    name: str
    lp: int  # the partition of the offsets log
    keys: list[bytes]
    offset: int
    generation: int = 1


@dataclass(slots=True)
class _Partition:
    """One partition of the log, written segment after segment."""

    directory: Path
    segment_bytes: int
    next_offset: int = 0
    parts: list[bytearray] = field(default_factory=list)
    size: int = 0
    base: int = 0
    segments: int = 0

    def add(self, batch: bytearray, records: int) -> None:
        if self.size + len(batch) > self.segment_bytes:
            self.close()
        self.parts.append(batch)
        self.size += len(batch)
        self.next_offset += records

    def close(self) -> None:
        if self.parts:
            (self.directory / f"{self.base:020d}.log").write_bytes(b"".join(self.parts))
            self.segments += 1
        self.parts.clear()
        self.size = 0
        self.base = self.next_offset


@dataclass(frozen=True, slots=True)
class Written:
    """The logs that `write_logs` made."""

    data_dir: Path
    size_bytes: int
    records: int
    segments: int
    end_ms: int  # the timestamp of the last batch


def write_logs(
    data_dir: Path,
    *,
    size_bytes: int = 200_000_000,
    keys: int = 100_000,
    partitions: int = 8,
    segment_bytes: int = 8_000_000,
    codec: Codec = Codec.NONE,
    seed: int = 1,
    start_ms: int = START_MS,
    step_ms: int = STEP_MS,
) -> Written:
    """Write `partitions` logs of `size_bytes` in sum, with about `keys` keys; the last segment of each is short."""
    chance = random.Random(seed)
    logs = []
    for number in range(partitions):
        directory = data_dir / f"__consumer_offsets-{number}"
        directory.mkdir(parents=True)
        logs.append(_Partition(directory, segment_bytes))
    meta = f"version=1\ncluster.id=bench{seed:017d}\nnode.id=0\ncoordinator.format.version=1\n"
    (data_dir / "meta.properties").write_text(f"{meta}offsets.topic.num.partitions={partitions}\n")
    written = records = 0
    now_ms = start_ms
    for group, dice in _commits(_groups(keys, partitions, chance), chance):
        now_ms += int(2 * step_ms * dice)
        log = logs[group.lp]
        pairs = _records(group, now_ms, chance)
        batch = build_batch(pairs, base_offset=log.next_offset, timestamp_ms=now_ms, codec=codec)
        log.add(batch, len(pairs))
        records += len(pairs)
        written += len(batch)
        if written >= size_bytes:
            break
    for log in logs:
        log.close()
    return Written(data_dir, written, records, sum(log.segments for log in logs), now_ms)


def _groups(keys: int, partitions: int, chance: random.Random) -> list[_Group]:
    groups: list[_Group] = []
    left = keys
    while left > 0:
        size = min(left, chance.choice((1, 3, 6, 12, 12, 24, 48, 96)))
        name = f"service-{len(groups):06d}-consumers"
        prefix = offset_key_prefix(name, f"orders.events.{chance.randrange(500):03d}.v1")
        numbers = [prefix + _PARTITION.pack(number) for number in range(size)]
        groups.append(_Group(name, partition_for(name, partitions), numbers, chance.randrange(10**9)))
        left -= size
    chance.shuffle(groups)
    return groups


def _commits(groups: list[_Group], chance: random.Random) -> Iterator[tuple[_Group, float]]:
    """Which group comes next, and a number below 1, for ever."""
    weights = list(itertools.accumulate((rank + 1) ** -SKEW * len(each.keys) for rank, each in enumerate(groups)))
    while True:
        for group in chance.choices(groups, cum_weights=weights, k=MEANWHILE):
            yield group, chance.random()


def _records(group: _Group, now_ms: int, chance: random.Random) -> list[tuple[bytes | None, bytes | None]]:
    dice = chance.random()
    if dice < GROUP_SHARE * 10:  # batches of one record, among others of ten
        return [(encode_group_key(group.name), _generation(group, now_ms))]
    keys = group.keys
    count = min(len(keys), 1 + int(chance.random() * MOST_PARTITIONS))
    start = int(chance.random() * (len(keys) - count + 1))
    some = keys[start : start + count]
    if dice < GROUP_SHARE * 10 + TOMBSTONE_SHARE:
        return [(key, None) for key in some]
    group.offset += count
    at = group.offset
    pack = _VALUE.pack
    return [(key, pack(3, at + place, -1, 0, now_ms)) for place, key in enumerate(some)]


def _generation(group: _Group, now_ms: int) -> bytes:
    group.generation += 1
    members = [
        MemberValue(
            member_id=f"{group.name}-{number}-0f8fad5b-d9cb-469f-a165-70867728950e",
            group_instance_id=None,
            client_id=f"{group.name}-{number}",
            client_host=f"/10.0.{number}.7",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=45_000,
            subscription=b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff\0\0\0\0",
            assignment=b"\0\1\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xff\xff\xff\xff",
        )
        for number in range(group.generation % 3)
    ]
    return encode_group_value(
        GroupValue(
            protocol_type="consumer",
            generation=group.generation,
            protocol="range" if members else None,
            leader=members[0].member_id if members else None,
            current_state_timestamp_ms=now_ms,
            members=members,
        )
    )


def size_of(text: str) -> int:
    """`200MB`, `1GB`, `300k` or plain bytes, as a number of bytes."""
    found = re.fullmatch(r"(\d+)([kMG]?)B?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 200MB or 1GB")
    return int(found[1]) * _MB[found[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="made; must not hold a log yet")
    parser.add_argument("--size", type=size_of, default="200MB")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--segment-size", type=size_of, default="8MB")
    parser.add_argument("--codec", choices=[each.name.lower() for each in Codec], default="none")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.perf_counter()
    made = write_logs(
        given.directory,
        size_bytes=given.size,
        keys=given.keys,
        partitions=given.partitions,
        segment_bytes=given.segment_size,
        codec=Codec[given.codec.upper()],
        seed=given.seed,
    )
    print(
        f"{made.size_bytes / 1e6:.1f} MB, {made.records} records, {made.size_bytes / made.records:.1f} bytes each, "
        f"{made.segments} segments in {time.perf_counter() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
