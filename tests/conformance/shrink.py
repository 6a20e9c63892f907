"""The shortest script that still shows a difference: steps are taken out, halves first, as long as it stays the same.

Every subset of a script's steps is a script (see script.py), so this is plain delta debugging on a list. "The same" is
the request, and which fields of its answer differ: a shorter script that shows something else is another finding.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from tests.conformance.lockstep import Difference, Outcome
from tests.conformance.script import Script

MOST_S: Final = 60.0


def signature(difference: Difference) -> tuple[Any, ...]:
    """Return the key by which two differences are the same finding."""
    api = difference.step.get("api", difference.step["op"])
    return (api, difference.what, tuple(sorted(set(paths(difference.kafka, difference.ours)))))


def paths(kafka: Any, ours: Any, at: str = "") -> list[str]:
    """Return the paths at which two pieces of plain data differ, without list positions."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        return [path for key in sorted({*kafka, *ours}) for path in paths(kafka.get(key), ours.get(key), f"{at}.{key}")]
    if isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        return [path for one, other in zip(kafka, ours, strict=True) for path in paths(one, other, at)]
    return [] if kafka == ours else [f"{at} {_brief(kafka)}/{_brief(ours)}"]


def _brief(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return f"{len(value)} entries"
    return str(value) if isinstance(value, int) else "text" if isinstance(value, str) else "nothing"


async def shrink(
    script: Script, wanted: Difference, run: Callable[[Script], Awaitable[Outcome]]
) -> tuple[Script, Difference]:
    """The shortest script found within a minute, and the difference as it shows it."""
    deadline = time.monotonic() + MOST_S
    kept, found = list(script), wanted
    size = max(1, len(kept) // 2)
    while time.monotonic() < deadline:
        position, shorter = 0, False
        while position < len(kept) and time.monotonic() < deadline:
            candidate = kept[:position] + kept[position + size :]
            difference = (await run(candidate)).difference if candidate else None
            if difference is not None and signature(difference) == signature(wanted):
                kept, found, shorter = candidate, difference, True
            else:
                position += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return kept, found
