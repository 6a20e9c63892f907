"""Run the tests of other projects against a real Kafka and against this server; print every verdict that differs.

Each project runs in a network namespace without anything but loopback. Where verdicts differ, the project runs again
against both: a test that gave one server two verdicts is called unsteady, and is not a difference. The exit code is 1
when a difference has no explanation in the row of its project.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance.kafka import cache_dir, jars, release
from tests.dropin.model import Language, Project
from tests.dropin.outcome import SERVERS, Outcome, outcome_of, result_file, stem
from tests.dropin.page import page, report, unused
from tests.dropin.processes import PrepareError
from tests.dropin.table import LANGUAGES


def prepared(language: Language, project: Project) -> Path:
    """Return the folder of a project that was fetched and built; it is kept outside the repository."""
    own = [file.read_text() for file in sorted(language.own.rglob("*.*"))] if language.own else []
    edited = (project.packages, project.edits, project.files, project.tests, own)  # tests: what compilers build
    row = repr((project.name, project.version, edited, sys.version_info[:2]))
    folder = cache_dir() / "drop-in" / f"{stem(project)}-{hashlib.sha256(row.encode()).hexdigest()[:10]}"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        language.prepare(project, folder)
        (folder / ".ready").touch()
    return folder


def run_once(project: Project, folder: Path, results: Path, number: int) -> None:
    """Run a project once against each server."""
    for server in SERVERS:
        output = result_file(results, project, server, number)
        command = ["unshare", "--net", sys.executable, "-m", "tests.dropin.inside", project.name, server]
        subprocess.run([*command, folder, output], check=True)


def examine(language: Language, project: Project, results: Path, repeats: int) -> Outcome:
    """Run a project, and again while verdicts differ without an explanation. Raises PrepareError without a verdict."""
    print(f"{project.name} {project.version}: fetching and building ...", flush=True)
    folder = prepared(language, project)
    for old in results.glob(f"{stem(project)}.*"):
        old.unlink() if old.is_file() else shutil.rmtree(old)
    for number in range(1, 1 + repeats):
        print(f"{project.name}: run {number} against Kafka, then against this server ...", flush=True)
        run_once(project, folder, results, number)
        if not outcome_of(project, language.name, results).unexplained:
            break
    outcome = outcome_of(project, language.name, results)
    if not outcome.tests:
        raise PrepareError(f"no test gave a verdict; what was printed is in {results}")
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dropin", description=__doc__)
    parser.add_argument("projects", nargs="*", help="names of projects, or of languages; without any: all")
    parser.add_argument("--repeats", type=int, default=3, help="most runs of a project whose verdicts differ")
    parser.add_argument("--results", type=Path, help="a folder for what the tests print (default: a new one)")
    parser.add_argument("--page", type=Path, help="write the report to this file, too")
    parser.add_argument("--report", action="store_true", help="run nothing; report on what is in --results")
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
        if arguments.report:
            outcome = outcome_of(project, language.name, results)
            outcomes += [outcome] if outcome.tests else []
            continue
        try:
            outcomes.append(examine(language, project, results, arguments.repeats))
        except (PrepareError, subprocess.SubprocessError) as error:  # the others are run nevertheless
            broken.append(f"{project.name} could not be run: {error}")
            print(broken[-1], flush=True)
        else:
            print(report(outcomes[-1:]), flush=True)
    print(report(outcomes), *unused(outcomes), *broken, f"What the tests printed is in {results}", sep="\n")
    if arguments.page is not None:
        arguments.page.write_text(page(outcomes, release()), encoding="utf-8")
    return 1 if broken or any(each.unexplained for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
