"""What memory holds from the older part of a log: for the check that a compacted log says the same.

Every committed offset knows where its record stands in the log, and so does every group. Of those that stand below a
given offset this yields rows, a few hundred at a time, so that the event loop can serve others in between. No copy of
the whole is ever made, and none is needed: what changes meanwhile has a newer record, beyond that offset, and whoever
compares finds that record in the log. So each row is right at the moment it is yielded, and a row that is missing has
been overwritten or deleted by something that is already durable.

Offsets of open transactions are left out: they are not committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.shard import Shard

# group, topic, partition, log offset of the record, then what it says: offset, leader epoch, metadata, commit and
# expiry time in ms
OffsetRow = tuple[str, str, int, int, int, int, str, int, int]
GroupRow = tuple[str, int]  # group, log offset of its newest record
Row = OffsetRow | GroupRow

ROWS_AT_ONCE = 256  # not Final: a test changes it, in the compiled build too
LOOKED_AT_ONCE: Final = 1024  # entries, whether they give rows or not


class StateChangedError(Exception):
    """The partition was loaded anew while it was being read: begin again."""


def committed_rows(shard: Shard, below_offset: int) -> Iterator[list[Row]]:
    """The rows whose records stand below `below_offset`, in no order; sometimes an empty list, to let others run.

    Everything may happen between two of them, and before the first. StateChangedError: the partition is not what it
    was when this was called.
    """
    store = shard.offsets  # now, and not when the first row is asked for: it may be being loaded by then

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
    yield rows
