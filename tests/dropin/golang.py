"""Projects in Go: modules carry their tests, and `go test -json` prints a verdict for each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

from tests.dropin.edits import edit
from tests.dropin.model import FAILED, PASSED, SKIPPED, Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

PROJECTS: Final = (
    Project(
        "github.com/segmentio/kafka-go",
        "0.4.51",
        tests=(".",),
        environment={"KAFKA_VERSION": "2.8.1"},
    ),
)
ENVIRONMENT: Final = {"GOFLAGS": "-mod=mod"}  # go.sum may lack what only tests need
_VERDICTS: Final = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}


def _prepare(project: Project, folder: Path) -> None:
    listed = json.loads(prepare(["go", "mod", "download", "-json", f"{project.name}@v{project.version}"], folder))
    shutil.copytree(listed["Dir"], folder / "source", copy_function=shutil.copyfile)
    for path in [folder / "source", *(folder / "source").rglob("*")]:
        path.chmod(0o755)  # the cache of modules is read-only
    edit(folder / "source", project.edits)
    prepare(["go", "test", "-run", "^$", *project.tests], folder / "source", ENVIRONMENT)


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    command = ["go", "test", "-json", "-count=1", "-p", "1", f"-timeout={project.within_s}s", *project.tests]
    run_tests(command, folder / "source", output, {**ENVIRONMENT, **project.environment}, project.within_s)
    return _read(output)


def _read(output: Path) -> Verdicts:
    """Return the verdict of each test; one that began and has no verdict was ended, and so has failed."""
    found: Verdicts = {}
    for line in output.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if "Test" not in event:
            continue
        name = f"{event['Package']}::{event['Test']}"
        if event["Action"] == "run":
            found[name] = FAILED
        found[name] = _VERDICTS.get(event["Action"], found.get(name, FAILED))
    return found


GO: Final = Language("Go", PROJECTS, _prepare, _run)
