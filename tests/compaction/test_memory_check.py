"""The comparison of a compacted log with memory finds every difference.

That it finds none in equal states is tested with random groups (tests/core/group/test_random_groups.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import pytest

from coordinator.compaction.memory_check import MemoryCheck
from coordinator.core.committed_rows import ConsumerRow, DamagedRow, GroupRow, OffsetRow
from coordinator.core.offsets.replay import Replay
from protocol.group_records import RecordKind, encode_key
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from protocol.record_batch import (
    BatchHeader,
    ControlType,
    Record,
    build_batch,
    build_control_batch,
    read_header,
    read_records,
)

KIP_KEY = encode_key(RecordKind.CONSUMER_GROUP, "g")
CUT_KEY = encode_key(RecordKind.CONSUMER_MEMBER, "g", "m")[:-1]
CUT = 100  # the compacted part ends here
Batch = tuple[BatchHeader, list[Record]]


def batch(log_offset: int, key: bytes, value: bytes | None, producer_id: int = -1) -> Batch:
    """One record in a batch of its own."""
    data = build_batch(
        [(key, value)],
        base_offset=log_offset,
        timestamp_ms=1,
        producer_id=producer_id,
        is_transactional=producer_id >= 0,
    )
    header = read_header(data)
    return header, read_records(bytes(data), 0, header)


def commit(log_offset: int, offset: int = 7, *, key_version: int = 1, producer_id: int = -1) -> Batch:
    key = key_version.to_bytes(2, "big") + encode_offset_key("g", "t", 0)[2:]
    return batch(log_offset, key, encode_offset_value(OffsetValue(offset, 2, "m", 5, -1)), producer_id)


def tombstone(log_offset: int) -> Batch:
    return batch(log_offset, encode_offset_key("g", "t", 0), None)


def marker(log_offset: int, kind: ControlType = ControlType.COMMIT) -> Batch:
    data = build_control_batch(kind, base_offset=log_offset, timestamp_ms=1, producer_id=9, producer_epoch=0)
    header = read_header(data)
    return header, read_records(bytes(data), 0, header)


def row(log_offset: int, offset: int = 7) -> OffsetRow:
    return ("g", "t", 0, log_offset, offset, 2, "m", 5, -1)


def group(log_offset: int, value: bytes | None = b"not looked into") -> Batch:
    return batch(log_offset, encode_group_key("g"), value)


def replayed(batches: list[Batch]) -> Replay:
    replay = Replay()
    for each in batches:
        replay.add(*each)
    return replay


def difference(
    compacted: list[Batch], rows: Sequence[OffsetRow | GroupRow | DamagedRow | ConsumerRow], tail: Sequence[Batch] = ()
) -> str | None:
    check = MemoryCheck(replayed(compacted))
    check.begin_rows()
    for memory in rows:
        check.add_row(memory)
    for each in tail:
        check.add_tail(*each)
    return check.difference()


SAME = {
    "nothing at all": ([], [], []),
    "one commit": ([commit(5)], [row(5)], []),
    "a commit by a key of the old version": ([commit(5, key_version=0)], [row(5)], []),
    "overwritten in the tail": ([commit(5)], [], [commit(CUT)]),
    "overwritten by a key of the old version": ([commit(5)], [], [commit(CUT, key_version=0)]),
    "deleted in the tail": ([commit(5)], [], [tombstone(CUT)]),
    "a tombstone that is kept": ([tombstone(6)], [], []),
    "committed by a marker in the tail": ([commit(5, producer_id=9)], [row(5)], [marker(CUT)]),
    "an older one, replaced by a marker in the tail": ([commit(4), commit(5, producer_id=9)], [], [marker(CUT)]),
    "committed by a marker that is kept": ([commit(5, producer_id=9), marker(6)], [row(5)], []),
    "aborted": ([commit(5, producer_id=9), marker(6, ControlType.ABORT)], [], []),
    "still open": ([commit(5, producer_id=9)], [], []),
    "a group": ([group(5)], [("g", 5)], []),
    "a group with a newer record": ([group(5)], [], [group(CUT)]),
    "a group deleted": ([group(5)], [], [group(CUT, None)]),
    "a record of an unknown kind": ([batch(5, b"\0\x09what", b"x")], [], []),
    "a record of a KIP-848 group": ([batch(5, KIP_KEY, b"x")], [(KIP_KEY, 5, crc32(b"x"))], []),
    "a newer record of a KIP-848 group": ([batch(5, KIP_KEY, b"x")], [], [batch(CUT, KIP_KEY, b"y")]),
    "a record of a KIP-848 group that was deleted": ([batch(5, KIP_KEY, b"x")], [], [batch(CUT, KIP_KEY, None)]),
    "a tombstone of a KIP-848 group that is kept": ([batch(5, KIP_KEY, None)], [], []),
    "a record of a KIP-848 group that a newer classic group replaces": (
        [batch(4, KIP_KEY, b"x"), group(5)],
        [("g", 5)],
        [],
    ),
    "a record of a KIP-848 group in quarantine": ([batch(5, KIP_KEY, b"x")], [(KIP_KEY, 5)], []),
    "a classic group that a newer KIP-848 group replaces": (
        [group(5), batch(6, KIP_KEY, b"x")],
        [(KIP_KEY, 6, crc32(b"x"))],
        [],
    ),
    "a record set aside that was deleted": ([batch(5, CUT_KEY, b"x")], [], [batch(CUT, CUT_KEY, None)]),
}

DIFFERENT = {
    "a commit that is gone": ([], [row(5)], [], "log offset 5 is in memory and not in the result"),
    "a commit from another place": ([commit(4)], [row(5)], [], "log offset 5 is in memory and not in the result"),
    "another offset": ([commit(5, offset=8)], [row(5)], [], "log offset 5 differs from what is in memory"),
    "a commit that comes back": ([commit(5)], [], [], "log offset 5 is in the result and not in memory"),
    "a commit that comes back, another key in the tail": (
        [commit(5)],
        [],
        [group(CUT)],
        "'g', 't', 0 at log offset 5 is in the result and not in memory",
    ),
    "a deleted one whose tombstone went too soon": ([commit(5)], [], [marker(CUT)], "5 is in the result and not in"),
    "a group that is gone": ([], [("g", 5)], [], "the record of group 'g' at log offset 5 is in memory and not in"),
    "an older record of a group": ([group(4)], [("g", 5)], [], "log offset 5 is in memory and not in the result"),
    "a group that comes back": ([group(5)], [], [commit(CUT)], "the record of group 'g' at log offset 5 is in the"),
    "a record of a KIP-848 group that is gone": (
        [],
        [(KIP_KEY, 5, 0)],
        [],
        "the record of the kind CONSUMER_GROUP of group 'g' at log offset 5 is in memory and not in the result",
    ),
    "an older record of a KIP-848 group": (
        [batch(4, KIP_KEY, b"x")],
        [(KIP_KEY, 5, crc32(b"x"))],
        [],
        "log offset 5 is in memory and not in the result",
    ),
    "another value in a record of a KIP-848 group": (
        [batch(5, KIP_KEY, b"y")],
        [(KIP_KEY, 5, crc32(b"x"))],
        [],
        "of group 'g' at log offset 5 differs from what is in memory",
    ),
    "a record of a KIP-848 group that comes back": (
        [batch(5, KIP_KEY, b"x")],
        [],
        [commit(CUT)],
        "the record of the kind CONSUMER_GROUP of group 'g' at log offset 5 is in the result and not in memory",
    ),
    "a record of a KIP-848 group in quarantine that is gone": (
        [],
        [(KIP_KEY, 5)],
        [],
        "the record of the kind CONSUMER_GROUP of group 'g' at log offset 5 is in quarantine and not in the result",
    ),
    "a classic group older than which a KIP-848 group is": (
        [batch(4, KIP_KEY, b"x"), group(5)],
        [],
        [],
        "the record of group 'g' at log offset 5 is in the result and not in memory",
    ),
    "an aborted commit that is kept as if committed": (
        [commit(5)],
        [],
        [marker(CUT, ControlType.ABORT)],
        "not in memory",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_equal_states_have_no_difference(name: str) -> None:
    compacted, rows, tail = SAME[name]
    assert difference(compacted, rows, tail) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_named(name: str) -> None:
    compacted, rows, tail, clause = DIFFERENT[name]
    found = difference(compacted, rows, tail)  # type: ignore[arg-type]
    assert found is not None
    assert clause in found


def test_the_first_difference_is_reported() -> None:
    assert "log offset 5 " in (difference([], [row(5), ("g", 6)]) or "")


def test_rows_may_be_asked_for_again() -> None:
    check = MemoryCheck(replayed([commit(5)]))
    check.begin_rows()
    check.add_row(row(4))
    check.begin_rows()  # the partition was loaded anew meanwhile
    check.add_row(row(5))
    assert check.difference() is None
    assert check.rows == 1
