"""The rows from memory beside the log, as a compaction compares them (`coordinator.compaction.memory_check`)."""

from __future__ import annotations

from coordinator.compaction.memory_check import MemoryCheck
from coordinator.core.offsets.replay import Replay
from tests.support.cluster import Cluster


def difference(cluster: Cluster, partition: int, compacted: Replay, cut: int) -> str | None:
    """Compare what a compacted part leaves, and the live log from its `cut`th batch on, with memory."""
    batches = list(cluster.log.records(partition))
    log = cluster.log.partitions[partition]
    below = batches[cut][0].base_offset if cut < len(batches) else log.high_watermark
    check = MemoryCheck(compacted)
    check.begin_rows()
    for rows in cluster.core.committed_rows(partition, below) or ():
        for row in rows:
            check.add_row(row)
    for header, records in batches[cut:]:
        check.add_tail(header, records)
    return check.difference()


def assert_rows_are_the_log(cluster: Cluster) -> None:
    """Compare the rows with one half of the log and with all of it."""
    for partition in range(len(cluster.log.partitions)):
        batches = list(cluster.log.records(partition))
        for cut in {len(batches) // 2, len(batches)}:
            compacted = Replay()
            for header, records in batches[:cut]:
                compacted.add(header, records)
            assert difference(cluster, partition, compacted, cut) is None
