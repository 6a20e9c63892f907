"""Plots of a group's past, as PNG or as one HTML file: progress of its offsets, and owners of its partitions.

Up to twelve partitions are lines, each starting at zero so that they can be compared, with their names at their ends.
More partitions are a heat map: a row for each partition, its progress over time as colour, and the sum above. A stalled
partition is a light row, a stalled group a light column. Resets (offsets that went back) and rebalances are marked.

matplotlib's Agg and SVG canvases draw without a display. The HTML file holds the SVG and loads nothing else.
"""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import matplotlib.dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coordinator.history.commits import Commits, Ints, TopicPartition
from coordinator.history.questions import Selection
from coordinator.history.rebalances import GroupChange, Kind
from coordinator.history.times import span

MOST_LINES: Final = 12
MOST_TICKS: Final = 30
MOST_REBALANCES: Final = 60  # more are counted and not drawn
MOST_NAMES: Final = 12
MOMENTS: Final = 800  # drawn at most: the plot has about as many pixels in width
COLUMNS: Final = 120  # of a heat map
SIZE_INCHES: Final = (11.0, 6.0)
DPI: Final = 120

INK: Final = "#1f2933"
GREY: Final = "#8a96a3"
RED: Final = "#c0392b"
# The colours of Okabe and Ito, which remain distinct under colour blindness, then darker shades of them.
COLOURS: Final = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#7a6fac",
    "#8c8c00",
    "#004c78",
    "#a06d00",
    "#00694d",
    "#8f4f73",
)
_ZERO_FORMATS: Final = ["", "%Y", "%b", "%b %d", "%H:%M", "%H:%M"]  # for ticks whose smaller unit is zero
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 10,
    "font.family": "sans-serif",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "svg.fonttype": "none",  # keeps text searchable
    "svg.hashsalt": "coordinator",  # the same plot gives the same bytes
}


def save(figure: Figure, path: Path, title: str) -> None:
    """Write a plot in the format of the suffix, .png or .html. Raises OSError."""
    if path.suffix == ".png":
        data = io.BytesIO()
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(data)
        path.write_bytes(data.getvalue())
        return
    text = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace("<svg ", '<svg style="width:100%;height:auto" ', 1)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>\n'
        f'<body style="max-width:1300px;margin:1em auto;font-family:sans-serif">\n{svg}</body></html>\n',
        encoding="utf-8",
    )


def progress(group: str, commits: Commits, changes: Sequence[GroupChange], selection: Selection) -> Figure:
    """Draw the committed offset of each partition over time. At least one commit must be selected."""
    chosen = commits.take(selection.mask(commits) & commits.counted & ~commits.is_tombstone)
    keys = [chosen.keys[number] for number in np.unique(chosen.key)]
    begin, end = int(chosen.timestamp_ms.min()), int(chosen.timestamp_ms.max())
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=SIZE_INCHES, dpi=DPI, layout="constrained")
        if len(keys) <= MOST_LINES:
            axes = figure.subplots()
            _lines(axes, chosen, keys)
            time_axes = [axes]
        else:
            time_axes = _heat(figure, chosen, keys, begin, end)
        drawn = _rebalances(time_axes, changes, begin, end)
        if (chosen.offset < chosen.offset[np.maximum(chosen.previous(), 0)])[chosen.previous() >= 0].any():
            drawn += ", ▼ went back"
        _title(time_axes[0], f"Progress of group {group}", _facts(keys, len(chosen), begin, end, drawn))
        _time_axis(time_axes[-1], begin, end)
    return figure


def ownership(group: str, changes: Sequence[GroupChange], selection: Selection, now_ms: int) -> Figure | None:
    """Draw the owners of each partition over time; None if no selected partition had one. Needs at least one change."""
    begin = max(changes[0].record.timestamp_ms, selection.since_ms)
    last = changes[-1].record
    end = min(max(last.timestamp_ms, now_ms) if last.members else last.timestamp_ms, selection.until_ms)
    bars = {key: own for key, own in _bars(changes, begin, end).items() if selection.wants(*key)}
    if not bars:
        return None
    keys = sorted(bars)
    names = sorted({name for own in bars.values() for name, _, _ in own})
    colour = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    with mpl.rc_context(_STYLE):
        height = min(max(2.6 + 0.28 * len(keys), 3.5), 12.0)
        figure = Figure(figsize=(SIZE_INCHES[0], height), dpi=DPI, layout="constrained")
        axes = figure.subplots()
        for row, key in enumerate(keys):
            for name, since, until in bars[key]:
                left, right = _day(since), _day(until)
                axes.barh(row, right - left, left=left, height=0.82, color=colour[name], linewidth=0)
        _partition_axis(axes, keys)
        drawn = _rebalances([axes], changes, begin, end)
        handles = [Patch(color=colour[name], label=_short(name)) for name in names[:MOST_NAMES]]
        if len(names) > MOST_NAMES:
            handles.append(Patch(color="none", label=f"and {len(names) - MOST_NAMES} more"))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9, title="owner")
        members = f"{len(names)} member{'s' * (len(names) != 1)}"
        _title(axes, f"Owners of the partitions of group {group}", f"{members}, {_range(begin, end)}{drawn}")
        _time_axis(axes, begin, end)
    return figure


