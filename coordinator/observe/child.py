"""The observer's child process: `python -m coordinator.observe.child extract|compact`.

`extract` turns closed segments of the mirror into Parquet, thins older days and removes what is too old. `compact`
carries out a plan of compaction and checks its result against the inputs. In the observer's own process both would hold
the event loop. The child runs at a low priority, takes one order from stdin, writes one answer to stdout, and ends when
the observer does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from coordinator.columnar.batches import CorruptBatchError
from coordinator.compaction.offline import raise_first, verdict_on
from coordinator.compaction.plan import JobDir
from coordinator.compaction.spark_compact import JobError, Mode, run_job
from coordinator.compaction.swap_protocol import AlreadySettledError, read_result
from coordinator.compaction.validate import LateError, RefusedError
from coordinator.history.events import extract_events
from coordinator.history.extract import ExtractError, extract
from coordinator.history.retention import Limits, forget_old
from coordinator.history.segments import SegmentsError
from coordinator.history.source import HistorySource
from coordinator.history.thinning import Thinned, thin
from coordinator.processes import child_entry, frames
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.history_marks import MarksError
from coordinator.storage.log.fs import RealFileSystem

Order = Mapping[str, Any]
Answer = dict[str, Any]


def main(argv: list[str] | None = None) -> int:
    """Read one order, write one answer. An answer has `error`, a sentence, if the work failed."""
    act = ACTS[(argv or sys.argv[1:])[0]]
    stdin, stdout = child_entry.begin()
    order = frames.read(stdin)
    frames.write(stdout, act(order))
    return 0


def extract_and_forget(order: Order) -> Answer:
    """Extract closed segments, then thin and remove what is old. The answer counts all of it."""
    try:
        source = HistorySource.of(Path(order["data_dir"]))
        done = extract(source, skip_corrupt=True)
        extract_events(source)
        limits = Limits(order["retention_ms"], order["max_bytes"])
        thinned = thin(source, wall_ms(), RealFileSystem()) if order["thins"] else Thinned()
        removed = forget_old(source, limits, wall_ms(), RealFileSystem())
    except (ExtractError, SegmentsError, MarksError, CorruptBatchError) as error:
        return {"error": str(error)}
    except OSError as error:
        return {"error": f"the history in {order['data_dir']} cannot be written ({error.strerror or error})"}
    return {
        "segments": len(done),
        "commits": sum(each.commits for each in done),
        "bytes_read": sum(each.bytes_read for each in done),
        "bytes_written": sum(each.bytes_written for each in done),
        "removed": asdict(removed),
        "thinned": asdict(thinned),
    }


def compact(order: Order) -> Answer:
    """Carry out a plan and check the result. Nothing of the log is changed."""
    data_dir, plan_id = Path(order["data_dir"]), order["plan_id"]
    try:
        run_job(JobDir.of(data_dir, plan_id), mode=Mode.SINGLE, spark=None, now_ms=wall_ms())
        accepted = read_result(RealFileSystem(), data_dir, plan_id, epoch=order["epoch"], now_ms=wall_ms())
        raise_first(verdict_on(data_dir, accepted, number) for number in range(len(accepted.results)))
    except (JobError, RefusedError, LateError, AlreadySettledError) as error:
        return {"error": str(error)}
    except OSError as error:
        return {"error": f"the compaction could not work on {data_dir} ({error.strerror or error})"}
    return {"partitions": len(accepted.results)}


ACTS: Final[Mapping[str, Callable[[Order], Answer]]] = {"extract": extract_and_forget, "compact": compact}

if __name__ == "__main__":
    sys.exit(main())
