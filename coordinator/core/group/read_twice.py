"""Records that are read twice after a rebalance: sent to the former owner of a partition, and not committed by it.

The number is an upper bound for the partitions that are counted: the former owner may not have processed all that it
was sent. A partition is not counted if the group has no committed offset for it (auto.offset.reset decides where the
next owner starts), if its log is on another node, or if its reader is unknown or ambiguous
(coordinator/core/topics/readers.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.shard import Shard

    TakeReadUpTo = Callable[[str, int, str, str], int]  # topic, partition, client id and host

COUNTED_AT_MOST: Final = 10_000  # partitions of one rebalance; more are not counted
UNKNOWN: Final = -1


class ReadTwice:
    """The sum for one rebalance of a group, which ended at `ended_ms` of the wall clock."""

    __slots__ = ("_ended_ms", "_group_id", "_offsets", "_take_read_up_to", "records")

    def __init__(self, group_id: str, shard: Shard, take_read_up_to: TakeReadUpTo, ended_ms: int) -> None:
        self._group_id = group_id
        self._offsets = shard.offsets
        self._take_read_up_to = take_read_up_to
        self._ended_ms = ended_ms
        self.records = UNKNOWN  # no partition is counted yet

    def lost(self, topic: str, partition: int, client_id: str, client_host: str) -> None:
        """Count a partition that this client has lost."""
        read_up_to = self._take_read_up_to(topic, partition, client_id, client_host)
        if read_up_to < 0:
            return
        committed = self._offsets.get(self._group_id, topic, partition)
        if committed is None or committed.commit_timestamp_ms > self._ended_ms:  # the next owner's
            return
        self.records = max(self.records, 0) + max(read_up_to - committed.offset, 0)
