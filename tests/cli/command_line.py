"""A command typed at a server, and what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from coordinator.cli.main import main


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands in this process, against one server."""

    address: str
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str, code: int = 0) -> Said:
        """Run a command, which must end with this exit code."""
        self.capsys.readouterr()
        found = main([*words, "-b", self.address])
        said = Said(found, *self.capsys.readouterr())
        assert found == code, said
        return said
