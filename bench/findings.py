"""Shared parts of the benchmarks beside `make bench`: targets, progress and reports.

A benchmark adds tables (Markdown lines), verdicts and raw figures to its `Findings`, and prints what it is doing all
the while. At the end everything is printed, the raw figures go to `bench/build/<name>.json`, and with `--markdown FILE`
the tables and verdicts go to a file that can be put into a page of docs/ as it is. A target that was missed is said
beside its figure, by how much, and is no error; wrong answers are (exit code 1).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from bench import pages
from bench.measure import BUILD, BenchError, busy_share, machine
from bench.report import write_json

BUSY_SHARE: Final = 0.15  # of all cores; above it figures of time are noted as taken on a busy machine


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target beside the figure that it is about. `found` None: it was not measured, and why."""

    what: str
    wanted: float
    unit: str
    found: float | None
    side: Literal["at most", "at least"] = "at most"
    reason: str = ""

    @property
    def is_reached(self) -> bool:
        if self.found is None:
            return False
        return self.found <= self.wanted if self.side == "at most" else self.found >= self.wanted

    def sentence(self) -> str:
        wanted = f"{self.what}: {self.side} {_figure(self.wanted)} {self.unit}"
        if self.found is None:
            return f"{wanted}: NOT MEASURED ({self.reason or 'left out'})"
        if self.is_reached:
            return f"{wanted}: reached, {_figure(self.found)}"
        share = f" ({self.found / self.wanted:.2f} of the target)" if self.wanted else ""
        return f"{wanted}: MISSED, {_figure(self.found)}{share}"


def _figure(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


@dataclass
class Findings:
    """The tables, verdicts and figures of one benchmark."""

    name: str  # of the files it writes
    title: str
    raw: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    drawn: list[Path] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)

    def progress(self, text: str) -> None:
        print(f"  [{time.monotonic() - self._begun:5.0f} s] {text}", flush=True)

    def attempt(self, what: str, run: Callable[[], None]) -> bool:
        """One part of the benchmark. One that cannot run is reported, and the others go on."""
        busy = busy_share(0.2)
        self.progress(f"{what} ..." + (f" (others use {busy:.0%} of the machine)" if busy > BUSY_SHARE else ""))
        try:
            run()
        except (BenchError, OSError, subprocess.SubprocessError, TimeoutError, AssertionError) as problem:
            self.not_run.append(f"{what}: {problem or type(problem).__name__}")
            self.progress(f"{what}: NOT RUN: {problem or type(problem).__name__}")
            return False
        return True

    def table(self, heading: str, rows: list[str]) -> None:
        self.lines += ["", f"**{heading}**", "", *rows]

    def finish(self, args: argparse.Namespace) -> int:
        """Print, and write the files. 1 if anything of ours could not run."""
        facts = machine()
        where = f"{facts['cores']} cores ({facts['cpu']}), Linux {facts['kernel']}, Python {facts['python']}"
        text = [f"### {self.title}", "", where, *self.lines]
        if self.verdicts:
            text += ["", *(f"- {each.sentence()}" for each in self.verdicts)]
        if self.not_run:
            text += ["", "Not run:", "", *(f"- {each.splitlines()[0]}" for each in self.not_run)]
        print("\n" + "\n".join(text), flush=True)
        verdicts = [
            {"what": v.what, "wanted": v.wanted, "unit": v.unit, "found": v.found, "reached": v.is_reached}
            for v in self.verdicts
        ]
        raw = {"machine": facts, **self.raw, "targets": verdicts, "not_run": self.not_run}
        write_json(args.json or BUILD / f"{self.name}.json", raw)
        if args.markdown:
            pages.put(args.markdown, f"bench-{self.name}", text, self.drawn)
        return 1 if any(each.startswith("ours") for each in self.not_run) else 0


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all of them take. From here on SIGTERM ends them as Ctrl-C does: with their servers."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    made.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not how fast")
    made.add_argument("--json", type=Path, help="where the raw figures go (default bench/build/<name>.json)")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", help="where the tables go: a page, or their place in one that has it"
    )
    made.add_argument(
        "--python",
        type=lambda text: str(Path(text).absolute()),  # servers start elsewhere; not resolved: a venv's is a link
        default=sys.executable,
        help="the interpreter of the build measured (default this one)",
    )
    made.add_argument("--work-dir", type=Path, default=BUILD, help="where data directories go: the disk measured")
    return made


def pinned(core: set[int]) -> Callable[[], None]:
    """Return a `preexec_fn` that pins the child to these cores."""
    return lambda: os.sched_setaffinity(0, core)


def plot_lines(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    curves: dict[str, list[tuple[float, float]]],
) -> bool:
    """Curves over a logarithmic x, as SVG; said and left out where matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        print("  no plot: matplotlib is not installed (make setup)", file=sys.stderr)
        return False
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    for name, points in curves.items():
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title)
    axes.grid(True, alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Words stay words and ids stay the same: small files, and no change in them where the figures did not change.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bench"}):
        figure.savefig(path, metadata={"Date": None})
    return True
