"""docs/testcontainers.md: the lines that it adds to a test are those of the programs of `make container-test`."""

from __future__ import annotations

import re
import tomllib
from typing import Final

import pytest

from tests.docs.blocks import ROOT, blocks

PAGE: Final = "docs/testcontainers.md"
TEXT: Final = (ROOT / PAGE).read_text(encoding="utf-8")
PROGRAMS: Final = {
    "Java": "java/Started.java",
    "Python": "python/started.py",
    "Go": "go/main.go",
    "Node": "node/started.js",
}
# Blocks that are not of a language, with the reason why no test types them here.
EXEMPT: Final = {
    "docker build --target daemon -t kafka-group-coordinator:0.1.": "`make container-test` builds it by compose",
    "docker run --rm -p 9092:9092 kafka-group-coordinator:0.1.0": "`make container-test` does, without a port outside",
}


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_program_of_a_language_has_the_lines_of_the_page(language: str) -> None:
    program = (ROOT / "tests" / "containers" / PROGRAMS[language]).read_text(encoding="utf-8")
    diffs = re.findall(r"^```diff\n(.*?)^```$", section(language), flags=re.MULTILINE | re.DOTALL)
    added = [line[1:] for diff in diffs for line in diff.splitlines() if line.startswith("+")]
    assert added
    assert all(line in program for line in added), added
    assert all(line.startswith(("+", "-")) for diff in diffs for line in diff.splitlines())


def test_every_other_block_has_a_reason() -> None:
    assert {block.name for block in blocks(PAGE) if not block.text.startswith("-")} == set(EXEMPT)


def test_the_tag_is_the_version_that_is_built() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    tagged = re.findall(r"kafka-group-coordinator:([\w.]+)", TEXT + section("Java"))
    assert set(tagged) == {version}
