"""`make bench-observed_history`: 30 days of 3,000 groups in an observer's directory: its size, and a page of the past.

The groups have 10 partitions and 4 members each, commit every 5 seconds, and rebalance 20 times a day; their records
go to 50 partitions, and a segment is closed every ten minutes, as `coordinator observe` does at this rate. The moment
is the worst one for the size: 30 hours are kept in full, because the day before today is not thinned yet.

All commits of 30 days are 15.5 billion records, so a day is generated as extraction and thinning leave it. The first
part takes one partition through the real way (record batches, `Mirror`, `extract`, `thin`) for two days and compares
each file, byte for byte, with the generated one. A page is answered as the console does, by a child process, after the
kernel was told to forget the files.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from aiohttp import ClientSession, web

from bench.findings import Findings, Verdict, parser
from bench.measure import BenchError
from bench.observed_month import (
    BEGIN_DAY,
    DAY,
    DAYS,
    FIRST,
    FS,
    GB,
    GROUP_PARTITIONS,
    HOURS_TODAY,
    KINDS,
    OWNED,
    PARTITIONS,
    Generated,
    Size,
    World,
    Written,
    meta,
    names_by_partition,
    segments_until,
    span_of,
)
from bench.report import markdown_table
from coordinator.config.config import Config
from coordinator.console.model import GroupPage
from coordinator.console.past import Past
from coordinator.console.routes import console_routes
from coordinator.core.shard import partition_for
from coordinator.history.extract import extract
from coordinator.history.layout import COMMITS_DIR, EVENTS_DIR, GROUPS_DIR
from coordinator.history.source import HistorySource
from coordinator.history.thinning import DAY_MS, HOUR_MS, THINNED_NAME, thin
from coordinator.observe.fetching import FetchedPart
from coordinator.observe.mirror import Mirror
from coordinator.observe.progress import FollowProgress
from coordinator.observe.source import Observed, ObservedConsole
from coordinator.observe.state import ObservedGroups
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import Mark, Marks, write_marks

WANTED_GB: Final = 10.0
LIMIT_GB: Final = 8 * (1 << 30) / GB
WANTED_S: Final = 1.0
PAGES: Final = 20
FULL_PAGES: Final = 5


# -- the real way, beside the generated one ------------------------------------------------------------------------


def same_as_real(findings: Findings, size: Size, work: Path) -> None:
    """Take one partition through mirror, extraction and thinning; compare its files with the generated ones."""
    days = max(size.real_cycles // DAY, 1)
    end = size.real_cycles + FIRST
    world = World(0, names_by_partition(size)[0], days + 1)
    real, ours = work / "real", work / "generated"
    for path in (real, ours):
        shutil.rmtree(path, ignore_errors=True)
        meta(path, size.partitions)
    mirror = Mirror.open(real, 1, FS)
    raw = 0
    closed = {last for _, last in segments_until(end)}
    for number, data in enumerate(world.batches(0, end)):
        mirror.take([FetchedPart(0, mirror.next_offset(0), world.start(number + 1), data)])
        raw += len(data)
        if number + 1 in closed:
            mirror.roll([0])
    mirror.close()
    findings.progress(f"{world.start(end):,} records, {raw / 1e6:,.0f} MB of log; extracting")
    source = HistorySource.of(real)
    extract(source)
    full_ms = BEGIN_DAY * DAY_MS
    rows = [compared("all commits", source.history_dir, world, end, full_ms, ours)]
    # The first day is three days old, the second one not.
    now_ms = (BEGIN_DAY + 1) * DAY_MS + 73 * HOUR_MS
    findings.progress("thinning")
    thin(source, full_ms + DAY_MS + 7 * HOUR_MS, FS)  # first one a minute, as it happens
    thin(source, now_ms, FS)
    rows.append(compared("thinned", source.history_dir, world, end, now_ms, ours))
    findings.raw["raw_bytes_per_record"] = raw / world.start(end)
    findings.table(
        f"Generated beside the real way: {len(world.names)} groups of one partition, {end / DAY:.2f} days",
        markdown_table(
            (
                "history",
                "rows of commits, real / generated",
                "bytes a row, real / generated",
                "rows per key and day, real / generated",
                "files the same, byte for byte",
            ),
            rows,
        ),
    )
    for path in (real, ours):
        shutil.rmtree(path, ignore_errors=True)


def compared(what: str, real: Path, world: World, end: int, now_ms: int, directory: Path) -> tuple[str, ...]:
    """Generate the same, and return a row of the table. BenchError: the rows differ."""
    ours = directory / "history"
    shutil.rmtree(ours, ignore_errors=True)
    made = Generated(ours, world, end, now_ms)
    mark = made.write()
    marks = json.loads((real / "marks.json").read_text())["partitions"]["0"]
    if marks != asdict(mark) and now_ms > BEGIN_DAY * DAY_MS:
        raise BenchError(f"the marks differ: {marks} and {asdict(mark)}")
    if (real / "files/lp=0.jsonl").read_text() != (ours / "files/lp=0.jsonl").read_text():
        raise BenchError("the lists of files differ")
    sums = [0, 0, 0, 0]
    keys: list[list[dict[str, float]]] = [[], []]
    same = total = 0
    for path in sorted(real.rglob("seg-*.parquet")):
        twin = ours / path.relative_to(real)
        total += 1
        tables = [pq.ParquetFile(each).read() for each in (path, twin)]
        if not tables[0].equals(tables[1]):
            raise BenchError(f"the rows of {path.relative_to(real)} differ")
        same += path.read_bytes() == twin.read_bytes()
        if path.relative_to(real).parts[0] == COMMITS_DIR:
            for number, table in enumerate(tables):
                sums[number] += table.num_rows
                sums[2 + number] += (path, twin)[number].stat().st_size
                by_key = table.group_by(["group", "topic", "partition"]).aggregate([("log_offset", "count")])
                keys[number].append({"rows": float(pc.sum(by_key["log_offset_count"]).as_py()), "keys": len(by_key)})
    if total != sum(1 for _ in ours.rglob("seg-*.parquet")):
        raise BenchError("there are other files")
    count = len(world.names) * GROUP_PARTITIONS
    a_day = [sum(each["rows"] for each in found) / count / (end / DAY) for found in keys]
    return (
        what,
        f"{sums[0]:,} / {sums[1]:,}",
        f"{sums[2] / sums[0]:.2f} / {sums[3] / sums[1]:.2f}",
        f"{a_day[0]:,.0f} / {a_day[1]:,.0f}",
        f"{same:,} of {total:,}",
    )


# -- the month -----------------------------------------------------------------------------------------------------


def now_of(size: Size) -> int:
    """Return the cycle that is now: just before the day before today is thinned, which is when most is kept."""
    return size.days * DAY + HOURS_TODAY * (DAY // 24) - 12


def generate(findings: Findings, size: Size, data_dir: Path) -> Written:
    """Write the directory; partitions that are there from an earlier run are taken as they are."""
    total = Written()
    now = now_of(size)
    now_ms = World.at_ms(now)
    meta(data_dir, size.partitions)
    history_dir = data_dir / "history"
    marks = Marks("bench", size.partitions, {})
    for partition, names in enumerate(names_by_partition(size)):
        note = data_dir / f"generated-{partition}.json"
        wanted = asdict(size) | {"full": partition < size.full}
        if note.exists() and (found := json.loads(note.read_text()))["size"] == wanted:
            total.take(Written(**found["written"]))
            marks = marks.with_mark(partition, Mark(**found["mark"]))
            continue
        world = World(partition, names, size.days + 1)
        closed = segments_until(now)[-1][1]
        made = Generated(history_dir, world, now, now_ms, has_full=partition < size.full)
        mark = made.write()
        made.events()
        log = offsets_log_dir(data_dir, partition)
        log.mkdir(exist_ok=True)
        data = b"".join(world.batches(closed, now))
        (log / f"{world.start(closed):020d}.log").write_bytes(data)
        made.written.add("raw log, the segment being written", len(data), world.start(now) - world.start(closed))
        note.write_text(json.dumps({"size": wanted, "written": asdict(made.written), "mark": asdict(mark)}))
        marks = marks.with_mark(partition, mark)
        total.take(made.written)
        gc.collect()
        findings.progress(f"partition {partition}: {sum(made.written.bytes.values()) / 1e6:,.0f} MB")
    write_marks(history_dir, marks)
    days = {f"date={day.name.removeprefix('date=')}" for day in (history_dir / COMMITS_DIR).iterdir()}
    spans = {
        f"date={np.datetime64(BEGIN_DAY + day, 'D')}": span_of(BEGIN_DAY + day, now_ms) for day in range(size.days + 1)
    }
    done = {name: span for name, span in spans.items() if span and name in days}
    (history_dir / THINNED_NAME).write_text(json.dumps(done))
    return total


def sizes(findings: Findings, size: Size, written: Written, data_dir: Path) -> None:
    """The table of sizes. What was generated for some partitions only is scaled, and marked."""
    rows = []
    total = 0.0
    blocks = sum(path.stat().st_blocks * 512 for path in (data_dir / "history").rglob("*") if path.is_file())
    all_names = names_by_partition(size)
    in_full = sum(map(len, all_names[: size.full]))
    raw = written.bytes["raw log, the segment being written"]
    for kind, number in written.bytes.items():
        is_scaled = kind == KINDS[0] and size.full < size.partitions
        scale = size.groups / in_full if is_scaled else 1.0
        total += number * scale
        rows.append(
            (
                kind + (f" (SCALED from {size.full} of {size.partitions} partitions)" if is_scaled else ""),
                f"{written.rows[kind] * scale:,.0f}",
                f"{written.files[kind] * scale:,.0f}",
                f"{number * scale / GB:.3f}",
                f"{number / max(written.rows[kind], 1):.2f}",
            )
        )
    lists = sum(path.stat().st_size for path in (data_dir / "history/files").iterdir())
    marks = (data_dir / "history/marks.json").stat().st_size
    rows.append(("lists of files, marks", "", f"{size.partitions + 2:,}", f"{(lists + marks) / GB:.3f}", ""))
    # Beside the segment being written: the one before it until it is compacted, and its replacement meanwhile.
    total += lists + marks + 2 * raw
    rows.append(
        ("raw log, the segment before it, and its replacement (2 x, CALCULATED)", "", "", f"{2 * raw / GB:.3f}", "")
    )
    rows.append(("all", "", "", f"{total / GB:.2f}", ""))
    findings.raw["bytes"] = written.bytes
    findings.raw["rows"] = written.rows
    findings.raw["files"] = written.files
    findings.raw["history_bytes_on_disk_as_blocks"] = blocks
    findings.raw["total_bytes"] = total
    findings.table(
        f"{size.days} days and {HOURS_TODAY} hours of {size.groups:,} groups, {size.groups * GROUP_PARTITIONS:,} keys",
        markdown_table(("what", "rows", "files", "GB", "bytes a row"), rows),
    )
    history = total - 3 * raw - written.bytes["events"]  # what --history-max-gb counts
    findings.verdicts += [
        Verdict(f"{size.days} days of {size.groups:,} groups on disk", WANTED_GB, "GB", total / GB),
        Verdict("the history, of which --history-max-gb (8) removes the oldest days", LIMIT_GB, "GB", history / GB),
    ]


# -- pages ---------------------------------------------------------------------------------------------------------


def forget(data_dir: Path, partition: int) -> None:
    """Have the kernel drop its copies of the files of a partition."""
    history = data_dir / "history"
    parents = [*(history / COMMITS_DIR).iterdir(), history / GROUPS_DIR, history / EVENTS_DIR]
    places = [parent / f"lp={partition}" for parent in parents] + [offsets_log_dir(data_dir, partition)]
    for place in places:
        for path in place.iterdir() if place.is_dir() else ():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


@asynccontextmanager
async def console(data_dir: Path) -> AsyncIterator[str]:
    """Serve the console of an observer that has this directory; yield its address."""
    state = ObservedGroups()

    async def no_ends(wanted: Iterable[Any]) -> dict[Any, int]:
        return {}

    observed = Observed("127.0.0.1:9", lambda: state, lambda: "bench", FollowProgress(), no_ends)
    app = web.Application()
    config = replace(Config(), http_listen="127.0.0.1:0", is_http_given=True)
    console_routes(app, ObservedConsole(observed, Past(data_dir)), config)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


async def pages(findings: Findings, size: Size, data_dir: Path, rounds: int) -> None:
    """Time pages of random groups at random moments: cold, then warm, then over HTTP, cold again."""
    chance = random.Random(7)
    past = Past(data_dir)
    by_partition = names_by_partition(size)
    whole = [name for names in by_partition[: size.full] for name in names]
    begin_ms, now_ms = World.at_ms(DAY), World.at_ms(now_of(size))
    full_ms = World.at_ms((size.days - 1) * DAY)
    # Where the last days were not generated, their pages would be answered from less than there would be.
    asked = {
        "any of the month": [(chance.choice(whole), chance.randrange(begin_ms, now_ms)) for _ in range(rounds)],
        "of the last 30 hours": [(chance.choice(whole), chance.randrange(full_ms, now_ms)) for _ in range(FULL_PAGES)],
        "now": [(chance.choice(whole), now_ms - 1000) for _ in range(FULL_PAGES)],
    }
    rows = []
    longest = 0.0
    os.sync()
    async with console(data_dir) as url, ClientSession() as session:

        async def by_child(group: str, at_ms: int) -> GroupPage:
            return await past.group(group, at_ms)

        async def by_http(group: str, at_ms: int) -> GroupPage:
            async with session.get(f"{url}/api/group", params={"id": group, "at": str(at_ms)}) as answer:
                return msgspec.json.decode(await answer.read(), type=GroupPage)

        for what, questions in asked.items():
            times: dict[str, list[float]] = {"cold": [], "warm": [], "http": []}
            for group, at_ms in questions:
                for way, found in times.items():
                    if way != "warm":
                        forget(data_dir, partition_for(group, size.partitions))
                    begun = time.perf_counter()
                    page = await (by_http if way == "http" else by_child)(group, at_ms)
                    found.append(time.perf_counter() - begun)
                    check_page(page, group, at_ms)
                said = ", ".join(f"{way} {found[-1]:.2f} s" for way, found in times.items())
                findings.progress(f"{what}: {group}: {said}")
            longest = max(longest, *times["cold"], *times["http"])
            findings.raw[f"pages, {what}"] = times
            columns = (f"{statistics.median(found):.2f} / {max(found):.2f}" for found in times.values())
            rows.append((what, str(len(questions)), *columns))
    findings.table(
        "A group's page at a past moment (seconds, median / longest)",
        markdown_table(
            ("moment", "pages", "Past.group, files not in memory", "again", "GET /api/group, files not in memory"), rows
        ),
    )
    findings.verdicts.append(Verdict("the page of any group", WANTED_S, "s", longest))


def check_page(page: GroupPage, group: str, at_ms: int) -> None:
    """BenchError: the page does not say what the generator made."""
    partitions = page.lag.partitions if page.lag is not None else []
    if page.group != group or len(partitions) != GROUP_PARTITIONS:
        raise BenchError(f"the page of {group} has {len(partitions)} partitions")
    oldest = min(row.committed_ms for row in partitions)
    if not at_ms - 2 * 600_000 <= oldest <= at_ms:
        raise BenchError(f"the page of {group} at {at_ms} has a commit of {oldest}")
    if page.story.state is None or page.story.state.member_count != len(OWNED):
        raise BenchError(f"the page of {group} has no members")


def main() -> int:
    made = parser(__doc__)
    made.add_argument("--full-partitions", type=int, default=PARTITIONS, help="whose last 30 hours are generated")
    made.add_argument("--without-real", action="store_true", help="leave out the part that goes the real way")
    made.add_argument("--keep", action="store_true", help="leave the directory; the next run takes it as it is")
    args = made.parse_args()
    findings = Findings("observed_history", "A month of an observed cluster")
    size = Size(3_000, DAYS, PARTITIONS, args.full_partitions, 2 * DAY)
    if args.quick:
        size = Size(120, 5, 2, 2, DAY + DAY // 24)
    run(findings, args, size)
    return findings.finish(args)


def run(findings: Findings, args: argparse.Namespace, size: Size) -> None:
    work = (args.work_dir / "observed_history").absolute()
    data_dir = work / f"month-{size.groups}"
    work.mkdir(parents=True, exist_ok=True)
    if not args.without_real:
        findings.attempt("ours: the real way", lambda: same_as_real(findings, size, work))
    written: list[Written] = []
    if findings.attempt("ours: generating", lambda: written.append(generate(findings, size, data_dir))):
        sizes(findings, size, written[0], data_dir)
        findings.attempt("ours: pages", lambda: asyncio.run(pages(findings, size, data_dir, PAGES)))
    if not args.keep:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
