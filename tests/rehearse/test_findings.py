"""Findings from the records of rehearsals."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.rehearse.callbacks import Callback, CallbackKind
from coordinator.rehearse.findings import ADVICE, BUILT_IN, findings
from coordinator.rehearse.output import REFUSED, RefusedSetting
from coordinator.rehearse.phases import phases
from coordinator.rehearse.record import (
    AbsentCopy,
    EndedCopy,
    FindingKind,
    MigrationFinding,
    PhaseRecord,
    RefusedRequest,
    Rehearsal,
    UnreadPartition,
    WrongCommit,
)

NAMES = [each.name for each in phases(2)]
ENDED = EndedCopy("copy-1", "consumer", 1, "the last line")
LATE = WrongCommit("copy-1", 2, 10, 12)


def rehearsal(*, last: int = 5, has_output: bool = False, **by_phase: dict[str, Any]) -> Rehearsal:
    """Return a record in which nothing is wrong but what is given by phase. `last`: the last phase that was played."""
    rows = [
        PhaseRecord(
            name=name,
            is_played=number <= last,
            assignors=["range", "cooperative-sticky"],
            standstill_s={0: 0.5, 1: 0.6},
            **by_phase.get(name.replace(" ", "_"), {}),
        )
        for number, name in enumerate(NAMES, 1)
    ]
    return Rehearsal(phases=rows, has_output=has_output)


def only(record: Rehearsal) -> MigrationFinding:
    (finding,) = findings(record)
    assert finding.advice
    return finding


def test_a_clean_application_has_no_findings() -> None:
    assert findings(rehearsal()) == []


@pytest.mark.parametrize(
    ("kind", "phase", "seen", "words"),
    [
        (FindingKind.EXITED, "upgrade", {"ended": [ENDED]}, "exit code 1; its last lines:\nthe last line"),
        (
            FindingKind.NOT_JOINED,
            "upgrade",
            {"absent": [AbsentCopy("copy-1", "consumer", 4.0, "GROUP_ID_NOT_FOUND (why)", "the last line")]},
            "became no member within 4 s; the coordinator answered GROUP_ID_NOT_FOUND (why); its last lines",
        ),
        (
            FindingKind.STUCK,
            "consumer",
            {"unread": [UnreadPartition(1, 4.0, "copy-2", False)]},
            "nothing of partition 1 was committed for 4 s, while records waited; the owner is copy-2",
        ),
        (
            FindingKind.STUCK,
            "consumer",
            {"unread": [UnreadPartition(1, 4.0, "", False)]},
            "there is no owner",
        ),
        (
            FindingKind.KEPT_UNREAD,
            "consumer",
            {"unread": [UnreadPartition(number, 4.0, "copy-2", True) for number in range(9)]},
            "nothing of partitions 0, 1, 2 and 6 more was committed for 4 s",
        ),
        (FindingKind.LOOPING, "downgrade", {"rebalances": 70}, "its epoch is 70"),
        (
            FindingKind.STALE_EPOCH,
            "consumer",
            {
                "refused": [
                    RefusedRequest("copy-1", "OffsetCommit", "STALE_MEMBER_EPOCH", 3),
                    RefusedRequest("copy-1", "ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", 1),
                ]
            },
            "3 OffsetCommit were refused with STALE_MEMBER_EPOCH",
        ),
        (FindingKind.NOT_OWNER, "consumer", {"late_commits": [LATE]}, "first of copy-1: partition 2, offset 10"),
        (FindingKind.WENT_BACK, "consumer", {"went_back": [LATE]}, "offset 10, where 12 was committed"),
        (FindingKind.READ_AGAIN, "consumer", {"read_again": [LATE]}, "read partition 2 from offset 10 again"),
        (FindingKind.LOST, "consumer", {"unsent": {0: 3, 1: 1}}, "4 records of partitions 0, 1 were committed and"),
        (
            FindingKind.SLOW_REVOCATION,
            "consumer",
            {"callbacks": [Callback(1.0, "copy-1", CallbackKind.REVOKED, (2, 3), took_s=3.04)]},
            "copy-1 gave partitions 2, 3 up 3.0 s after it was told to",
        ),
        (
            FindingKind.LONGER_STANDSTILL,
            "consumer",
            {"standstill_s": {0: 0.5, 1: 4.0}},
            "4.0 s without a commit of partition 1, 0.6 s under the classic protocol",
        ),
        (
            FindingKind.CUSTOM_ASSIGNOR,
            "classic",
            {"assignors": ["mine", "range"]},
            "the assignor mine of the client is",
        ),
        (
            FindingKind.CUSTOM_ASSIGNOR,
            "classic",
            {"assignors": ["mine", "a"]},
            "the assignors a, mine of the client are",
        ),
        (
            FindingKind.REFUSED_SETTING,
            "upgrade",
            {"refused_settings": {"copy-1": [RefusedSetting("session.timeout.ms", "a line")]}, "ended": [ENDED]},
            'the client of copy-1 refuses session.timeout.ms: "a line"',
        ),
    ],
)
def test_a_trap_is_one_finding(kind: FindingKind, phase: str, seen: dict[str, Any], words: str) -> None:
    record = rehearsal()
    for row in record.phases:
        if row.name == phase:
            for name, value in seen.items():
                setattr(row, name, value)
    finding = only(record)
    assert (finding.kind, finding.phases) == (kind, (phase,))
    assert words in finding.sentence


def test_every_kind_has_its_advice() -> None:
    assert ADVICE.keys() | {FindingKind.REFUSED_SETTING} == set(FindingKind)


@pytest.mark.parametrize("setting", REFUSED)
def test_a_refused_setting_is_told_once_with_what_to_set_instead(setting: str) -> None:
    refused = {"copy-1": [RefusedSetting(setting, "a line")], "copy-2": [RefusedSetting(setting, "a line")]}
    finding = only(rehearsal(upgrade={"refused_settings": refused}, consumer={"refused_settings": refused}))
    assert finding.phases == ("upgrade", "consumer")
    assert f"do not set {setting} under group.protocol=consumer; " in finding.advice


def test_the_assignors_of_clients_are_no_findings() -> None:
    record = rehearsal()
    record.phases[0].assignors = sorted(BUILT_IN)
    assert findings(record) == []


def test_a_phase_that_was_not_played_has_no_findings() -> None:
    assert findings(rehearsal(last=2, consumer={"late_commits": [LATE]})) == []


def test_phases_with_the_same_trap_are_one_finding() -> None:
    finding = only(rehearsal(upgrade={"late_commits": [LATE]}, consumer={"late_commits": [LATE, LATE]}))
    assert finding.phases == ("upgrade", "consumer")
    assert finding.sentence.startswith("3 commits were accepted")


def test_records_that_are_sent_again_in_one_phase_may_be_the_fault_of_the_machine() -> None:
    again = {"sent_again": {0: 3, 1: 1}}
    assert findings(rehearsal(consumer=again)) == []
    finding = only(rehearsal(consumer=again, downgrade={"sent_again": {0: 1}}))
    assert (finding.kind, finding.phases) == (FindingKind.PROCESSED_TWICE, ("consumer", "downgrade"))
    assert finding.sentence.startswith("5 records of partitions 0, 1 were sent to their owner, not committed")


def test_an_output_is_trusted_more_than_what_was_sent() -> None:
    sent = {"sent_again": {0: 9}, "processed_twice": 0}
    assert findings(rehearsal(has_output=True, consumer=sent)) == []
    finding = only(rehearsal(has_output=True, consumer={**sent, "processed_twice": 2}))
    assert finding.sentence == "2 records were written to the output twice"


def test_a_standstill_with_a_known_reason_is_not_told_twice() -> None:
    unread = {"unread": [UnreadPartition(1, 4.0, "copy-2", False)]}
    record = rehearsal(consumer=unread)
    record.phases[2].standstill_s = {1: 9.0}
    assert only(record).kind is FindingKind.STUCK


def test_a_standstill_that_is_as_long_as_before_is_no_finding() -> None:
    record = rehearsal()
    record.phases[0].standstill_s = {0: 5.0}
    record.phases[2].standstill_s = {0: 6.9}
    record.phases[1].standstill_s = {0: 9.0}
    assert findings(record) == []
