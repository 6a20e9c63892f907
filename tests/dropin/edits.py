"""Changes to the fetched copy of a project: replaced texts, for example an address, and added files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def add(folder: Path, files: Mapping[str, str]) -> None:
    """Write files that the package lacks. Raises PrepareError when it has one of them."""
    for name, text in files.items():
        file = folder / name
        if file.exists():
            raise PrepareError(f"the package has a file {name} of its own now; remove it from the project's row")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
