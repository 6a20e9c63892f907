"""The report on all projects, in Markdown: printed after a run, and with --page the text of docs/drop-in.md."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.dropin.model import FAILED, PASSED, SKIPPED
from tests.dropin.outcome import MISSING, SERVERS, Outcome

HEADS: Final = ("Project", "Language", "Tests", "Passed here", "Failed on both", "Skipped", "Differ", "Unsteady")
TIMES: Final = ("Kafka, s", "Here, s", "Ratio")
_NOT_IN_CODE: Final = re.compile(r"[`|]|\s+")  # in code, in a line of Markdown
INTRODUCTION: Final = """# Tests of other projects

<!-- Written by `make drop-in ARGS="--page docs/drop-in.md"`; do not edit. -->

`make drop-in` takes open-source projects from the registries of packages, and runs their own Kafka tests against a real
Kafka {release} and against this server. A row has only what differs: an address, tests that need several brokers or
proxies, names of nodes. Each run is in a network namespace with nothing but loopback. Both servers have
`group.initial.rebalance.delay.ms=0` and otherwise their defaults, and what a project's own Compose file sets.
The times are those from the start of the server to the end of the tests, on two cores. Most tests spend most of theirs
in pauses and timeouts of their own, which no server shortens.

*Differ* counts tests whose verdicts on one server never are those on the other, in up to three runs.
*Unsteady* are those that gave one server two verdicts.
"""
LEFT_OUT: Final = """## Left out

The packages of FastStream, @platformatic/kafka, Spring Kafka and Alpakka have no tests in them, and quixstreams has no
sdist. @fastify/kafka, a row here, is a layer over @platformatic/kafka. The [examples](../examples/README.md) test a
consumer of FastStream.
"""


def table(outcomes: list[Outcome]) -> str:
    """Return the table of all projects."""
    rows: list[tuple[object, ...]] = [(*HEADS, *TIMES), ("---",) * (len(HEADS) + len(TIMES))]
    for each in outcomes:
        last = Counter(each.verdicts["coordinator"][-1].values())
        both = sum(each.sets(test) == [{FAILED}, {FAILED}] for test in each.tests)
        name = f"{each.project.name} {each.project.version}"
        counts = (len(each.tests), last[PASSED], both, last[SKIPPED], len(each.differing), len(each.unsteady))
        seconds = (f"{statistics.median(each.seconds[server]):.1f}" for server in SERVERS)
        rows.append((name, each.language, *counts, *seconds, f"{each.speed_up:.2f}"))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def report(outcomes: list[Outcome]) -> str:
    """Return the table, the median ratio, and every test that differs or is unsteady."""
    if not outcomes:
        return "no project was run"
    ratio = statistics.median(each.speed_up for each in outcomes)
    lines = [table(outcomes), "", f"The median of the ratios is {ratio:.2f}.", ""]
    for title, tests in (("Verdicts that differ", _differing), ("Unsteady tests", _unsteady)):
        rows = [row for each in outcomes for row in tests(each)]
        lines += [f"## {title}", "", *(rows or ["None."]), ""]
    return "\n".join(lines)


def unused(outcomes: list[Outcome]) -> list[str]:
    """Return a line for each explanation in a row that explained nothing."""
    return [
        f"This explanation was not needed: {each.project.name}: {why}"
        for each in outcomes
        for why in each.unused_explanations
    ]


def page(outcomes: list[Outcome], release: str) -> str:
    """Return docs/drop-in.md."""
    return f"{INTRODUCTION.format(release=release)}\n{report(outcomes)}\n{LEFT_OUT}"


def _differing(outcome: Outcome) -> Iterator[str]:
    for test in outcome.differing:
        kafka, own = (", ".join(sorted(found)) for found in outcome.sets(test))
        why = outcome.explanation(test) or "**not explained**"
        yield f"- {outcome.project.name}, {_named(test)}: {kafka} on Kafka, {own} here. {why}"


def _unsteady(outcome: Outcome) -> Iterator[str]:
    for test in outcome.unsteady:
        kafka, own = (", ".join(run.get(test, MISSING) for run in outcome.verdicts[server]) for server in SERVERS)
        yield f"- {outcome.project.name}, {_named(test)}: {kafka} on Kafka; {own} here."


def _named(test: str) -> str:
    return f"`{_NOT_IN_CODE.sub(' ', test)}`"
