"""Type in docs/rehearse.md: its application, its command, its tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.rehearse.phases import phases
from coordinator.rehearse.record import FindingKind
from coordinator.torture.copies import PROTOCOL_VARIABLES
from tests.docs.blocks import ROOT, blocks

PAGE = "docs/rehearse.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
APPLICATION, COMMAND, OUTPUT, _ = (block.text for block in blocks(PAGE))


def rows(heading: str) -> list[str]:
    """Return the first cells of the table below a heading."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line.split("|")[1].strip(" `") for line in section.splitlines() if line.startswith("| `")]


@pytest.mark.integration
def test_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(APPLICATION)
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", COMMAND], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr

    def shape(text: str) -> list[str]:
        return re.sub(r" +\d+(\.\d+)?", " N", text).strip().splitlines()

    assert shape(done.stdout) == shape(OUTPUT)


def test_every_finding_is_explained() -> None:
    assert set(rows("The findings")) == {kind.value.upper() for kind in FindingKind}


def test_every_phase_is_explained() -> None:
    assert rows("The phases") == [phase.name for phase in phases(2)]


def test_the_variable_is_named() -> None:
    ((name, variable),) = PROTOCOL_VARIABLES.items()
    assert f"`{variable}`, or `{{{name}}}` in the command" in TEXT
