"""Durations as people write them, for log lines and for `groups explain`."""

from __future__ import annotations


def duration(ms: int) -> str:
    """Return a duration in its two largest units: "850 ms", "3.4 s", "4 m 22 s", "3 h 12 m", "2 d 5 h"."""
    if ms < 1_000:
        return f"{max(ms, 0)} ms"
    if ms < 9_950:
        return f"{ms / 1_000:.1f}".removesuffix(".0") + " s"
    seconds = (ms + 500) // 1_000
    for unit, name, smaller, smaller_name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= unit:
            rest = seconds % unit // smaller
            return f"{seconds // unit} {name} {rest} {smaller_name}" if rest else f"{seconds // unit} {name}"
    return f"{seconds} s"
