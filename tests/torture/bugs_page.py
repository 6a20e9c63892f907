"""The page of documentation about known bugs of client libraries, and about their newest releases under each fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from coordinator.torture.schedule import FIRST, Step
from tests.torture.bug import Bug

START: Final = """\
# Torture: known bugs of clients

Written by `python -m tests.torture.known_bugs --page docs/torture-clients.md`. Each client is used by a small
application in `tests/torture/programs`, which processes what it gets and then commits it; two copies of it form a
group.

## Bugs that torture finds

The series of schedules is played against the faulty release, up to the one that shows the bug, which is then made as
short as it gets. The same schedule finds nothing in the fixed release. The first number is that of the schedule in the
series; the seconds are those of one play, with the faulty release and with the fixed one.

| Nr | Client | Faulty | Fixed | Schedule | Failure | Link | Seconds |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
MIDDLE: Final = """
## Each fault alone

These schedules begin every series; random ones of several steps follow. A failure is no verdict on a library: it says
what this fault, which a real coordinator or network shows to any client, does to a plain application. `(1 of 2)`: the
schedule was played twice, and failed once.

"""
SAYINGS: Final = {
    "rebalance": "rebalance",
    "kick": "member removed",
    "expire": "session ends",
    "fail_next": "{times}{api}: {error}",
    "delay": "{times}{api} {seconds} late",
    "lose_reply": "{times}{api} answer{s} lost",
    "drop_connection": "connections closed",
    "move_coordinator": "coordinator moves",
    "loading": "groups load for {seconds}",
    "restart": "server restarts, down for {seconds}",
    "crash": "server crashes, down for {seconds}",
    "pause": "server stands still for {seconds}",
    "kill_copy": "copy killed",
    "stop_copy": "copy told to end",
    "start_copy": "copy started",
    "pause_copy": "copy stands still for {seconds}",
    "produce": "records arrive",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A bug that was shown: by which steps, which number of the series has them, and how long a play took."""

    bug: Bug
    steps: tuple[Step, ...]
    number: int
    faulty_s: float
    fixed_s: float  # 0 if no release has a fix


def page(rows: Sequence[Row], columns: Mapping[str, Sequence[str]]) -> str:
    """Return the page. `columns`: by client with its release, a word for each fault alone."""
    return START + "\n".join([*_bugs(rows), MIDDLE.rstrip("\n"), "", *_faults(columns), ""])


def briefly(steps: Sequence[Step]) -> str:
    """Say steps in a few words."""
    return ", ".join(_brief(each) for each in steps)


def _brief(step: Step) -> str:
    times, s = (f"{step.times} ", "s") if step.times > 1 else ("", "")
    words = SAYINGS[step.do].format(
        api=f"`{step.api}`", error=step.error, seconds=f"{step.ms / 1000:g} s", times=times, s=s
    )
    return f"{step.after_ms / 1000:g} s later {words}" if step.after_ms else words


def _bugs(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        bug = row.bug
        seconds = f"{row.faulty_s:.0f}, {row.fixed_s:.0f}" if bug.fixed else f"{row.faulty_s:.0f}"
        yield (
            f"| {row.number} | {bug.client} | {bug.faulty} | {bug.fixed or 'not yet'} | {briefly(row.steps)} | "
            f"{bug.kind.value.replace('_', ' ')} | [{_label(bug)}] | "
            f"{seconds} |"
        )
    yield ""
    for row in rows:
        yield from _folded(f"- {row.bug.client} {row.bug.faulty}: {row.bug.about}")
    yield ""
    links = {_label(row.bug): row.bug.link.replace("#", "/issues/").replace("@", "/releases/tag/") for row in rows}
    for name, link in sorted(links.items()):
        yield f"[{name}]: https://github.com/{link}"


def _label(bug: Bug) -> str:
    return bug.link.split("/")[1]


def _folded(text: str, width: int = 120) -> Iterator[str]:
    yield from wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _faults(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"| Fault | {' | '.join(columns)} |"
    yield f"| --- |{' --- |' * len(columns)}"
    for number, steps in enumerate(FIRST):
        yield f"| {briefly(steps)} | {' | '.join(column[number] for column in columns.values())} |"
