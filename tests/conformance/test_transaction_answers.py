"""The recorded answers of a real Kafka 4.4 to the cases of transactions, and those of this daemon.

The cases between brokers are left to Kafka: a daemon is alone, and has no state in which a transaction is decided and
not complete. TRANSACTIONS_PORT plays the cases to a server that runs already.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.conformance import transactions
from tests.conformance.lockstep import overrides
from tests.conformance.transaction_cases import CASES, Case, Kind
from tests.support.daemon import Daemon

KNOWN: Final = {
    "vector 21: InitProducerId gives a new producer id when the epoch is exhausted": "exhausted-epoch",
    "Produce to an open transaction with another epoch or producer id": "lowest-sequence",
    "a producer id without a sequence or without an epoch": "transactional-without-producer",
    "a transactional batch with sequence 0 that fails keeps higher ones out": "lowest-sequence",
}
"""Cases that differ on purpose, with the row of docs/differences.md that says why."""

OURS: Final = (Kind.ANY, Kind.EXPIRING, Kind.RESTARTED, Kind.SLOW)
AT_ONCE: Final = 25
"""Cases that one server is sent, so that each test ends soon on a slow machine, too."""
SERVERS: Final = [
    pytest.param(settings, cases[begin : begin + AT_ONCE], id=f"{cases[0].kind.name.lower()}-{begin}")
    for settings, cases in transactions.by_server(OURS)
    for begin in range(0, len(cases), AT_ONCE)
]


def test_the_record_has_every_case() -> None:
    assert transactions.recorded().keys() == {each.name for each in CASES}


def test_each_known_difference_has_its_reason_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    assert all(f"| {name} |" in page for name in KNOWN.values())


def test_no_two_cases_share_a_name() -> None:
    for names in ([each.name for each in CASES], [each.key for each in CASES]):
        assert max(Counter(names).values()) == 1


def test_the_record_has_every_vector_of_the_specification() -> None:
    names = " ".join(transactions.recorded())
    inside = 22  # a decided transaction of which no marker is written: no request makes a server crash there
    assert [number for number in range(1, 28) if not _has_vector(names, number)] == [inside]


def _has_vector(names: str, number: int) -> bool:
    words = [each for each in names.replace(",", "").replace(":", "").split() if each.isdigit()]
    return str(number) in words


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("settings", "cases"), SERVERS)
def test_transactions_are_answered_as_by_kafka(tmp_path: Path, settings: dict[str, str], cases: list[Case]) -> None:
    if port := os.environ.get("TRANSACTIONS_PORT"):
        problems = transactions.differences(transactions.recorded(), transactions.play(int(port), cases, run="a."))
    else:
        with Daemon(tmp_path, overrides=overrides(settings)) as daemon:
            found = transactions.play(daemon.port, cases, run="a.", restart=daemon.restart)
            problems = transactions.differences(transactions.recorded(), found)
    unexplained = [text for name, text in problems.items() if name not in KNOWN]
    assert not unexplained, "\n".join([f"{len(unexplained)} of {len(cases)} cases differ:", *unexplained[:30]])
    played = {case.name for case in cases}
    assert problems.keys() == KNOWN.keys() & played, "a difference that is listed is none any more"
