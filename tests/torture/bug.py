"""A bug that a release of a client library had, and that a later one has no more."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.torture.schedule import Step
from coordinator.torture.verdict import FailureKind


@dataclass(frozen=True)
class Bug:
    """One bug, with the two releases and the shortest schedule that tells them apart."""

    client: str
    faulty: str
    fixed: str  # empty: no release has a fix
    kind: FailureKind
    steps: tuple[Step, ...]
    about: str  # what happens to the user
    link: str
    arguments: tuple[str, ...] = ()  # extra words for the program
