"""Tests over all pages: links, files, metrics and log lines that they name exist, and no page is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from coordinator.core.events.model import BECAUSE, Cause
from tests.docs.blocks import ROOT
from tests.docs.metrics_page import SOURCES, metrics_of

MOST_WORDS: Final = 1_600
# Pages that are written by a program, and the log of versions: nothing in them is split by hand.
GENERATED: Final = (
    "CHANGELOG.md",
    "cli-reference.md",
    "clients.md",
    "configuration.md",
    "drop-in.md",
    "errors.md",
    "incidents.md",
    "measurements.md",
    "measurements-consumer.md",
    "measurements-more.md",
    "measurements-rebalances.md",
    "measurements-testing.md",
    "measurements-transactions.md",
    "metrics.md",
    "migration-clients.md",
    "protocol.md",
    "states.md",
    "torture-clients.md",
)

PAGES: Final = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
_LINK: Final = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_PATH: Final = re.compile(r"(?:tests/[\w/]+|[\w/]+\.py)(?:::\w+)?")
_PERSONS: Final = re.compile(r"\b((?:no|some|every|any)body|(?:some|any|no )one|who(?:m)?ever)\b", re.IGNORECASE)
_FENCED: Final = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
_METRIC: Final = re.compile(r"\b(?:kafka_(?:coordinator|server|network|log)|coordinator|process)_[a-z0-9_]+\b(?!\()")
FIXTURES: Final = frozenset({"coordinator_process", "coordinator_settings"})  # named like metrics, and none


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield (file, anchor) of every link into the repository."""
    for target in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@cache
def files() -> tuple[str, ...]:
    """The Python files of the repository, by their paths from its root."""
    places = ("bench", "coordinator", "protocol", "tests")
    found = (path for place in places for path in (ROOT / place).rglob("*.py"))
    return tuple(str(path.relative_to(ROOT)) for path in found if "build" not in path.parts)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings: lower case, without punctuation, dashes for blanks."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{name_of(page)} links to {target}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name_of(page)} links to #{anchor}, which {name_of(target)} has not"


def test_every_page_is_reached_from_the_readme() -> None:
    found, new = set[Path](), {ROOT / "README.md"}
    while new:
        page = new.pop()
        found.add(page)
        if page.suffix == ".md":
            new |= {target for target, _ in links(page) if target.is_file()} - found
        elif page.is_dir():
            new |= set(page.glob("*.md")) - found
    directories = {target for page in found if page.suffix == ".md" for target, _ in links(page) if target.is_dir()}
    missed = [name_of(page) for page in PAGES if page not in found and page.parent not in directories]
    assert missed == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_every_file_and_test_folder_that_a_page_names_exists(page: Path) -> None:
    """A path counts from the root, or is the end of the path of exactly one file."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for code in _CODE.findall(text):
        if _PATH.fullmatch(code):
            path = code.partition("::")[0]
            ends = [file for file in files() if file.endswith("/" + path)]
            assert (ROOT / path).exists() or len(ends) == 1, f"{name_of(page)} names {code}; files: {ends}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GENERATED], ids=name_of)
def test_a_page_is_short_and_names_its_subjects(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    words = [word for word in text.split() if any(map(str.isalpha, word))]  # without figures and the lines of tables
    assert len(words) <= MOST_WORDS, "split the page by purpose"
    assert _PERSONS.findall(_FENCED.sub("", text)) == [], "name the client, member, caller or file"


def test_the_causes_of_rebalances_are_those_that_the_daemon_names() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    table = text.partition("| because | usually |")[2]
    named = {row.split("|")[1].strip() for row in table.splitlines()[2:] if row.startswith("| ")}
    assert set(BECAUSE.values()) - named <= {BECAUSE[Cause.OVER_FULL]}
    assert set(BECAUSE.values()) & named


def test_every_log_line_that_is_explained_occurs_in_the_code() -> None:
    """Search the code for each fixed piece of a line; messages of the operating system are left out."""
    text = (ROOT / "docs" / "log-lines.md").read_text(encoding="utf-8")
    table = text.partition("# Log lines")[2].partition("\n## ")[0]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "coordinator").rglob("*.py"))
    lines = [line for row in re.findall(r"^\| (`.*?`) \|", table, flags=re.MULTILINE) for line in row.split("`")[1::2]]
    assert len(lines) > 15
    for line in lines:
        said = line.replace("[Errno 28] No space left on device", "…").replace("rebalance Group", "rebalance ")
        for piece in re.split(r"…|\b[NP]\b", said):
            assert piece.strip(" :;") in code, f"no code has {piece!r} (of {line!r})"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_metric_that_a_page_names_exists(page: Path) -> None:
    """Compare with the metrics that the code makes; test_reference_pages compares these with a daemon's."""
    known = {name for _, source in SOURCES for name in metrics_of(source)}
    for named in set(_METRIC.findall(page.read_text(encoding="utf-8"))) - FIXTURES:
        family = re.sub(r"_(bucket|sum|count)$", "", named)
        is_prefix = named.endswith("_") and any(name.startswith(named) for name in known)
        assert {named, family} & known or is_prefix, named


def test_the_map_of_the_code_has_every_package_and_every_module_beside_them() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "coordinator").iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            assert f"coordinator/{path.name}/" in text, f"docs/architecture.md: nothing about coordinator/{path.name}/"
        elif path.suffix == ".py" and not path.name.startswith("__"):
            assert path.name in text, f"docs/architecture.md: nothing about coordinator/{path.name}"
