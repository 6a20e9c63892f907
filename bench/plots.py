"""The plots of `make bench`, as SVG: CPU time per request, latencies of the open loop, rates on all cores.

Each is small multiples: one panel for a load, one bar for a server, the same colour for a server everywhere. Without
matplotlib there are none, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.report import median_of
from bench.targets import CPU

COLOURS: Final = {
    "ours": "#1b6ca8",
    "ours-interval": "#5fa8d3",
    "ours-workers": "#0b3c5d",
    "workers-interval": "#3a6ea5",
    "compiled": "#2a9d8f",
    "compiled-workers": "#1c6b61",
    "kafka": "#e76f51",
    "kafka-flush": "#b5432a",
    "kfake": "#e9b44c",
    "mock": "#9c89b8",
    "uvloop": "#adb5bd",
    "c-echo": "#868e96",
}
Panel = tuple[str, list[tuple[str, str, float]]]  # its title; server, label, figure


def _panels(results: dict[str, Any], wanted: Callable[[dict[str, Any]], bool], name: str, scale: float) -> list[Panel]:
    panels = []
    for scenario in filter(wanted, results["scenarios"]):
        bars = [
            (key, results["peers"][key]["label"], median_of(scenario["runs"][key], name) * scale)
            for key in scenario["peers"]
            if scenario["runs"].get(key)
        ]
        if bars:
            panels.append((scenario["title"], bars))
    return panels


def _draw(path: Path, title: str, panels: Sequence[Panel], unit: str) -> None:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    columns = 2 if len(panels) > 1 else 1
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.2 * columns, 0.9 + 2.5 * rows), layout="constrained")
    FigureCanvasSVG(figure)
    figure.suptitle(title)
    for number, (name, bars) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, number + 1)
        figures = [figure for _, _, figure in bars]
        drawn = axes.barh([label for _, label, _ in bars], figures, color=[COLOURS[key] for key, _, _ in bars])
        axes.bar_label(drawn, [f" {figure:,.0f}" if figure >= 100 else f" {figure:.2f}" for figure in figures])
        axes.invert_yaxis()
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(unit, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.margins(x=0.18)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def draw(results: dict[str, Any], directory: Path) -> list[Path]:
    """The plots that there are figures for; an empty list without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    directory.mkdir(parents=True, exist_ok=True)
    plots = (
        ("cpu-per-request", "CPU time per request, one core: less is better", "µs", CPU, 1.0, _closed_on_one_core),
        ("latency-p99", "p99 at a fixed rate, one core: less is better", "ms", "p99_us", 0.001, _open),
        ("all-cores", "Requests per second, all cores shared with the load", "1/s", "requests_per_second", 1.0, _all),
    )
    drawn = []
    # Words stay words and ids stay the same: small files, and no change in them where the figures did not change.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bench"}):
        for name, title, unit, key, scale, wanted in plots:
            if panels := _panels(results, wanted, key, scale):
                path = directory / f"{name}.svg"
                _draw(path, title, panels, unit)
                drawn.append(path)
    return drawn


def _closed_on_one_core(scenario: dict[str, Any]) -> bool:
    return scenario["cores"] == "one" and not scenario["rate"] and scenario["connections"] > 1


def _open(scenario: dict[str, Any]) -> bool:
    return bool(scenario["rate"])


def _all(scenario: dict[str, Any]) -> bool:
    return bool(scenario["cores"] == "all")
