"""Fixtures for the tests of the rules: a play in virtual time, and UTC as the time zone of sentences."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.explain.play import Play


@pytest.fixture
def play() -> Play:
    return Play()


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
