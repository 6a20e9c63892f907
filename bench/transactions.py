"""`make bench-transactions`: the cost of a transaction beside Kafka's, with producers of librdkafka.

All servers are up at once, on one core, and take turns under the same load, which has the other core. The cost is user
and system time of the server's processes for each committed transaction. A commit is timed in the client: until
commit_transaction returns, and until then from begin_transaction on. Medians over the rounds; p99 is that of all
rounds together. Servers that flush and servers that do not are measured both, because a flush decides the latency.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import servers
from bench.findings import Findings, parser
from bench.measure import BenchError, cores, fdatasync_us
from bench.peers import kafka
from bench.report import markdown_table
from bench.run import COMPILED
from bench.servers import Running
from bench.transaction_load import INPUT, OUTPUT, PARTITIONS, Found, Load, Shape, fill
from tests.support.admin import create_topic
from tests.support.eventually import eventually

OURS, OURS_COMPILED = "ours", "ours compiled"
KAFKA_DEFAULTS, KAFKA_FLUSHED = "Apache Kafka, defaults", "Apache Kafka, flush every message"
NO_DELAY: Final = {"group.initial.rebalance.delay.ms": "0"}
OURS_AS_KAFKA: Final = NO_DELAY | {"log.flush.policy": "interval"}
OURS_ALL_FLUSHED: Final = NO_DELAY | {"topic.flush.policy": "sync"}
SHAPES: Final = (
    Shape(f"1 record to each of {PARTITIONS} partitions", 1),
    Shape(f"10 records to each of {PARTITIONS} partitions", 10),
    Shape(f"consume {PARTITIONS * 10}, produce them, send offsets", 10, reads=True),
)
PRODUCERS: Final = (1, 8)

Start = Callable[[str, Path, set[int]], AbstractContextManager[Running]]


class Peer(NamedTuple):
    """A server of the comparison."""

    name: str
    start: Start
    is_jvm: bool = False


Cell = tuple[Shape, int]  # and how many producers
CELLS: Final[tuple[Cell, ...]] = tuple((shape, producers) for producers in PRODUCERS for shape in SHAPES)


def _ours(python: str, settings: dict[str, str]) -> Start:
    def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
        overrides = [f"{key}={value}" for key, value in settings.items()]
        topics = [f"{INPUT}:1", f"{OUTPUT}:{PARTITIONS}"]
        return servers.coordinator(directory, core, name=name, python=python, topics=topics, overrides=overrides)

    return start


def _kafka(settings: dict[str, str]) -> Start:
    def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
        settings_of_one = NO_DELAY | {"transaction.state.log.num.partitions": "50"} | settings
        return kafka.kafka(directory, core, name=name, topic=INPUT, partitions=1, settings=settings_of_one)

    return start


def _peers(findings: Findings, args: argparse.Namespace) -> list[Peer]:
    builds = {OURS: args.python}
    if _has_transactions(args.compiled_python):
        builds[OURS_COMPILED] = args.compiled_python
    elif args.compiled_python and Path(args.compiled_python).exists():
        findings.not_run.append(f"{args.compiled_python}: this build has no transactions; run make compiled-venv")
    peers = []
    for name, python in builds.items():
        peers.append(Peer(f"{name}, defaults", _ours(python, NO_DELAY)))
        peers.append(Peer(f"{name}, no flush", _ours(python, OURS_AS_KAFKA)))
        if name == OURS:
            peers.append(Peer(f"{name}, all flushed", _ours(python, OURS_ALL_FLUSHED)))
    if not args.without_kafka:
        peers.append(Peer(KAFKA_DEFAULTS, _kafka({}), is_jvm=True))
        peers.append(Peer(KAFKA_FLUSHED, _kafka(kafka.FLUSH_EVERY_MESSAGE), is_jvm=True))
    return peers


def _has_transactions(python: str) -> bool:
    command = [python, "-c", "import coordinator.core.transactions.coordinator"]
    return (
        bool(python) and Path(python).exists() and subprocess.run(command, cwd="/", capture_output=True).returncode == 0
    )


class Bench:
    """All servers with their producers, and what was found in each round."""

    def __init__(self, args: argparse.Namespace, stack: ExitStack, core: set[int]) -> None:
        self._args, self._stack, self._core = args, stack, core
        self._work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="transactions-", dir=args.work_dir)))
        self._up: dict[str, tuple[Running, dict[int, Load]]] = {}
        self.runs: dict[Cell, dict[str, list[Found]]] = {cell: {} for cell in CELLS}
        self.fdatasync_us = statistics.median(fdatasync_us(self._work))

    def start(self, peer: Peer) -> None:
        directory = self._work / peer.name.replace(" ", "-").replace(",", "")
        directory.mkdir()
        server = self._stack.enter_context(peer.start(peer.name, directory, self._core))
        if peer.is_jvm:
            create_topic(server.port, OUTPUT, PARTITIONS)
        eventually(lambda: _is_filled(server.port), f"{peer.name} has records", within_s=30)
        self._up[peer.name] = server, {producers: Load(server.port, producers) for producers in PRODUCERS}
        if peer.is_jvm:
            for shape, producers in CELLS:
                self._up[peer.name][1][producers].measure(server, shape, self._args.jvm_warmup)

    def round(self, names: Sequence[str], seconds: float) -> None:
        """Measure every cell of these servers once, beside each other."""
        for cell in CELLS:
            shape, producers = cell
            for name in names:
                server, loads = self._up[name]
                found = loads[producers].measure(server, shape, seconds)
                self.runs[cell].setdefault(name, []).append(found)

    def median(self, name: str, cell: Cell, figure: Callable[[Found], float]) -> float:
        return statistics.median(map(figure, self.runs[cell][name]))

    def p99(self, name: str, cell: Cell, times: Callable[[Found], list[float]]) -> float:
        """Return the 99th percentile of all rounds."""
        return _percentile([ms for found in self.runs[cell][name] for ms in times(found)], 0.99)


def _is_filled(port: int) -> bool:
    try:
        fill(port)
    except BenchError:
        return False
    return True


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _tables(findings: Findings, bench: Bench, peers: Sequence[Peer]) -> None:
    headings = [
        "server",
        "CPU µs",
        "of Kafka's, defaults / flush",
        "transactions/s",
        "times Kafka's, defaults / flush",
        "commit p50 / p99 ms",
        "whole p50 / p99 ms",
    ]
    for cell in CELLS:
        shape, producers = cell
        rows = []
        for peer in peers:
            if peer.name not in bench.runs[cell]:
                continue
            row = [peer.name]
            for figure, digits in ((_cpu_us, 2), (_per_second, 1)):
                own = bench.median(peer.name, cell, figure)
                row += [f"{own:,.0f}", _beside_kafka(bench, cell, own, figure, digits)]
            for times in (_commit_ms, _whole_ms):
                p50 = bench.median(peer.name, cell, partial(_median_of, times))
                row.append(f"{p50:.2f} / {bench.p99(peer.name, cell, times):.2f}")
            rows.append(row)
        who = "one producer" if producers == 1 else f"{producers} producers"
        findings.table(f"{shape.name}: {who}", markdown_table(headings, rows))


def _beside_kafka(bench: Bench, cell: Cell, own: float, figure: Callable[[Found], float], digits: int) -> str:
    """Return a figure as a multiple of that of each Kafka."""
    theirs = [name for name in (KAFKA_DEFAULTS, KAFKA_FLUSHED) if name in bench.runs[cell]]
    return " / ".join(f"{own / bench.median(name, cell, figure):.{digits}f}" for name in theirs) or "-"


def _cpu_us(found: Found) -> float:
    return found.cpu_us


def _per_second(found: Found) -> float:
    return found.per_second


def _median_of(times: Callable[[Found], list[float]], found: Found) -> float:
    return statistics.median(times(found))


def _commit_ms(found: Found) -> list[float]:
    return found.commit_ms


def _whole_ms(found: Found) -> list[float]:
    return found.whole_ms


def _raw(bench: Bench) -> list[dict[str, Any]]:
    return [
        {
            "shape": shape.name,
            "producers": producers,
            "server": name,
            "cpu_us": [round(each.cpu_us, 1) for each in runs],
            "per_second": [round(each.per_second, 1) for each in runs],
            "commit_p50_ms": [round(statistics.median(each.commit_ms), 3) for each in runs],
            "whole_p50_ms": [round(statistics.median(each.whole_ms), 3) for each in runs],
            "commit_p99_ms": [round(_percentile(each.commit_ms, 0.99), 3) for each in runs],
        }
        for (shape, producers), by_name in bench.runs.items()
        for name, runs in by_name.items()
    ]


def _about(args: argparse.Namespace, bench: Bench, loads: Sequence[float]) -> str:
    import confluent_kafka

    return (
        f"confluent-kafka {confluent_kafka.version()}, records of 100 bytes; medians of {args.rounds} rounds of "
        f"{args.seconds:g} s. `fdatasync` took {bench.fdatasync_us:.0f} µs. The load average was {min(loads):.1f} to "
        f"{max(loads):.1f}: over 2, others used the machine."
        + ("" if args.without_kafka else f" Kafka is {kafka.version()}.")
    )


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, help="how often each cell is measured (default 5; --quick 1)")
    options.add_argument("--seconds", type=float, help="measured seconds each time (default 1.5; --quick 0.3)")
    options.add_argument("--jvm-warmup", type=float, help="seconds for each cell of Kafka first (default 4; --quick 1)")
    options.add_argument("--without-kafka", action="store_true", help="ours alone")
    options.add_argument(
        "--compiled-python",
        type=lambda text: text and str(Path(text).absolute()),  # not resolved: a venv's is a link
        default=str(COMPILED),
        help="that of the compiled build, if there is one",
    )
    args = options.parse_args()
    for name, long, short in (("rounds", 5, 1), ("seconds", 1.5, 0.3), ("jvm_warmup", 4.0, 1.0)):
        if getattr(args, name) is None:
            setattr(args, name, short if args.quick else long)
    args.work_dir.mkdir(parents=True, exist_ok=True)
    server_core, load_core = cores()
    every_core = os.sched_getaffinity(0)
    os.sched_setaffinity(0, load_core)
    findings = Findings("transactions", "The cost of a transaction")
    peers = _peers(findings, args)
    with ExitStack() as stack:
        bench = Bench(args, stack, server_core)
        up = [each for each in peers if findings.attempt(each.name, partial(bench.start, each))]
        names = [each.name for each in up]
        loads = []
        for number in range(args.rounds):
            findings.attempt(f"ours and the others, round {number + 1}", partial(bench.round, names, args.seconds))
            loads.append(os.getloadavg()[0])
        findings.lines += ["", _about(args, bench, loads)]
    os.sched_setaffinity(0, every_core)  # the report tells how many there are
    _tables(findings, bench, up)
    findings.raw |= {"measurements": _raw(bench), "load_average": loads, "fdatasync_us": bench.fdatasync_us}
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
