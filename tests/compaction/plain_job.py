"""The smallest job: runs the oracle, in this process or one of its own, without Spark.

`python -m tests.compaction.plain_job DATA_DIR PLAN_ID` is a job that can be killed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from coordinator.compaction.jobs import read_plan
from coordinator.compaction.plan import JobDir, Manifest
from coordinator.storage.log.fs import RealFileSystem, write_atomically
from tests.compaction import oracle


def do_job(
    data_dir: Path, plan_id: str, spoil: Callable[[JobDir, Manifest], Manifest] = lambda job, manifest: manifest
) -> Manifest:
    """Compact the inputs of a plan; write the manifest last, and return it. `spoil` may change it before."""
    fs, job = RealFileSystem(), JobDir.of(data_dir, plan_id)
    plan = read_plan(fs, job)
    results = tuple(
        oracle.compact_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
        for part in plan.partitions
    )
    manifest = spoil(job, Manifest(plan.id, plan.epoch, plan.sha256, "test", "plain", results))
    write_atomically(fs, job.manifest, manifest.to_bytes())
    return manifest


if __name__ == "__main__":
    do_job(Path(sys.argv[1]), sys.argv[2])
