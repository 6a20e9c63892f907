"""The report of a rehearsal, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from coordinator.cli.rehearse import RehearsalLines, as_json, report
from coordinator.rehearse.callbacks import Callback, CallbackKind
from coordinator.rehearse.findings import findings
from coordinator.rehearse.record import EndedCopy, PhaseRecord, RefusedRequest, Rehearsal

CLASSIC = PhaseRecord(
    name="classic",
    is_played=True,
    took_s=3.14,
    protocols={"copy-1": "classic", "copy-2": "classic"},
    assignors=["range"],
    without_owner_s={0: 0.1, 1: 0.0},
    standstill_s={0: 0.25, 1: 0.2},
    callbacks=[
        Callback(2.0, "copy-1", CallbackKind.ASSIGNED, (0,)),
        Callback(1.0, "copy-2", CallbackKind.ASSIGNED, (1,)),
        Callback(1.0, "copy-1", CallbackKind.REVOKED, (0, 1)),
    ],
)
UPGRADE = PhaseRecord(
    name="upgrade",
    is_played=True,
    took_s=2.0,
    protocols={"copy-1": "consumer", "copy-2": "classic"},
    ended=[EndedCopy("copy-1", "consumer", 3, "one\ntwo")],
    refused=[
        RefusedRequest("copy-1", "OffsetCommit", "STALE_MEMBER_EPOCH", 2),
        RefusedRequest("copy-1", "ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", 5),
    ],
    without_owner_s={0: 0.1, 1: 0.0},
    standstill_s={0: 0.25, 1: 1.2},
)
REHEARSAL = Rehearsal(phases=[CLASSIC, UPGRADE, PhaseRecord(name="consumer")], took_s=5.4)


def test_the_text_has_tables_findings_and_what_was_not_played() -> None:
    assert report(REHEARSAL, findings(REHEARSAL)).splitlines() == [
        "",
        "longest time without an owner / without a commit of each partition, in seconds",
        "PARTITION  CLASSIC      UPGRADE",
        "        0  0.10 / 0.25  0.10 / 0.25",
        "        1  0.00 / 0.20  0.00 / 1.20",
        "",
        "PHASE    REFUSED COMMITS  LATE COMMITS  SENT AGAIN  PROCESSED TWICE  ASSIGNORS",
        "classic                0             0           0  -                range",
        "upgrade                2             0           0  -                -",
        "",
        "callbacks, as the requests show them",
        "PHASE    COPY    CALLBACKS",
        "classic  copy-1  revoked 0 1; assigned 0",
        "classic  copy-2  assigned 1",
        "",
        "EXITED (upgrade)",
        "  copy-1 ended by itself under group.protocol=consumer, with exit code 3; its last lines:",
        "    one",
        "    two",
        "  next: read its last lines, mend what they name, and rehearse again.",
        "",
        "STALE_EPOCH (upgrade)",
        "  2 OffsetCommit were refused with STALE_MEMBER_EPOCH",
        "  next: commit by the consumer itself and before the revocation callback returns; take "
        "consumer_group_metadata() anew for each transaction.",
        "",
        "2 findings, in 5 s; not played: consumer",
    ]


def test_callbacks_that_an_application_prints_are_a_column() -> None:
    CLASSIC.printed_callbacks = {"copy-1": ["revoked", "assigned"]}
    try:
        text = report(REHEARSAL, [])
    finally:
        CLASSIC.printed_callbacks = {}
    assert (
        "classic  copy-1  revoked 0 1; assigned 0  revoked; assigned\nclassic  copy-2  assigned 1               -"
        in text
    )
    assert text.endswith("\nno findings, in 5 s; not played: consumer")


def test_the_json_has_all_that_was_seen() -> None:
    printed = json.loads(as_json(REHEARSAL, findings(REHEARSAL)))
    assert [each["kind"] for each in printed["findings"]] == ["exited", "stale_epoch"]
    assert printed["phases"][1]["standstill_s"] == {"0": 0.25, "1": 1.2}
    assert printed["phases"][0]["callbacks"][0] == [2.0, "copy-1", "assigned", [0], 0.0]


def test_each_phase_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    RehearsalLines().ended(CLASSIC, 1, 5)
    RehearsalLines().ended(UPGRADE, 2, 5)
    assert capsys.readouterr().out.splitlines() == [
        "   1/5  classic          played       3.1 s  copy-1 classic, copy-2 classic",
        "   2/5  upgrade          ended here   2.0 s  copy-1 consumer, copy-2 classic",
    ]
