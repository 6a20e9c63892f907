"""The words of a drop-in run: a project, how its language fetches and runs it, and the verdicts of its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PASSED: Final = "passed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
ADDRESS: Final = "127.0.0.1:9092"  # in the network namespace of a run, where every port is free

Verdicts = dict[str, str]  # by the name of a test, as its own runner prints it


@dataclass(frozen=True)
class Project:
    """One package of a registry that carries its tests.

    `tests` are the words that select them, in the language of their runner. `edits` are replacements in the fetched
    copy, (file, old text, new text): addresses that a project expects of its own Compose file, for example. `files` are
    texts that are added to the copy, by name, where the package lacks what its tests import. `settings` go to both
    servers, and so do `topics`, with one partition each. `explained` has, by a regular expression over a test's name,
    why its verdict differs.
    """

    name: str
    version: str
    tests: tuple[str, ...]
    packages: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    edits: tuple[tuple[str, str, str], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    within_s: int = 600
    explained: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Language:
    """The two steps of every project of a language.

    `prepare` has a network, fills a folder and builds everything; `run` has loopback only, executes the tests there,
    writes what they print to a file, and returns the verdicts. Files in the folder `own` are ours and take part in what
    `prepare` builds.
    """

    name: str
    projects: tuple[Project, ...]
    prepare: Callable[[Project, Path], None]
    run: Callable[[Project, Path, Path], Verdicts]
    own: Path | None = None
