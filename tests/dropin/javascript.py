"""Projects in JavaScript: packages of npm that carry their tests, run by mocha or by node's own runner."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Final

from tests.dropin.edits import edit
from tests.dropin.junit import verdicts_of
from tests.dropin.model import ADDRESS, FAILED, PASSED, SKIPPED, Language, Project, Verdicts
from tests.dropin.processes import PrepareError, prepare, run_tests

# Each file in a process of its own: a native module that crashes ends one file only.
MOCHA: Final = (
    "for file in {files}; do node_modules/.bin/mocha --exit --timeout 20000 --reporter tap e2e/$file.spec.js; done"
)
NODE: Final = "node --test --test-reporter=junit --test-reporter-destination=$REPORT"
PROJECTS: Final = (
    Project(
        "node-rdkafka",
        "3.6.1",
        # Not groups, where the native module crashes at both servers, and not both: after a consumeLoop the client may
        # wait for its own threads for ever, with all connections closed; often here, seldom at Kafka.
        tests=(MOCHA.format(files="admin consumer producer producer-transaction"),),
        packages=("mocha@10.8.2",),
        environment={"KAFKA_HOST": ADDRESS},
        topics=("test", "test2", "test3", "test4", "test5", "test6"),
    ),
    Project("@fastify/kafka", "4.0.0", tests=(NODE,), packages=("@platformatic/kafka@1.35.0", "pino@10.1.0")),
)
_TAP: Final = re.compile(r"(ok|not ok) \d+ (.*?)( # SKIP -)?")


def _headers() -> Path:
    """Return the folder whose include/node has the headers of node, which native packages are compiled with."""
    node = shutil.which("node")
    if node is None:
        raise PrepareError("node was not found in PATH: install nodejs and npm")
    prefix = Path(node).resolve().parents[1]
    if not (prefix / "include" / "node" / "node.h").exists():
        raise PrepareError(f"{prefix}/include/node/node.h is missing: install node with its headers")
    return prefix


def _prepare(project: Project, folder: Path) -> None:
    environment = {"npm_config_nodedir": str(_headers())}
    (packed,) = json.loads(prepare(["npm", "pack", "--json", f"{project.name}@{project.version}"], folder))
    with tarfile.open(folder / packed["filename"]) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    shutil.move(source, folder / "source")
    edit(folder / "source", project.edits)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--omit=dev", "--save-prod"]
    prepare([*npm, *project.packages], folder / "source", environment)
    prepare(["npm", "run", "install", "--if-present"], folder / "source", environment)  # compiles what is native


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    """Run the tests; `tests` is one line for a shell. Mocha's verdicts are among what it prints, node's in a file."""
    report = output.with_suffix(".xml")
    report.unlink(missing_ok=True)
    environment = {"REPORT": str(report), **project.environment}
    run_tests(["sh", "-c", *project.tests], folder / "source", output, environment, project.within_s)
    return {**_read(output), **verdicts_of(report)}


def _read(output: Path) -> Verdicts:
    """Return the verdict of each test in the form of the Test Anything Protocol."""
    found: Verdicts = {}
    for line in output.read_text(encoding="utf-8", errors="replace").splitlines():
        if match := _TAP.fullmatch(line):
            passed, name, skipped = match.groups()
            verdict = FAILED if passed != "ok" else SKIPPED if skipped else PASSED
            found[name] = FAILED if FAILED in (verdict, found.get(name)) else verdict
    return found


JAVASCRIPT: Final = Language("JavaScript", PROJECTS, _prepare, _run)
