"""Projects in Python: sdists that carry their tests, each in an environment of its own, run by pytest."""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path
from typing import Final

from tests.dropin.edits import edit
from tests.dropin.junit import verdicts_of
from tests.dropin.model import Language, Project, Verdicts
from tests.dropin.processes import prepare, run_tests

PROJECTS: Final[tuple[Project, ...]] = ()


def _prepare(project: Project, folder: Path) -> None:
    pip: list[str | Path] = [folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
    prepare([sys.executable, "-m", "venv", "venv"], folder)
    pinned = f"{project.name}=={project.version}"
    prepare([*pip, "download", "--no-deps", "--no-binary", project.name, pinned], folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    shutil.move(source, folder / "source")
    edit(folder / "source", project.edits)
    prepare([*pip, "install", pinned, "pytest", *project.packages], folder)


def _run(project: Project, folder: Path, output: Path) -> Verdicts:
    report = output.with_suffix(".xml")
    report.unlink(missing_ok=True)
    python = folder / "venv" / "bin" / "python"
    command: list[str | Path] = [python, "-m", "pytest", f"--junitxml={report}", *project.tests]
    run_tests(command, folder / "source", output, project.environment, project.within_s)
    return verdicts_of(report)


PYTHON: Final = Language("Python", PROJECTS, _prepare, _run)
