"""Where a benchmark's tables go: a page of their own, or their place in a page that also says other things."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def put(path: Path, target: str, lines: Sequence[str], drawn: Sequence[Path] = ()) -> None:
    """Between the markers of this make target, where the page has them; otherwise the lines are all of the page."""
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
