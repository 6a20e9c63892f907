"""Replacements in the fetched copy of a project, for example of an address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.dropin.processes import PrepareError


def edit(folder: Path, edits: Sequence[tuple[str, str, str]]) -> None:
    """Replace texts in files; the name of a file may be a pattern. Raises PrepareError when a text is not there."""
    for pattern, old, new in edits:
        changed = 0
        for file in folder.glob(pattern):
            text = file.read_text(encoding="utf-8")
            if old in text:
                file.write_text(text.replace(old, new), encoding="utf-8")
                changed += 1
        if not changed:
            raise PrepareError(f"no file {pattern} has the text {old!r} any more; adapt the project's row")
