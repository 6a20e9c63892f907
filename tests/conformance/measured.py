"""Coverage of the core of groups (group, consumer_group) by the scripts: the daemon runs under coverage.py, not they.

`make conformance ARGS=--coverage`, with `pip install coverage` in the environment.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.daemon import REPOSITORY

# What no script can reach, because it takes more than requests and time. Each pattern leaves out a line, or the whole
# function or branch that it begins.
OUT_OF_REACH = (
    "raise InvariantError",  # a defect of ours
    "def check_invariants",  # called by tests and the simulator
    "def __repr__",  # for a person with a debugger
    "def text",
    "def __init__.self, group_id: str, message: str",  # of InvariantError
    "def failed",  # an append that failed, or took longer than offsets.commit.timeout.ms: a broken disk
    "def abandoned",
    "def timed_out",
    "if self.is_undone",
    "def describe_error",  # a partition that is still loading
    "def load_group",  # recovery: see test_kafka_log.py
    "is DEAD:",  # between the decision to delete a group and its tombstone: a millisecond that no script can aim at
    "if TYPE_CHECKING",
)
SETTINGS = """\
[run]
source = coordinator.core.group,coordinator.core.consumer_group
data_file = {folder}/data
concurrency = thread
omit = */states_doc.py
[report]
exclude_also =
    {out_of_reach}
"""


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which a Python process measures its coverage and writes it into `folder` at exit."""
    folder.mkdir(parents=True)
    settings = folder / "settings"
    settings.write_text(SETTINGS.format(folder=folder, out_of_reach="\n    ".join(OUT_OF_REACH)))
    (folder / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
    return {"COVERAGE_PROCESS_START": str(settings), "PYTHONPATH": str(folder)}


def report(folder: Path) -> str:
    """Lines reached, by file, and those that were not."""
    settings = f"--rcfile={folder / 'settings'}"
    command = [sys.executable, "-m", "coverage", "report", settings, "--show-missing"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout + done.stderr
