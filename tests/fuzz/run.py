"""`make fuzz`: run targets under libFuzzer, two at once, and tell what they did in a table and as JSON.

Each target begins with its kept corpus and its seeds, in a directory that grows below `bench/build/fuzz`. `--keep`
writes the smallest set with the same coverage back to the kept corpus. An input that fails is left as `crash-*` beside
the directories, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS

BUILD: Final = Path(__file__).resolve().parents[2] / "bench/build"
LIMITS: Final = ("-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=512", "-print_final_stats=1")
_EXECUTED: Final = re.compile(r"stat::number_of_executed_units: (\d+)")
_RATE: Final = re.compile(r"stat::average_exec_per_sec:\s+(\d+)")
_EDGES: Final = re.compile(r"cov: (\d+)")
_TOLD: Final = re.compile(r"#(\d+)")


@dataclass
class Result:
    """Figures of a run of one target."""

    target: str
    executions: int
    per_second: int
    edges: int
    inputs: int
    crashes: list[str]


def run_target(name: str, work: Path, limits: Sequence[str]) -> Result:
    """Run one target until its limit, or until an input fails."""
    inputs = work / name
    module = importlib.import_module(f"tests.fuzz.targets.{name}")
    corpus.lay_out(inputs, [*corpus.kept(name), *module.seeds()])
    artifacts = f"-artifact_prefix={work}/{name}-"
    ended = subprocess.run(_command(name, str(inputs), artifacts, *LIMITS, *limits), capture_output=True, check=False)
    told = ended.stderr.decode(errors="replace") + ended.stdout.decode(errors="replace")
    (work / f"{name}.log").write_text(told)
    executed = _EXECUTED.findall(told) or _TOLD.findall(told) or ["0"]
    crashes = sorted(path.name for path in work.glob(f"{name}-*"))
    if ended.returncode and not crashes:
        crashes = [f"ended with {ended.returncode}, see {work / name}.log"]
    return Result(
        name,
        int(executed[-1]),
        int((_RATE.findall(told) or ["0"])[-1]),
        int((_EDGES.findall(told) or ["0"])[-1]),
        len(list(inputs.iterdir())),
        crashes,
    )


def _command(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.fuzz.libfuzzer", name, *arguments]


def keep(name: str, work: Path) -> None:
    """Keep the smallest set of inputs that has the coverage of all."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(_command(name, "-set_cover_merge=1", scratch, str(work / name)), capture_output=True, check=True)
        smallest = corpus.laid_out(Path(scratch))
        if not smallest:
            raise SystemExit(f"{name}: libFuzzer merged nothing; look at what it says without capture_output")
        size = corpus.keep(name, smallest)
    print(f"{name}: {len(corpus.kept(name))} inputs kept in {size} bytes")


def table(results: Sequence[Result]) -> str:
    """Return the results as lines of a table."""
    lines = [f"{'target':16} {'executions':>12} {'exec/s':>8} {'edges':>6} {'inputs':>7} {'crashes':>8}"]
    lines += [
        f"{each.target:16} {each.executions:>12,} {each.per_second:>8,} {each.edges:>6,} {each.inputs:>7,} "
        f"{len(each.crashes):>8}"
        for each in results
    ]
    crashes = sum(len(each.crashes) for each in results)
    return "\n".join([*lines, f"{'all':16} {sum(each.executions for each in results):>12,} {'':24}{crashes:>8}"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="may be repeated; default: all")
    parser.add_argument("--seconds", type=int, default=0, help="for each target; default: 60")
    parser.add_argument("--runs", type=int, default=0, help="executions of each target, instead of a time")
    parser.add_argument("--jobs", type=int, default=2, help="how many targets run at once")
    parser.add_argument("--work", type=Path, default=BUILD / "fuzz", help="where corpora grow")
    parser.add_argument("--json", type=Path, default=BUILD / "fuzz.json")
    parser.add_argument("--keep", action="store_true", help="write the kept corpus anew")
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    limits = [f"-runs={given.runs}"] if given.runs else [f"-max_total_time={given.seconds or 60}"]
    results: list[Result] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for result in pool.map(lambda name: run_target(name, given.work, limits), given.target or TARGETS):
            print(table([result]).splitlines()[1], flush=True)
            results.append(result)
    print(table(results))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")
    if given.keep:
        for each in results:
            keep(each.target, given.work)
    return 1 if any(each.crashes for each in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
