"""`coordinator compact` for `spark-submit`, which wants a file:

    spark-submit --master spark://head:7077 --py-files packages.zip .../coordinator/cli/compact/spark_main.py \\
        --data-dir /mnt/shared/data

Arguments and exit codes are those of the command. The master and everything about executors is what spark-submit was
told. `python -m coordinator.cli.compact.spark_main --zip packages.zip` makes the zip; it is only needed where these
packages are not installed on the executors.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Exit code as of `coordinator compact`."""
    if argv[:1] == ["--zip"] and len(argv) == 2:
        from coordinator.spark.spark_session import write_packages

        write_packages(Path(argv[1]))
        return 0
    from coordinator.cli.main import main as command

    return command(["compact", *argv])


if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it first: here that would be parts of a package.
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [place for place in sys.path if place != here]
    if str(Path(here).parents[2]) not in sys.path:
        sys.path.insert(0, str(Path(here).parents[2]))
    sys.exit(main(sys.argv[1:]))
