"""Fenced blocks of a page, and a mask for ids, times and addresses, so that two outputs can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

LONGEST_NAME: Final = 60
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

# Texts that differ from run to run, in the order of replacement. An id becomes its number of appearance, so that equal
# ids stay equal.
_ID: Final = re.compile(
    r"\b([\w.]+?-)(?:\d+\.\d+\.\d+-)?([0-9a-f]{8})(?:…|-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)
_MASKS: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b(aiokafka|kafka-python)-\d+\.\d+\.\d+"), r"\1-VERSION"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b\d+ ms\b"), "N ms"),
    (re.compile(r"\b(\d+[hm] )?\d+(\.\d+)?(m|ms|s)\b"), "SPAN"),
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `name` is the beginning of its first line, with a number where that repeats."""

    page: str
    line: int
    name: str
    text: str
    language: str = ""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    names = [" ".join(found[2].strip().partition("\n")[0].split())[:LONGEST_NAME].strip() for found in fences]
    return [
        Block(
            page,
            line=text.count("\n", 0, found.start()) + 1,
            name=name if names.count(name) == 1 else f"{name} #{names[: index + 1].count(name)}",
            text=found[2],
            language=found[1],
        )
        for index, (found, name) in enumerate(zip(fences, names, strict=True))
    ]


def masked(text: str) -> str:
    """Return the text in one line, with masks for texts that differ from run to run."""
    known: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"{found[1]}ID{known.setdefault(found[2], len(known) + 1)}"

    text = " ".join(text.split())
    text = _ID.sub(number, text)
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text
