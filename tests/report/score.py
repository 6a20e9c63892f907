"""Scores the report on the labelled corpus: `python -m tests.report.score --seeds 9 10 11`.

A planted cause is found if the report has a finding of its kind about its group that names its member, host or version.
Precision is the share of findings that are right, recall the share of planted causes that are found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coordinator.history.source import HistorySource
from coordinator.report.cases import GroupProblem
from coordinator.report.material import GroupPast, Period, load
from coordinator.report.report import GroupsReport
from tests.report.corpus import Corpus, period, write
from tests.report.plants import HEALTHY, PER_CAUSE, plots

DAYS: Final = 14


@dataclass(slots=True)
class Score:
    """Planted causes and findings, by kind."""

    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.found.total() / max(self.findings.total(), 1)

    @property
    def recall(self) -> float:
        return self.found.total() / max(self.planted.total(), 1)

    def add(self, corpus: Corpus, problems: Sequence[GroupProblem]) -> None:
        """Compare the findings about a corpus with what was planted."""
        for group, planted in corpus.planted.items():
            its = [problem for problem in problems if problem.group == group]
            right = {
                problem.kind: problem
                for problem in its
                for cause in planted
                if problem.kind is cause.kind and cause.subject in problem.subject
            }
            self.planted.update(cause.kind.value for cause in planted)
            self.findings.update(problem.kind.value for problem in its)
            self.found.update(kind.value for kind in right)
            missed = [f"{cause.kind.value} {cause.subject}" for cause in planted if cause.kind not in right]
            wrong = [f"{problem.kind.value}: {problem.sentence}" for problem in its if problem not in right.values()]
            if missed or wrong:
                names = ", ".join(cause.kind.value for cause in planted) or "nothing"
                self.mistakes.append(f"{group} ({names}): missed {missed}, wrong {wrong}")

    def table(self) -> str:
        """Return precision and recall of each kind."""
        lines = ["| cause | planted | found | findings | precision | recall |", "| --- | --: | --: | --: | --: | --: |"]
        kinds = sorted(self.planted | self.findings)
        rows = [(kind, self.planted[kind], self.found[kind], self.findings[kind]) for kind in kinds]
        rows.append(("all", self.planted.total(), self.found.total(), self.findings.total()))
        for kind, planted, found, findings in rows:
            precision, recall = found / max(findings, 1), found / max(planted, 1)
            lines.append(f"| {kind} | {planted} | {found} | {findings} | {precision:.1%} | {recall:.1%} |")
        return "\n".join(lines)


def pasts_of(corpus: Corpus) -> dict[str, GroupPast]:
    """Return what the SQL of the report finds in a corpus."""
    return load([HistorySource.of(corpus.data_dir)], Period(*period(corpus.days)))


def report_of(corpus: Corpus) -> GroupsReport:
    """Return the report on a corpus."""
    return GroupsReport(pasts_of(corpus), Period(*period(corpus.days)))


def main() -> int:
    parser = argparse.ArgumentParser(description="Score coordinator report on its labelled corpus.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[9, 10, 11])
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--per-cause", type=int, default=PER_CAUSE, help="groups with each cause")
    parser.add_argument("--healthy", type=int, default=HEALTHY, help="groups with noise alone")
    parser.add_argument("--strength", type=float, default=1.0, help="how often causes strike; default: 1.0")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the data directories here")
    parser.add_argument("--mistakes", action="store_true", help="print what was missed and what is wrong")
    arguments = parser.parse_args()
    score = Score()
    with tempfile.TemporaryDirectory() as temporary:
        for seed in arguments.seeds:
            directory = (arguments.keep or Path(temporary)) / f"seed-{seed}"
            begun = time.monotonic()
            groups = plots(seed, arguments.days, arguments.per_cause, arguments.healthy, arguments.strength)
            corpus = write(directory, groups, arguments.days, seed)
            made, cpu = time.monotonic(), time.process_time()
            report = report_of(corpus)
            took_s, cpu_s = time.monotonic() - made, time.process_time() - cpu
            score.add(corpus, report.problems)
            print(
                f"seed {seed}: {len(corpus.planted)} groups, {arguments.days} days, {corpus.events} events, made in "
                f"{made - begun:.0f} s; report in {took_s:.1f} s, {cpu_s:.1f} s of CPU",
                flush=True,
            )
    print(score.table())
    if arguments.mistakes:
        print("\n".join(score.mistakes))
    return 0 if score.precision >= 0.95 and score.recall >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
