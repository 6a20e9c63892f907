"""A whole `coordinator compact` without Spark: asks for a plan, runs the job, waits for the outcome."""

from __future__ import annotations

import sys
from pathlib import Path

from coordinator.compaction.plan import JobDir
from coordinator.compaction.request import Request, outcome_of, wait_for_answer
from tests.compaction.plain_job import do_job
from tests.support.eventually import eventually

if __name__ == "__main__":
    data_dir = Path(sys.argv[1])
    answer = wait_for_answer(data_dir, Request.new())
    for plan_id in answer.plan_ids:
        do_job(data_dir, plan_id)
        job = JobDir.of(data_dir, plan_id)
        print(eventually(lambda job=job: outcome_of(job), "the plan is settled", within_s=60))  # type: ignore[misc]
    print("the asking job is done")
