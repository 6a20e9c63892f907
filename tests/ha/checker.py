"""The verdict on a history: each committed offset is a register, no acknowledged commit is lost, generations only rise.

The functions are pure. A run is right if `check` returns nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.ha.generations import check_generations
from tests.ha.history import COMMIT, FETCH, JOIN, OK, Key, Operation
from tests.ha.register import Finding, check_register


def check(history: Iterable[Operation], *, needs_final_fetches: bool = True) -> list[Finding]:
    """Check a whole history. Keys are independent of each other.

    Args:
        needs_final_fetches: a key with an acknowledged commit must have been fetched when all was over.
    """
    registers: dict[Key, list[Operation]] = defaultdict(list)
    groups: dict[str, list[Operation]] = defaultdict(list)
    for each in history:
        if each.kind == JOIN:
            groups[each.key.group].append(each)
        else:
            registers[each.key].append(each)
    findings: list[Finding] = []
    for key, operations in registers.items():
        findings += check_register(key, operations)
        if needs_final_fetches:
            findings += _never_looked_at(key, operations)
    for joins in groups.values():
        findings += check_generations(joins)
    return findings


def _never_looked_at(key: Key, operations: list[Operation]) -> list[Finding]:
    acknowledged = [each for each in operations if each.kind == COMMIT and each.outcome == OK]
    if not acknowledged or any(each.kind == FETCH and each.is_final and each.outcome == OK for each in operations):
        return []
    sentence = f"{len(acknowledged)} commits were acknowledged, and the offset was not fetched at the end."
    return [Finding("no final fetch", key, sentence, (acknowledged[-1],))]


def counted(history: Iterable[Operation]) -> Counter[tuple[str, str]]:
    """Return the numbers of operations by kind and outcome."""
    return Counter((each.kind, each.outcome) for each in history)
