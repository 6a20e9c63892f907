"""Write a benchmark's tables into a page of their own, or between markers of an existing page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def put(path: Path, target: str, lines: Sequence[str], drawn: Sequence[Path] = ()) -> None:
    """Replace the lines between the markers of this make target; a page without markers is replaced whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines).rstrip() + "\n"
    for each in drawn:
        text += f"\n![{each.stem.replace('-', ' ')}]({os.path.relpath(each, path.parent)})\n"
    begin, end = f"<!-- make {target}: begin -->", f"<!-- make {target}: end -->"
    old = path.read_text() if path.exists() else ""
    if begin in old and end in old:
        before, _, rest = old.partition(begin)
        text = f"{before}{begin}\n\n{text}\n{end}{rest.partition(end)[2]}"
    path.write_text(text)
