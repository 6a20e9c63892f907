"""The runs of a project: verdicts that differ, tests that are unsteady, and times. Each run is a file of JSON."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.dropin.model import Project

SERVERS: Final = ("kafka", "coordinator")
MISSING: Final = "not run"  # the runner was ended before it came to the test


@dataclass
class Outcome:
    """All runs of one project: the verdicts of each test and the seconds of each run, by server."""

    project: Project
    language: str
    verdicts: dict[str, list[dict[str, str]]] = field(default_factory=lambda: {server: [] for server in SERVERS})
    seconds: dict[str, list[float]] = field(default_factory=lambda: {server: [] for server in SERVERS})

    def sets(self, test: str) -> list[set[str]]:
        return [{run.get(test, MISSING) for run in self.verdicts[server]} for server in SERVERS]

    @property
    def tests(self) -> list[str]:
        return sorted({test for runs in self.verdicts.values() for run in runs for test in run})

    @property
    def differing(self) -> list[str]:
        """The tests whose verdicts on one server are never those on the other."""
        return [test for test in self.tests if not set.intersection(*self.sets(test))]

    @property
    def unsteady(self) -> list[str]:
        return [test for test in self.tests if test not in self.differing and any(len(s) > 1 for s in self.sets(test))]

    def explanation(self, test: str) -> str | None:
        found = [why for pattern, why in self.project.explained.items() if re.search(pattern, test)]
        return found[0] if found else None

    @property
    def unexplained(self) -> list[str]:
        return [test for test in self.differing if self.explanation(test) is None]

    @property
    def unused_explanations(self) -> list[str]:
        return [
            why
            for pattern, why in self.project.explained.items()
            if not any(re.search(pattern, test) for test in self.differing + self.unsteady)
        ]

    @property
    def speed_up(self) -> float:
        """Kafka's seconds for one of ours; medians over the runs."""
        kafka, own = (statistics.median(self.seconds[server]) for server in SERVERS)
        return kafka / own


def stem(project: Project) -> str:
    """Return the name of a project and its version as the beginning of names of files."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', project.name).strip('-')}-{project.version}"


def result_file(results: Path, project: Project, server: str, number: int) -> Path:
    """Return the file of a run; what the tests and the server wrote is beside it, with other endings."""
    return results / f"{stem(project)}.{server}.{number}.json"


def outcome_of(project: Project, language: str, results: Path) -> Outcome:
    """Return the outcome of all runs whose files are in a folder."""
    outcome = Outcome(project, language)
    number = 1
    while all(result_file(results, project, server, number).exists() for server in SERVERS):
        for server in SERVERS:
            found = json.loads(result_file(results, project, server, number).read_text(encoding="utf-8"))
            outcome.seconds[server].append(found["took_s"])
            outcome.verdicts[server].append(found["verdicts"])
        number += 1
    return outcome
