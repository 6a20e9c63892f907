"""`make bench-startup`: from the start of the process to its first answers; empty, from the log, from a snapshot.

On an empty directory: first answer to an ApiVersions, beside kfake and Apache Kafka where they run. On a log of a
million live offsets (and of ten million with `--full`), written in batches of one and of a hundred records: first
answer, /readyz 200, and the first right OffsetFetch, once from the log alone and once more after a clean stop, when
there is a snapshot. The replay's speed is that of the process beyond what an empty start takes. Files are in the page
cache: this is what the program costs, not the disk. Several offsets are compared with what was written.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.findings import Findings, Verdict, parser
from bench.live_offsets import PARTITIONS, PER_GROUP, RETENTION, cached, copy_of, expected, group_name
from bench.measure import BUILD, BenchError, all_cores, cores
from bench.probe import API_VERSIONS, Probe, fetched_offset, free_ports, is_ready
from bench.report import markdown_table
from bench.servers import Running, coordinator, log_tail

READY_S: Final = 300.0
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Start:
    """Times of one start in ms since the start of the process, with its CPU time and memory."""

    first_answer_ms: float
    ready_ms: float
    first_offset_ms: float
    cpu_ms: float
    rss_mb: float
    from_snapshot: bool = False
    stop_ms: float = 0.0


def wait_for(what: str, found: Callable[[], bool], *, pause_s: float, within_s: float = READY_S) -> float:
    """When it came, on the monotonic clock."""
    deadline = time.monotonic() + within_s
    while not found():
        if time.monotonic() > deadline:
            raise BenchError(f"{what} did not come within {within_s:g} s")
        time.sleep(pause_s)
    return time.monotonic()


def answers(port: int) -> bool:
    try:
        with Probe(port, within_s=10) as probe:
            probe.exchange(API_VERSIONS)
    except OSError:
        return False
    return True


def offset_is_right(port: int, group: int) -> bool:
    """True once the group's offsets are served; a wrong one is the end."""
    try:
        with Probe(port) as probe:
            for topic, partition in ((0, 0), (3, 7), (9, 9)):
                error, offset = fetched_offset(probe, group_name(group), f"topic-{topic}", partition)
                if error in (14, 15, 16):  # loading, not available, not the coordinator
                    return False
                if error or offset != expected(group, topic, partition):
                    raise BenchError(f"{group_name(group)} topic-{topic}/{partition}: error {error}, offset {offset}")
    except OSError:
        return False
    return True


@contextmanager
def started(directory: Path, data_dir: Path, python: str) -> Iterator[tuple[Running, float, int, int]]:
    """Our process as soon as it runs: (process, when it was started, port, HTTP port)."""
    port, http_port = free_ports(2)
    server_core, _ = cores()
    begun = time.monotonic()
    with coordinator(
        directory,
        server_core,
        python=python,
        data_dir=data_dir,
        port=port,
        http_port=http_port,
        overrides=[RETENTION, "max.groups=1000000"],
        is_ready=lambda: port,
    ) as running:
        yield running, begun, port, http_port


