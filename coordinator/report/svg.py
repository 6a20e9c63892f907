"""Plots of a report as SVG: bars for each day, a grid of groups and days, and lag before and after deploys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

WIDTH: Final = 960
LEFT: Final = 215  # room for names
LONGEST_NAME: Final = 32  # characters
INK: Final = "#1f2933"
GREY: Final = "#8a96a3"
# The colours of Okabe and Ito, which remain distinct under colour blindness.
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6fac", "#8c8c00", "#8a96a3")


def _amount(value: float) -> str:
    """Return a number with the digits that tell it from 0."""
    return f"{value:,.0f}".replace(",", " ") if value >= 10 else f"{value:.2g}"


def stacked(days: Sequence[str], series: Mapping[str, Sequence[float]], unit: str) -> str:
    """Return a bar for each day, in parts by name, with a legend. `series` has a number for each day."""
    height, low = 220, 190
    most = max((sum(values) for values in zip(*series.values(), strict=True)), default=0) or 1
    step = (WIDTH - LEFT) / max(len(days), 1)
    parts = [_text(LEFT - 8, 24, f"{_amount(most)} {unit}", "end"), _text(LEFT - 8, low, "0", "end")]
    for number, day in enumerate(days):
        x, y = LEFT + number * step, float(low)
        for colour, (name, values) in zip(_cycle(len(series)), series.items(), strict=True):
            size = values[number] / most * (low - 20)
            y -= size
            title = f"{day}, {name}: {_amount(values[number])} {unit}"
            parts.append(_box(x + 1, y, step - 2, size, colour, title))
        if number % (len(days) // 15 + 1) == 0:
            parts.append(_text(x + step / 2, low + 16, day[5:], "middle"))
    for number, (colour, name) in enumerate(zip(_cycle(len(series)), series, strict=True)):
        x, y = LEFT + number % 5 * 150, height + number // 5 * 18
        parts += [_box(x, y, 11, 11, colour, name), _text(x + 16, y + 10, name)]
    return _svg(height + (len(series) - 1) // 5 * 18 + 18, parts)


def grid(days: Sequence[str], rows: Mapping[str, Sequence[float]], unit: str) -> str:
    """Return a row of cells for each name, a cell for each day, the darker the more."""
    most = max((value for values in rows.values() for value in values), default=0) or 1
    step = (WIDTH - LEFT) / max(len(days), 1)
    parts = []
    for place, (name, values) in enumerate(rows.items()):
        y = place * 18
        parts.append(_text(LEFT - 8, y + 13, name, "end"))
        for number, value in enumerate(values):
            title = f"{name}, {days[number]}: {value:,.0f} {unit}"
            opacity = (value / most) ** 0.5
            parts.append(_box(LEFT + number * step + 1, y + 1, step - 2, 16, COLOURS[0], title, max(opacity, 0.04)))
    for number, day in enumerate(days):
        if number % (len(days) // 15 + 1) == 0:
            parts.append(_text(LEFT + (number + 0.5) * step, len(rows) * 18 + 14, day[5:], "middle"))
    return _svg(len(rows) * 18 + 20, parts)


def pairs(rows: Sequence[tuple[str, float, float]], unit: str) -> str:
    """Return a line for each name from its number before to that after; more after is red. The scale is logarithmic."""
    from math import log10

    most = max((log10(max(*values, 1) + 1) for _, *values in rows), default=1) or 1
    bottom = len(rows) * 18
    parts = []
    for power in range(int(most) + 1):
        x = LEFT + log10(10**power + 1) / most * (WIDTH - LEFT - 12)
        parts.append(f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{bottom}" stroke="{GREY}" stroke-opacity="0.3"/>')
        parts.append(_text(x, bottom + 14, f"{10**power:,} {unit}".replace(",", " "), "middle"))
    for place, (name, before, after) in enumerate(rows):
        y = place * 18 + 9
        left, right = (LEFT + log10(value + 1) / most * (WIDTH - LEFT - 12) for value in (before, after))
        colour = COLOURS[5] if after > 2 * before else COLOURS[0]
        title = f"{name}: {before:,.0f} {unit} before, {after:,.0f} after"
        parts.append(_text(LEFT - 8, y + 4, name, "end"))
        parts.append(f'<line x1="{left:.1f}" y1="{y}" x2="{right:.1f}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{left:.1f}" cy="{y}" r="3" fill="{GREY}"><title>{escape(title)}</title></circle>')
        parts.append(f'<circle cx="{right:.1f}" cy="{y}" r="5" fill="{colour}"><title>{escape(title)}</title></circle>')
    return _svg(bottom + 20, parts)


def _cycle(number: int) -> list[str]:
    return [COLOURS[each % len(COLOURS)] for each in range(number)]


def _svg(height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img">{"".join(parts)}</svg>'


def _box(x: float, y: float, width: float, height: float, colour: str, title: str, opacity: float = 1) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" '
        f'fill-opacity="{opacity:.2f}"><title>{escape(title)}</title></rect>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    short = text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(short)}</text>'
