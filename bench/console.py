"""`make bench-console`: the console with 5,000 groups: answers, first paint, and what an open page costs.

A daemon has 5,000 groups of one member, a browser shows the list and a group. Answers are timed from outside: the first
one, which asks the daemon, and later ones within the second for which an answer is shared. The daemon's CPU time is
taken while ten pages are open, and while none is.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.report import markdown_table
from tests.console.test_in_browser import MANY, Console, lived, served

ASKED: Final = 50
PAUSE_S: Final = 0.1
VIEWERS: Final = 10
SHOWN_S: Final = 10.0


def asked_ms(url: str, times: int = ASKED) -> list[float]:
    """Ask again and again; some answers are shared, some are asked for."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        with urllib.request.urlopen(url, timeout=10) as answer:
            answer.read()
        found.append((time.perf_counter() - begun) * 1000)
        time.sleep(PAUSE_S)
    return found


def cpu_share(console: Console, during: Callable[[], Any]) -> float:
    """Return the daemon's CPU time while `during` runs, as a share of one core."""
    stat = Path(f"/proc/{console.daemon.pid}/stat")

    def ticks() -> int:
        fields = stat.read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before, begun = ticks(), time.monotonic()
    during()
    return (ticks() - before) / 100 / (time.monotonic() - begun)


def watch(urls: list[str]) -> None:
    """Have pages open for a while."""

    def read(url: str) -> None:
        until = time.monotonic() + SHOWN_S
        with urllib.request.urlopen(url, timeout=30) as stream:
            while time.monotonic() < until:
                stream.readline()

    threads = [threading.Thread(target=read, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def measured(findings: Findings, directory: Path) -> None:
    findings.progress(f"a daemon with {MANY:,} groups")
    async with served(directory, MANY) as (console, opened):
        await lived(console, opened)
        base = console.url
        (first,) = await asyncio.to_thread(asked_ms, base, 1)
        lists = await asyncio.to_thread(asked_ms, f"{base}api/groups?search=svc-1&sort=lag&reverse=1")
        pages = await asyncio.to_thread(asked_ms, f"{base}api/group?id=shop")
        idle = await asyncio.to_thread(cpu_share, console, lambda: time.sleep(SHOWN_S))
        findings.progress("ten pages of the list, then of a group")
        list_streams, group_streams = (
            [f"{base}api/stream/groups"] * VIEWERS,
            [f"{base}api/stream/group?id=shop"] * VIEWERS,
        )
        on_list = await asyncio.to_thread(cpu_share, console, lambda: watch(list_streams))
        on_group = await asyncio.to_thread(cpu_share, console, lambda: watch(group_streams))
        findings.progress("a browser")
        screens = [
            {"name": "groups", "hash": "#/", "awaits": "svc-"},
            {"name": "group", "hash": "#/group/shop", "awaits": "Rebalances"},
        ]
        plan = directory / "screens.json"
        plan.write_text(json.dumps(screens))
        seen = [json.loads(line) for line in (await console.run("walk.mjs", str(directory), str(plan))).splitlines()]
    paints: dict[str, list[float]] = {}
    for each in seen:
        paints.setdefault(each["screen"], []).append(each["first_paint_ms"])
    rows = [
        ("the page itself, the first answer of the process, ms", f"{first:.1f}"),
        ("list of 5,000 groups, ms: median / longest", f"{statistics.median(lists):.1f} / {max(lists):.1f}"),
        ("page of a group, ms: median / longest", f"{statistics.median(pages):.1f} / {max(pages):.1f}"),
        *((f"first paint, {name}, ms: longest", f"{max(found):.0f}") for name, found in paints.items()),
        ("CPU of the daemon, no page open", f"{idle:.1%}"),
        (f"the same, {VIEWERS} pages of the list open", f"{on_list:.1%}"),
        (f"the same, {VIEWERS} pages of a group open", f"{on_group:.1%}"),
    ]
    findings.table("5,000 groups", markdown_table(("what", "found"), rows))
    findings.verdicts += [
        Verdict("an answer with a page of 5,000 groups", 200, "ms", max(lists)),
        Verdict("first paint", 500, "ms", max(max(found) for found in paints.values())),
    ]


def main() -> int:
    args = parser(__doc__).parse_args()
    findings = Findings("console", "The console")
    with tempfile.TemporaryDirectory() as directory:
        findings.attempt("ours: the console", lambda: asyncio.run(measured(findings, Path(directory))))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
