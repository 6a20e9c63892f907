"""`coordinator compact` with a process that is killed meanwhile: `... dying_compact driver|worker ARGUMENTS`.

`driver`: this process, when all outputs are written and the manifest is not. `worker`: the Python workers of the first
attempt of every task, when they have done their work; Spark repeats those tasks.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from coordinator.__main__ import main
from coordinator.compaction import spark_compact, spark_tasks
from coordinator.compaction.spark_tasks import compact as real_compact
from coordinator.compaction.spark_tasks import rewrite as real_rewrite


def kill_this_process(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingTasks:
    """`spark_tasks` whose first attempts kill their workers. An object, because objects are sent by value."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        real = {"compact": real_compact, "rewrite": real_rewrite}.get(name)
        if real is None:
            return getattr(spark_tasks, name)

        def run(*given: Any) -> str:
            from pyspark import TaskContext

            text: str = real(*given)
            context = TaskContext.get()
            if context is not None and context.attemptNumber() == 0:
                kill_this_process()
            return text

        return run

    def __reduce__(self) -> Any:
        return DyingTasks, ()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "driver":
        spark_compact.write_atomically = kill_this_process  # type: ignore[assignment]
    else:
        spark_compact.spark_tasks = DyingTasks()  # type: ignore[assignment]
    sys.exit(main(["compact", *arguments]))
