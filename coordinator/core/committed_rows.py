"""Rows of the committed offsets and groups in memory, for the comparison with a compacted log.

Each committed offset, classic group and record of a KIP-848 group knows its log offset. `committed_rows` yields those
below a given offset, a few hundred at a time, so that the event loop can run other work in between. No copy of the
state is needed: a value that changes meanwhile has a newer record beyond that offset, which the comparison finds in the
log. So each row is correct when it is yielded, and a missing row has been overwritten or deleted by a durable record.

Offsets of open transactions are not included, because they are not committed. A KIP-848 group has a row for each of its
records, and so has one in quarantine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.record_places import offset_and_crc

if TYPE_CHECKING:
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.shard import Shard

# group, topic, partition, log offset of the record, and its content: offset, leader epoch, metadata, commit and expiry
# time in ms
OffsetRow = tuple[str, str, int, int, int, int, str, int, int]
GroupRow = tuple[str, int]  # group, log offset of its newest record
DamagedRow = tuple[bytes, int]  # state key and log offset of a record in quarantine
ConsumerRow = tuple[bytes, int, int]  # key, log offset and CRC-32 of the value of a record of a KIP-848 group
Row = OffsetRow | GroupRow | DamagedRow | ConsumerRow

ROWS_AT_ONCE = 256  # not Final, because a test changes it and mypyc inlines Final constants
LOOKED_AT_ONCE: Final = 1024  # entries per step, with or without rows


class StateChangedError(Exception):
    """The partition was loaded again while it was being read; the caller must start again."""


def committed_rows(shard: Shard, below_offset: int) -> Iterator[list[Row]]:
    """Yield the rows with records below `below_offset`, in no order; sometimes an empty list, to end a step.

    Other events may run between two lists and before the first. Raises StateChangedError if the partition was loaded
    again since the call.
    """
    store = shard.offsets  # read now and not with the first row, when the partition may be loading

    def rows() -> Iterator[list[Row]]:
        for some in _rows(shard, store, below_offset):
            if shard.offsets is not store:
                raise StateChangedError
            yield some
            if shard.offsets is not store:
                raise StateChangedError

    return rows()


def _rows(shard: Shard, store: OffsetStore, below_offset: int) -> Iterator[list[Row]]:
    looked = 0
    rows: list[Row] = []
    for group_id in store.group_ids():
        for topic, partitions in list(store.peek(group_id).items()):
            for partition, committed in list(partitions.items()):
                looked += 1
                if committed.log_offset < below_offset:
                    rows.append((group_id, topic, partition, committed.log_offset, *committed[:5]))
                if len(rows) >= ROWS_AT_ONCE or looked >= LOOKED_AT_ONCE:
                    yield rows
                    rows, looked = [], 0
    for group_id in list(shard.groups):
        group = shard.groups.get(group_id)
        looked += 1
        if group is not None and 0 <= group.record_offset < below_offset:
            rows.append((group_id, group.record_offset))
        if len(rows) >= ROWS_AT_ONCE or looked >= LOOKED_AT_ONCE:
            yield rows
            rows, looked = [], 0
    for group_id in list(shard.consumer_groups):
        consumer_group = shard.consumer_groups.get(group_id)
        for key, place in list(consumer_group.record_places.items()) if consumer_group is not None else ():
            looked += 1
            log_offset, crc = offset_and_crc(place)
            if log_offset < below_offset:
                rows.append((key, log_offset, crc))
            if len(rows) >= ROWS_AT_ONCE or looked >= LOOKED_AT_ONCE:
                yield rows
                rows, looked = [], 0
    yield rows
    quarantine = shard.quarantine
    damaged: list[Row] = [
        (one.group_id, one.record_offset) for one in quarantine.groups.values() if 0 <= one.record_offset < below_offset
    ]
    damaged += [(key, log_offset) for key, log_offset in quarantine.offsets.items() if log_offset < below_offset]
    for start in range(0, len(damaged), ROWS_AT_ONCE):
        yield damaged[start : start + ROWS_AT_ONCE]
