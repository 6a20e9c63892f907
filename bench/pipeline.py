"""`make bench-pipeline`: what the commands of the pipeline cost as a cluster grows: time, CPU time and memory.

Two curves, each command from its start to its end, as a user types it:
  logs    10 to 160 MB of an offsets log (`spark_logs.py`): compaction in a copy, extraction, SQL over all groups, the
          past of one group, the tables with Spark
  groups  50 to 800 groups with 14 days of events (the corpus of the report): the report, a what-if run of one group,
          and of all groups with Spark
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, parser, plot_lines
from bench.measure import BUILD
from bench.report import markdown_table
from bench.session_cost import SessionCost, cost_of
from bench.spark_logs import write_logs
from tests.report.corpus import write
from tests.report.plants import plots

LOGS_MB: Final = (10, 40, 160)
GROUPS: Final = (50, 200, 800)
CAUSES: Final = 18
DAYS: Final = 14
BIGGEST: Final = "SELECT c.group, count(*) AS commits FROM commits AS c GROUP BY ALL ORDER BY commits DESC LIMIT 10"

Costs = dict[str, SessionCost]


def coordinator(args: argparse.Namespace, *words: str) -> SessionCost:
    return cost_of([args.python, "-m", "coordinator", *words])


def of_log(size_mb: int, directory: Path, args: argparse.Namespace) -> Costs:
    data = directory / "data"
    write_logs(data, size_bytes=size_mb * 1_000_000, keys=size_mb * 500)
    copy = directory / "copy"
    shutil.copytree(data, copy)
    place = ("--data-dir", str(data))
    compact = ("compact", "--data-dir", str(copy), "--mode", "single", "--min-cleanable-dirty-ratio", "0", "--roll")
    found = {"compact, one process": coordinator(args, *compact)}
    found["history extract"] = coordinator(args, "history", "extract", *place)
    found["history sql, all groups"] = coordinator(args, "history", "sql", *place, BIGGEST)
    found["history rate, one group"] = coordinator(args, "history", "rate", "service-000000-consumers", *place)
    tables = ("--tables-dir", str(directory / "tables"), "--available-now")
    found["tables, Spark"] = coordinator(args, "tables", *place, *tables)
    return found


def of_groups(count: int, directory: Path, args: argparse.Namespace) -> Costs:
    data = directory / "data"
    per_cause = count // 2 // CAUSES
    corpus = write(data, plots(1, DAYS, per_cause, count - per_cause * CAUSES), DAYS, 1)
    place = ("--data-dir", str(data), "--since", "2026-09-22", "--until", "2026-10-06")
    changed = ("--set", "session.timeout.ms=45000", "--seeds", "10")
    found = {"report": coordinator(args, "report", *place)}
    found["whatif, one group"] = coordinator(args, "whatif", next(iter(corpus.planted)), *place, *changed)
    found["whatif, all groups, Spark"] = coordinator(args, "whatif", "--all-groups", *place, *changed)
    return found


def curve(findings: Findings, name: str, sizes: Iterable[int], costs: Mapping[int, Costs], plot_dir: Path) -> None:
    """Add a table of a curve, and its plots."""
    sizes = [size for size in sizes if size in costs]
    if not sizes:
        return
    commands = list(costs[sizes[0]])
    heads = [name, *commands]
    rows = [[str(size), *(_cell(costs[size][each]) for each in commands)] for size in sizes]
    findings.table(f"By {name}: seconds, CPU seconds, MB", markdown_table(heads, rows))
    findings.raw[name] = {size: {each: cost._asdict() for each, cost in costs[size].items()} for size in sizes}
    for number, what in ((1, "CPU seconds"), (2, "MB")):
        curves = {each: [(float(size), costs[size][each][number]) for size in sizes] for each in commands}
        path = plot_dir / f"pipeline-{name.split()[-1]}-{what.split()[0]}.svg"
        if plot_lines(path, f"{what} by {name}", name, what, curves):
            findings.drawn.append(path)


def _cell(cost: SessionCost) -> str:
    return f"{cost.seconds:.1f}, {cost.cpu_s:.1f}, {cost.peak_mb:,.0f}"


def measure(findings: Findings, sizes: Sequence[int], one: Any, args: argparse.Namespace) -> dict[int, Costs]:
    costs: dict[int, Costs] = {}

    def run(size: int) -> None:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
            costs[size] = one(size, Path(name), args)

    for size in sizes:
        findings.attempt(f"ours: {one.__name__}, {size}", lambda size=size: run(size))
    return costs


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--plots", type=Path, default=BUILD, help="the directory for plots (SVG)")
    args = arguments.parse_args()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    findings = Findings("pipeline", "The pipeline as a cluster grows")
    for name, sizes, one in (("MB of log", LOGS_MB, of_log), ("groups", GROUPS, of_groups)):
        sizes = sizes[:1] if args.quick else sizes
        curve(findings, name, sizes, measure(findings, sizes, one, args), args.plots)
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
