"""The schedule of faults, the log of them, and the figures that are made of it."""

from __future__ import annotations

from collections import Counter

from tests.ha.figures import Silence, longest_silences, report
from tests.ha.history import COMMIT, FETCH, INFO, OK, Key, Operation
from tests.ha.nemesis import LONGEST_S, Kind, PastFault, schedule

SECOND = 1_000_000_000


def test_a_schedule_depends_on_its_seed_alone() -> None:
    first, again, other = (schedule(seed, 50, list(Kind), [1, 2, 3]) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_a_schedule_has_each_kind_about_equally_often() -> None:
    faults = schedule(7, 53, list(Kind), [1, 2, 3])
    assert len(faults) == 53
    counts = Counter(fault.kind for fault in faults)
    assert set(counts) == set(Kind)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert {fault.node for fault in faults} == {1, 2, 3}
    assert all(0 < fault.lasts_s <= LONGEST_S[fault.kind] for fault in faults)


def succeeded(group: str, at_s: float, kind: str = COMMIT, outcome: str = OK) -> Operation:
    return Operation("p-1/9", kind, Key(group, 0), 1, (at_s - 0.1) * SECOND, at_s * SECOND, outcome)


def fault(kind: str, began_s: float, until_s: float) -> PastFault:
    return PastFault(kind, 1, int(began_s * SECOND), int(began_s * SECOND), int(until_s * SECOND))


def test_silences_are_measured_between_successes_within_a_fault_and_its_pause() -> None:
    history = [
        *(succeeded("a", at_s) for at_s in (1, 2, 3, 9.5, 10, 30)),
        *(succeeded("b", at_s, FETCH) for at_s in (1, 5, 10, 30)),
        succeeded("a", 7, outcome=INFO),
    ]
    found = longest_silences(history, [fault("killed", 4, 12), fault("frozen", 2.5, 3.5), fault("killed", 20, 22)])
    assert found == {
        "killed": (Silence(4.5, ""), Silence(5.5, "a")),  # from 5 to 9.5, and from the fault to 9.5
        "frozen": (Silence(0.5, ""), Silence(1.0, "b")),
    }


def test_the_report_names_kinds_and_outcomes() -> None:
    lines = list(report([succeeded("a", 1), succeeded("a", 9)], [fault("killed", 4, 8)]))
    assert lines[1].split() == ["killed", "1", "4.00", "s", "4.00", "s", "a"]
    assert lines[-1].split() == ["p", "commit", "ok", "2"]
