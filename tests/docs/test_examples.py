"""Each example says how it is run, and stands in examples/README.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("test_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_what_to_install_and_how_to_run_it(example: Path) -> None:
    _, _, install, run = (ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or "").split("\n", 3)
    assert install.startswith("pip install kafka-group-coordinator ")
    assert run in (f"pytest {example.name}", f"python -m unittest {example.name}")


def test_each_example_has_a_row() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for example in EXAMPLES:
        assert f"| [{example.name}]({example.name}) | " in text
    assert text.count("| [") == len(EXAMPLES)