def start_once(directory: Path, data_dir: Path, groups: int, python: str) -> Start:
    with started(directory, data_dir, python) as (running, begun, port, http_port):
        first = wait_for("a first answer", lambda: answers(port), pause_s=0.002)
        ready = wait_for("/readyz", lambda: is_ready(http_port), pause_s=0.01)
        last = groups - 1
        offset = wait_for("an offset", lambda: offset_is_right(port, last), pause_s=0.005) if groups else ready
        cpu_ms, rss = running.cpu_ns() / 1e6, running.memory().rss_bytes
        for group in range(0, groups, max(1, groups // 20)):
            if not offset_is_right(port, group):
                raise BenchError(f"{group_name(group)} is not served")
        stopping = time.monotonic()
        os.kill(running.pid, signal.SIGTERM)  # here, because a snapshot of ten million may take its time
        stop_ms = (wait_for("its end", lambda: not running.is_alive(), pause_s=0.005) - stopping) * 1000
    counts = re.search(r"partitions_from_snapshot=(\d+) partitions_from_log=(\d+)", log_tail(directory, 1 << 20))
    used = counts is not None and int(counts[1]) > 0 and int(counts[2]) == 0
    return Start(
        (first - begun) * 1000,
        (ready - begun) * 1000,
        (offset - begun) * 1000,
        cpu_ms,
        rss / 1e6,
        used,
        stop_ms,
    )


def first_answer_ms(make: Callable[[Path, int], AbstractContextManager[Running]]) -> float:
    """Measure the time from the start of a server to its first answer. `make` gets a directory and the port it must
    listen on."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        (port,) = free_ports(1)
        server = make(Path(name), port)  # prepared, and started when the context is entered
        begun = time.monotonic()
        with server as running:
            return (
                wait_for("a first answer", lambda: answers(running.port), pause_s=0.001, within_s=60) - begun
            ) * 1000


def keep_bytecode() -> None:
    """Keep bytecode for the servers started here, as an installed package has it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(BUILD / "bytecode")


def empty(findings: Findings, args: argparse.Namespace) -> None:
    server_core, _ = cores()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        where = [(Path(name) / str(number), Path(name) / f"data-{number}") for number in range(4)]
        starts = [start_once(directory, data_dir, 0, args.python) for directory, data_dir in where]
    findings.raw["empty_cpu_ms"] = min(each.cpu_ms for each in starts[1:])  # the first one compiled the modules
    findings.progress(f"an empty start takes {findings.raw['empty_cpu_ms']:.0f} ms of CPU time")

    def ours(directory: Path, port: int) -> AbstractContextManager[Running]:
        http_port = free_ports(1)[0]
        return coordinator(
            directory, server_core, python=args.python, port=port, http_port=http_port, is_ready=lambda: port
        )

    makers = {"ours": ours} | peers_at_hand.for_first_answer(all_cores())
    found: dict[str, list[float]] = {}
    for _ in range(3 if args.quick else 7):
        for name, make in tuple(makers.items()):
            if name == peers_at_hand.KAFKA and len(found.get(name, [])) == 2:
                continue  # two starts tell enough of it
            times: list[float] = []
            what = f"{name}: first answer of an empty server"
            if findings.attempt(what, lambda make=make, times=times: times.append(first_answer_ms(make))):
                found.setdefault(name, []).extend(times)
            else:
                del makers[name]
    findings.raw["first_answer_ms"] = found
    rows = [
        [name, f"{statistics.median(each):,.0f}", f"{min(each):,.0f}..{max(each):,.0f}"] for name, each in found.items()
    ]
    findings.table(
        "Process start to first answer, empty directory, ms", markdown_table(["server", "median", "spread"], rows)
    )
    findings.lines += ["", f"Until it is ready, ours uses {findings.raw['empty_cpu_ms']:.0f} ms of CPU time."]
    median = statistics.median(found["ours"]) if found.get("ours") else None
    findings.verdicts.append(Verdict("first reply after process start", 150, "ms", median))


def loaded(findings: Findings, args: argparse.Namespace, offsets: int, per_batch: int, rows: list[list[str]]) -> None:
    begun = time.monotonic()
    source = cached(offsets, per_batch)
    findings.progress(f"a log of {offsets:,} offsets in batches of {per_batch} ({time.monotonic() - begun:.0f} s)")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        directory = Path(name)
        data_dir = copy_of(source, directory / "data")
        replay = start_once(directory, data_dir, offsets // PER_GROUP, args.python)
        again = start_once(directory, data_dir, offsets // PER_GROUP, args.python)
    speed = offsets / max(1e-3, (replay.cpu_ms - findings.raw["empty_cpu_ms"]) / 1000)
    findings.raw.setdefault("loaded", []).append(
        {
            "offsets": offsets,
            "per_batch": per_batch,
            "replay_records_per_s": speed,
            "replay": asdict(replay),
            "again": asdict(again),
        }
    )
    for what, each in (("the log", replay), ("the log and what the last stop left", again)):
        rows.append([f"{offsets:,}", str(per_batch), what, f"{each.first_answer_ms:,.0f}", f"{each.ready_ms:,.0f}"])
        rows[-1] += [f"{each.first_offset_ms:,.0f}", f"{each.cpu_ms:,.0f}", f"{each.rss_mb:,.0f}"]
        rows[-1] += [f"{each.stop_ms:,.0f}", "yes" if each.from_snapshot else "no"]
    findings.progress(
        f"replay {speed:,.0f} records per CPU second, ready {replay.ready_ms:,.0f} ms; again {again.ready_ms:,.0f} ms"
    )
    size = f"{offsets // MILLION} M" if offsets >= MILLION else f"{offsets:,}"
    if per_batch == 100:
        findings.verdicts.append(
            Verdict(f"replay, {size} records in batches of 100", 170_000, "records per CPU second", speed, "at least")
        )
        wanted_ms = {MILLION: 1000.0, 10 * MILLION: 4000.0}.get(offsets)
        if wanted_ms:
            what = f"ready with {size} live offsets from a snapshot"
            found = again.ready_ms if again.from_snapshot else None
            reason = f"no snapshot was read; ready in {again.ready_ms:,.0f} ms without"
            findings.verdicts.append(Verdict(what, wanted_ms, "ms", found, reason=reason))


def kafka_loaded(findings: Findings, args: argparse.Namespace, offsets: int) -> None:
    """Measure Apache Kafka on the same log: time to its first answer, and to the first right OffsetFetch."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        source, last = cached(offsets, 100), offsets // PER_GROUP - 1
        with peers_at_hand.on_log(Path(name), source, PARTITIONS, all_cores()) as (server, begun):
            first = wait_for("Kafka's first answer", lambda: answers(server.port), pause_s=0.01, within_s=120)
            offset = wait_for("Kafka's offsets", lambda: offset_is_right(server.port, last), pause_s=0.05)
    findings.raw["kafka_loaded"] = {
        "offsets": offsets,
        "first_answer_ms": (first - begun) * 1000,
        "first_offset_ms": (offset - begun) * 1000,
    }
    findings.lines += [
        "",
        f"Apache Kafka on the same {offsets:,} offsets (batches of 100, all cores): first answer after "
        f"{(first - begun) * 1000:,.0f} ms, first right OffsetFetch after {(offset - begun) * 1000:,.0f} ms.",
    ]


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--full", action="store_true", help="ten million offsets too (2 GB of disk, minutes)")
    arguments.add_argument("--no-peers", action="store_true", help="ours alone")
    args = arguments.parse_args()
    peers_at_hand.enabled = not args.no_peers
    findings = Findings("startup", "Start-up")
    args.work_dir.mkdir(parents=True, exist_ok=True)
    keep_bytecode()
    empty(findings, args)
    size = MILLION // 10 if args.quick else MILLION
    sizes = [(size, 100), (size, 1)] + ([(10 * MILLION, 100)] if args.full else [])
    rows: list[list[str]] = []
    for offsets, per_batch in sizes:
        findings.attempt(
            f"ours: {offsets:,} offsets, batches of {per_batch}",
            lambda offsets=offsets, per_batch=per_batch: loaded(findings, args, offsets, per_batch, rows),
        )
    headings = [
        "live offsets",
        "per batch",
        "start from",
        "first answer, ms",
        "ready, ms",
        "first offset, ms",
        "CPU, ms",
    ]
    headings += ["RSS, MB", "stop, ms", "snapshot read"]
    findings.table("Process start to first answers, with live offsets", markdown_table(headings, rows))
    if not args.full:
        findings.verdicts.append(
            Verdict("ready with 10 M live offsets from a snapshot", 4000, "ms", None, reason="only with --full")
        )
    if peers_at_hand.enabled:
        findings.attempt("Apache Kafka on the same log", lambda: kafka_loaded(findings, args, size))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
