"""The diary of a client: one JSON line for each thing that it did or was promised, written out at once.

A line is in the file before the next thing is done, so a client that is killed leaves a diary that says no less than
it knew. What was acknowledged and not yet written down when it died is a promise that is not checked: the check can
miss a loss there, and never reports a false one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Diary:
    """Append-only; a client that starts again goes on in the same file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def note(self, what: str, **facts: Any) -> None:
        """Write one line: what happened, when (wall clock, s), and its facts."""
        self._file.write(json.dumps({"at": round(time.time(), 3), "what": what, **facts}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_diary(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a diary; a last line that was cut off by a kill does not count."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
