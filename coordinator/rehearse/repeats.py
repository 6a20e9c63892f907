"""Counts records that an owner had for a while and that were sent again: it processed them and did not commit them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.rehearse.callbacks import PartitionRelease
    from coordinator.torture.watch import SentRecords

HELD_S: Final = 1.0  # younger records may have waited in the client, unprocessed


def sent_again(sent: Iterable[SentRecords], releases: Sequence[PartitionRelease], since_s: float) -> int:
    """Return how many offsets of a partition were sent after `since_s` although their owner had had them for HELD_S.

    `releases`: those of all partitions, in their order. While a client gives up any partition it processes nothing, and
    it may fetch the others again.
    """
    before: dict[int, SentRecords] = {}  # by offset: the answer with which it was sent before
    count = 0
    for records in sorted(sent, key=lambda each: each.at_s):
        for offset in range(records.first, records.last + 1):
            if (former := before.get(offset)) is not None and records.at_s >= since_s:
                ends_s = [
                    each.told_s
                    for each in releases
                    if each.client == former.client and former.at_s < each.at_s <= records.at_s
                ]
                count += min(ends_s, default=records.at_s) - former.at_s >= HELD_S
            before[offset] = records
    return count
