"""Run the tests of other projects against a real Kafka and against this server; print every verdict that differs.

Each project runs in a network namespace without anything but loopback. Where verdicts differ, the project runs again
against both: a test that gave one server two verdicts is called unsteady, and is not a difference. The exit code is 1
when a difference has no explanation in the row of its project.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.conformance.kafka import cache_dir, jars
from tests.dropin.model import FAILED, PASSED, SKIPPED, Language, Project
from tests.dropin.processes import PrepareError
from tests.dropin.table import LANGUAGES

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
    def speed_up(self) -> float:
        """Kafka's seconds for one of ours; medians over the runs."""
        kafka, own = (statistics.median(self.seconds[server]) for server in SERVERS)
        return kafka / own


def prepared(language: Language, project: Project) -> Path:
    """Return the folder of a project that was fetched and built; it is kept outside the repository."""
    own = [file.read_text() for file in sorted(language.own.rglob("*.*"))] if language.own else []
    edited = (project.packages, project.edits, project.files, own)
    row = repr((project.name, project.version, edited, sys.version_info[:2]))
    short = re.sub(r"\W+", "-", project.name)
    folder = cache_dir() / "drop-in" / f"{short}-{project.version}-{hashlib.sha256(row.encode()).hexdigest()[:10]}"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        language.prepare(project, folder)
        (folder / ".ready").touch()
    return folder


def run_once(outcome: Outcome, folder: Path, results: Path) -> None:
    """Run a project once against each server."""
    for server in SERVERS:
        number = len(outcome.seconds[server]) + 1
        output = results / f"{folder.name}.{server}.{number}.json"
        command = ["unshare", "--net", sys.executable, "-m", "tests.dropin.inside", outcome.project.name, server]
        subprocess.run([*command, folder, output], check=True)
        found = json.loads(output.read_text())
        outcome.seconds[server].append(found["took_s"])
        outcome.verdicts[server].append(found["verdicts"])


def examine(language: Language, project: Project, results: Path, repeats: int) -> Outcome:
    """Run a project, and again while verdicts differ without an explanation."""
    outcome = Outcome(project, language.name)
    print(f"{project.name} {project.version}: fetching and building ...", flush=True)
    folder = prepared(language, project)
    for number in range(1, 1 + repeats):
        if number > 1 and not outcome.unexplained:
            break
        print(f"{project.name}: run {number} against Kafka, then against this server ...", flush=True)
        run_once(outcome, folder, results)
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """Return the Markdown table of all projects."""
    heads = ("project", "language", "tests", "passed", "failed on both", "skipped", "differ", "unsteady")
    rows: list[tuple[object, ...]] = [(*heads, "Kafka s", "ours s", "ratio"), ("---",) * (len(heads) + 3)]
    for each in outcomes:
        last = Counter(each.verdicts["coordinator"][-1].values())
        both = sum(each.sets(test) == [{FAILED}, {FAILED}] for test in each.tests)
        name = f"{each.project.name} {each.project.version}"
        counts = (len(each.tests), last[PASSED], both, last[SKIPPED], len(each.differing), len(each.unsteady))
        seconds = (f"{statistics.median(each.seconds[server]):.1f}" for server in SERVERS)
        rows.append((name, each.language, *counts, *seconds, f"{each.speed_up:.2f}"))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def report(outcomes: list[Outcome]) -> str:
    """Return the table, the median speed-up and every test that differs or is unsteady."""
    lines = [table(outcomes), ""]
    if outcomes:
        lines.append(f"Median of the ratios: {statistics.median(each.speed_up for each in outcomes):.2f}")
    for each in outcomes:
        for test in each.differing:
            kafka, own = (", ".join(sorted(found)) for found in each.sets(test))
            lines.append(f"{each.project.name}: {test}: {kafka} on Kafka, {own} here: {each.explanation(test) or '?'}")
        for test in each.unsteady:
            kafka, own = (", ".join(run.get(test, MISSING) for run in each.verdicts[s]) for s in SERVERS)
            lines.append(f"{each.project.name}: {test} is unsteady: {kafka} on Kafka, {own} here")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dropin", description=__doc__)
    parser.add_argument("projects", nargs="*", help="names of projects, or of languages; without any: all")
    parser.add_argument("--repeats", type=int, default=3, help="most runs of a project whose verdicts differ")
    parser.add_argument("--results", type=Path, help="a folder for what the tests print (default: a new one)")
    parser.add_argument("--list", action="store_true", help="print the projects, and run none")
    arguments = parser.parse_args()
    wanted = [
        (language, project)
        for language in LANGUAGES
        for project in language.projects
        if not arguments.projects or {project.name, language.name} & set(arguments.projects)
    ]
    if arguments.list:
        print("\n".join(f"{language.name}\t{project.name}\t{project.version}" for language, project in wanted))
        return 0
    results = (arguments.results or Path(tempfile.mkdtemp(prefix="drop-in-"))).resolve()
    results.mkdir(parents=True, exist_ok=True)
    jars("broker")  # fetched now, because a run has no network
    outcomes, broken = [], []
    for language, project in wanted:
        try:
            outcomes.append(examine(language, project, results, arguments.repeats))
        except (PrepareError, subprocess.CalledProcessError) as error:  # the others are run nevertheless
            broken.append(f"{project.name} could not be run: {error}")
            print(broken[-1], flush=True)
        else:
            print(report(outcomes[-1:]), flush=True)
    print(report(outcomes), *broken, f"What the tests printed is in {results}", sep="\n")
    return 1 if broken or any(each.unexplained for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
