"""The verdict on the directory of a run: its figures, what is wrong with its history, and with its processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.ha.checker import check
from tests.ha.figures import report
from tests.ha.history import COMMIT, OK, read_history
from tests.ha.nemesis import PastFault

HISTORY = "history.jsonl"
FAULTS = "faults.jsonl"
SHOWN = 3  # findings of each kind


def judge(directory: Path, complaints: Sequence[str]) -> bool:
    """Print figures and verdict; True if all is well."""
    history = read_history(path for path in [directory / HISTORY] if path.exists())
    log = directory / FAULTS
    faults = [PastFault(**json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []
    for line in report(history, faults):
        print(line)
    findings = check(history)
    kinds = Counter(finding.kind for finding in findings)
    shown: Counter[str] = Counter()
    for finding in findings:
        shown[finding.kind] += 1
        if shown[finding.kind] <= SHOWN:
            print(f"\nWRONG, {finding.kind}, {finding.key.group}/{finding.key.partition}: {finding.sentence}")
    for complaint in complaints:
        print(f"\nWRONG: {complaint}")
    acknowledged = sum(each.kind == COMMIT and each.outcome == OK for each in history)
    print(f"\n{len(faults)} faults, {len(history)} operations, {acknowledged} acknowledged commits, ", end="")
    print(f"{kinds['acknowledged commit lost']} offsets lost; findings: {dict(kinds) or 'none'}, ", end="")
    print(f"{len(complaints)} about processes")
    return not findings and not complaints
