"""docs/incidents.md: the incidents of test_explained_incidents.py and their verdicts, from a run of `make incidents`.

The tests note their verdicts in the file that INCIDENTS names; without it they note nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from coordinator.core.events.model import Incident, Story
from coordinator.core.events.words import duration
from coordinator.explain.verdict import GroupVerdict

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "incidents.md"
TESTS: Final = "tests/clients/test_explained_incidents.py"
NOTES: Final = "INCIDENTS"
INTRODUCTION: Final = """\
# Incidents and verdicts

Each incident is played with real clients against a daemon, and `coordinator groups explain` is asked again and again
while it lasts. The table has the first verdict that names cause and culprit, and how long after its last evidence that
came. (A rebalance that waits is evidence from its beginning; it is called slow after 5 s, because members may need 3 s
to hear of it.) `make incidents` writes this page. What to do about each: [stuck-groups.md](stuck-groups.md).

| Incident | Cause | What `explain` says first | After |
| --- | --- | --- | --- |
"""


def note(verdict: GroupVerdict, story: Story) -> None:
    """Note the verdict of the running test."""
    path = os.environ.get(NOTES)
    if path is None:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition(" ")[0]
    row = {
        "test": test,
        "code": verdict.code.value,
        "sentence": verdict.sentence,
        "after_ms": _after_ms(verdict, story),
    }
    with Path(path).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(row) + "\n")


def _after_ms(verdict: GroupVerdict, story: Story) -> int:
    times_ms = []
    for position in verdict.evidence:
        if position < len(story.events):
            event = story.events[position]
            times_ms.append(
                event.last_ms or event.at_ms if isinstance(event, Incident) else event.at_ms + event.took_ms
            )
        elif story.state is not None and story.state.rebalance is not None:
            times_ms.append(story.state.rebalance.at_ms)
    return story.at_ms - max(times_ms, default=story.at_ms)


def main() -> int:
    """Play the incidents, and write the page if all were explained."""
    with tempfile.TemporaryDirectory() as scratch:
        notes = Path(scratch) / "notes"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", TESTS, *sys.argv[1:]],
            cwd=ROOT,
            env={**os.environ, NOTES: str(notes)},
            check=False,
        )
        if done.returncode:
            return done.returncode
        rows = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    lines = [
        f"| {row['test'].removeprefix('test_').replace('_', ' ')} | `{row['code']}` | {row['sentence']} "
        f"| {duration(row['after_ms'])} |\n"
        for row in rows
    ]
    PAGE.write_text(INTRODUCTION + "".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
