"""`check_partition` of the transaction log: what it counts, and which records it reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.selfcheck.findings import DropRecord, PartitionReport
from coordinator.selfcheck.partition import check_partition
from coordinator.selfcheck.transactions import IGNORED, SET_ASIDE
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from protocol.record_batch import build_batch
from protocol.transaction_records import encode_transaction_key
from tests.storage.log.batches import append
from tests.support.transaction_records import TransactionRecord, forgotten, state_record

DAMAGED: TransactionRecord = (encode_transaction_key("bad"), b"\0\1\0")


def report_of(directory: Path, *records: TransactionRecord) -> PartitionReport:
    """Write a log with a batch for each record, and check it."""
    log = Log.open(directory, LogConfig(), RealFileSystem())
    for record in records:
        offset = log.log_end_offset
        append(log, [Entry(build_batch([record], base_offset=offset, timestamp_ms=1_000), offset, 1_000)])
    log.close()
    return check_partition(RealFileSystem(), directory)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "__transaction_state-2"


def test_the_transactional_ids_that_a_start_finds_are_counted(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [state_record("a", 0), state_record("b", 0), state_record("a", 1), state_record("c", 0), forgotten("c")]
    report = report_of(directory, *records)
    assert (report.transactional_ids, report.groups, report.findings, report.notes) == (2, None, [], [])
    assert main(["log", "verify", str(directory)]) == 0
    assert "good; 1 segments, 5 batches, 5 records, 2 transactional ids; offsets 0 to 5" in capsys.readouterr().out


def test_a_record_that_cannot_be_decoded_is_reported_with_what_a_start_does(directory: Path) -> None:
    report = report_of(directory, DAMAGED, DAMAGED, state_record("a", 0), (b"\0\0\0\x09x", b"y"))
    assert [finding.start for finding in report.findings] == [IGNORED, SET_ASIDE, SET_ASIDE]
    assert [each.mend.log_offset for each in report.findings if isinstance(each.mend, DropRecord)] == [0, 1, 3]
    assert report.transactional_ids == 1


def test_a_key_of_an_unknown_type_is_a_note(directory: Path) -> None:
    report = report_of(directory, (b"\0\5later", b"x"))
    assert report.findings == []
    assert report.notes == ["1 records with keys of unknown types are not used"]