# The parts of a plot.


def _lines(axes: Axes, chosen: Commits, keys: list[TopicPartition]) -> None:
    ends: list[tuple[float, str, str]] = []
    for number, key in enumerate(keys):
        rows = np.flatnonzero(chosen.key == chosen.keys.index(key))
        rows = rows[_representative(chosen.timestamp_ms[rows], chosen.offset[rows])]
        moved = chosen.offset[rows] - chosen.offset[rows[0]]
        times = _numbers(chosen.timestamp_ms[rows])
        colour = COLOURS[number]
        dots = "o" if len(rows) <= 60 else None
        axes.plot(times, moved, color=colour, linewidth=1.6, drawstyle="steps-post", marker=dots, markersize=3)
        back = np.flatnonzero(np.diff(moved) < 0) + 1
        axes.plot(times[back], moved[back], "v", color=RED, markersize=8, zorder=4)
        ends.append((float(moved[-1]), _label(key, keys), colour))
    axes.set_ylabel(f"committed offset, from the first shown\n({_topics(keys)})")
    axes.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(FuncFormatter(_thousands))
    axes.margins(x=0.01)
    _label_ends(axes, ends)


def _label_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Write names beside the ends of lines, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    least = (high - low) * 0.042
    place = -np.inf
    for value, label, colour in sorted(ends):
        place = max(value, place + least)
        axes.annotate(
            label,
            xy=(1.0, value),
            xytext=(1.012, place),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            color=colour,
            va="center",
            fontsize=9,
            annotation_clip=False,
        )


