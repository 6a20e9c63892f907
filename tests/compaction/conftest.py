"""Fixtures of the tests with a live daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compaction.live import SteppingDaemon, fill, starting


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., SteppingDaemon]]:
    """Return a function that starts a daemon with some settings, which is stopped at the end."""
    with starting(tmp_path / "daemon") as starter:
        yield starter


@pytest.fixture
def daemon(start: Callable[..., SteppingDaemon]) -> SteppingDaemon:
    """Return a daemon with some hundred commits in its log."""
    made = start()
    fill(made)
    return made
