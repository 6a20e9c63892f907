"""`coordinator compact` as a file for `spark-submit`:

    spark-submit --master spark://head:7077 --py-files packages.zip .../coordinator/cli/compact/spark_main.py \\
        --data-dir /mnt/shared/data

Arguments and exit codes are those of the command. The master and the executors are configured by spark-submit.
`python -m coordinator.cli.compact.spark_main --zip packages.zip` makes the zip, which is needed only if these packages
are not installed on the executors.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Run the command and return its exit code."""
    if argv[:1] == ["--zip"] and len(argv) == 2:
        from coordinator.spark.spark_session import write_packages

        write_packages(Path(argv[1]))
        return 0
    from coordinator.cli.main import main as command

    return command(["compact", *argv])


if __name__ == "__main__":
    # Python puts the directory of a started file first on its path, which here holds parts of a package.
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [place for place in sys.path if place != here]
    if str(Path(here).parents[2]) not in sys.path:
        sys.path.insert(0, str(Path(here).parents[2]))
    sys.exit(main(sys.argv[1:]))