def _heat(figure: Figure, chosen: Commits, keys: list[TopicPartition], begin: int, end: int) -> list[Axes]:
    figure.set_size_inches(SIZE_INCHES[0], min(max(4.5 + 0.13 * len(keys), 6.5), 14.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1, 4])
    width_ms = max((end - begin) // COLUMNS + 1, 1000)
    cells, back = _cells(chosen, keys, begin, width_ms, (end - begin) // width_ms + 1)
    per_minute = cells * (60_000 / width_ms)
    edges = _numbers(begin + np.arange(cells.shape[1] + 1) * width_ms)
    shown = np.ma.masked_less_equal(per_minute, 0)
    mesh = below.pcolormesh(
        edges, np.arange(len(keys) + 1) - 0.5, shown, cmap="viridis_r", norm=PowerNorm(0.5, vmin=0), rasterized=True
    )
    rows, columns = np.nonzero(back)
    if len(rows):
        below.plot((edges[columns] + edges[columns + 1]) / 2, rows, "v", color=RED, markersize=5, linewidth=0)
    _partition_axis(below, keys)
    bar = figure.colorbar(mesh, ax=below, pad=0.01, aspect=40)
    bar.set_label(f"records per minute\n(mean over {span(width_ms)}; white: none)")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(_thousands))
    bar.outline.set_visible(False)
    total = np.maximum(per_minute, 0).sum(axis=0)
    above.stairs(total, edges, fill=True, color="#56b4e9", alpha=0.5)
    above.stairs(total, edges, color=COLOURS[0], linewidth=1.2)
    above.set_ylabel("all partitions,\nrecords per minute")
    above.yaxis.set_major_formatter(FuncFormatter(_thousands))
    above.yaxis.set_major_locator(MaxNLocator(4))
    above.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    above.set_axisbelow(True)
    return [above, below]


def _cells(
    chosen: Commits, keys: list[TopicPartition], begin: int, width_ms: int, columns: int
) -> tuple[Ints, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return the progress of each partition in each column, and a mask of the cells in which an offset went back."""
    row_of = np.full(len(chosen.keys), -1, np.int64)
    row_of[[chosen.keys.index(key) for key in keys]] = np.arange(len(keys))
    before = chosen.previous()
    delta = np.where(before >= 0, chosen.offset - chosen.offset[before], 0)
    cell = (row_of[chosen.key], (chosen.timestamp_ms - begin) // width_ms)
    cells = np.zeros((len(keys), columns), np.int64)
    back = np.zeros((len(keys), columns), np.bool_)
    np.add.at(cells, cell, np.maximum(delta, 0))
    np.logical_or.at(back, cell, delta < 0)
    return cells, back


def _bars(changes: Sequence[GroupChange], begin: int, end: int) -> dict[TopicPartition, list[tuple[str, int, int]]]:
    """Return the owners of each partition in order: (name, from, until), in ms."""
    bars: dict[TopicPartition, list[tuple[str, int, int]]] = {}
    for number, change in enumerate(changes):
        since = max(change.record.timestamp_ms, begin)
        until = changes[number + 1].record.timestamp_ms if number + 1 < len(changes) else end
        until = min(until, end)
        if until <= since:
            continue
        for member in change.record.members:
            name = change.names[member.identity]
            for key in member.partitions or ():
                own = bars.setdefault(key, [])
                if own and own[-1][0] == name and own[-1][2] == since:
                    own[-1] = (name, own[-1][1], until)
                else:
                    own.append((name, since, until))
    return bars


def _rebalances(time_axes: Sequence[Axes], changes: Sequence[GroupChange], begin: int, end: int) -> str:
    """Draw a thin line for each rebalance, and return the words for the subtitle."""
    kinds = set(Kind) - {Kind.CREATED, Kind.RECONCILED}
    inside = [each for each in changes if begin <= each.record.timestamp_ms <= end and each.kind in kinds]
    if not inside:
        return ""
    words = f"{len(inside)} change{'s' * (len(inside) != 1)} of membership"
    if len(inside) > MOST_REBALANCES:
        return f", {words}"
    for each in inside:
        for place, axes in enumerate(time_axes):
            style = ":" if each.record.members else "--"
            colour = INK if place == 0 else "white"  # the second is a heat map
            axes.axvline(_day(each.record.timestamp_ms), color=colour, linewidth=0.8, linestyle=style)
    top = time_axes[0]
    top.legend(
        handles=[
            Line2D([], [], color=INK, linewidth=0.7, linestyle=":", label="rebalance"),
            Line2D([], [], color=INK, linewidth=0.7, linestyle="--", label="group became empty"),
        ][: 2 if any(not each.record.members for each in inside) else 1],
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    return f", {words}"


def _title(axes: Axes, title: str, facts: str) -> None:
    axes.set_title(facts, loc="left", fontsize=9, color="#52606d", pad=6)
    axes.annotate(
        title,
        xy=(0, 1),
        xytext=(0, 24),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=14,
        fontweight="bold",
    )


def _time_axis(axes: Axes, begin: int, end: int) -> None:
    zone = datetime.now().astimezone().tzinfo
    dates: Any = matplotlib.dates
    locator = dates.AutoDateLocator(tz=zone, minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    formats = ["%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S.%f"]
    axes.xaxis.set_major_formatter(
        dates.ConciseDateFormatter(locator, tz=zone, show_offset=False, formats=formats, zero_formats=_ZERO_FORMATS)
    )
    room = max(end - begin, 1000) // 100
    axes.set_xlim(_day(begin - room), _day(end + room))
    days = f"{_moment(begin):%Y-%m-%d}" + (f" to {_moment(end):%Y-%m-%d}" if end - begin > 86_400_000 else "")
    axes.set_xlabel(f"time (UTC{_moment(end).isoformat()[-6:]}), {days}")


def _partition_axis(axes: Axes, keys: list[TopicPartition]) -> None:
    step = -(-len(keys) // MOST_TICKS)
    axes.set_yticks(range(0, len(keys), step), [_label(key, keys) for key in keys[::step]], fontsize=9)
    axes.set_ylim(len(keys) - 0.5, -0.5)
    axes.set_ylabel(f"partition ({_topics(keys)})")
    axes.tick_params(axis="y", length=0)


def _representative(times: Ints, offsets: Ints) -> Ints:
    """Return the indexes to draw: the last of each moment, and both sides of each step back."""
    if len(times) <= 2 * MOMENTS:
        return np.arange(len(times))
    moment = (times - times.min()) * MOMENTS // max(int(times.max() - times.min()), 1)
    last = np.flatnonzero(np.append(moment[1:] != moment[:-1], True))
    back = np.flatnonzero(np.diff(offsets) < 0)
    return np.unique(np.concatenate(([0], last, back, back + 1)))


def _facts(keys: list[TopicPartition], commits: int, begin: int, end: int, drawn: str) -> str:
    partitions = f"{len(keys)} partition{'s' * (len(keys) != 1)}"
    return f"{partitions}, {_thousands(commits, 0)} commits, {_range(begin, end)}{drawn}"


def _range(begin: int, end: int) -> str:
    return f"{span(end - begin)} until {_moment(end):%Y-%m-%d %H:%M:%S}"


def _topics(keys: list[TopicPartition]) -> str:
    topics = sorted({topic for topic, _ in keys})
    return topics[0] if len(topics) == 1 else f"{len(topics)} topics"


def _label(key: TopicPartition, keys: list[TopicPartition]) -> str:
    topic, partition = key
    return str(partition) if all(other == topic for other, _ in keys) else _short(f"{topic}-{partition}")


def _short(text: str) -> str:
    return text if len(text) <= 32 else f"{text[:15]}…{text[-16:]}"


def _thousands(value: float, _: object) -> str:
    return f"{value:,.0f}".replace(",", "\u2009")


def _moment(moment_ms: int) -> datetime:
    return datetime.fromtimestamp(moment_ms / 1000).astimezone()


def _day(moment_ms: int) -> float:
    """Return days since the epoch, the unit of time in matplotlib."""
    return moment_ms / 86_400_000


def _numbers(moments_ms: Ints) -> np.ndarray[Any, np.dtype[np.float64]]:
    days: np.ndarray[Any, np.dtype[np.float64]] = moments_ms / 86_400_000
    return days
