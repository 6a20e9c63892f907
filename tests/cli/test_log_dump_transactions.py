"""`coordinator log dump` shows the records of the transaction log, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.core.transactions.states import TransactionState
from protocol.record_batch import build_batch
from protocol.transaction_records import encode_transaction_key
from tests.support.transaction_records import forgotten, state_record

WHEN_MS = 1_700_000_000_123


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment with a new producer, an open and a complete transaction, a tombstone, and two damaged records."""
    folder = tmp_path / "__transaction_state-3"
    folder.mkdir()
    records = [
        state_record("pay", 0, TransactionState.EMPTY),
        state_record("pay", 0),
        state_record("pay", 5),
        forgotten("pay"),
        (encode_transaction_key("bad"), b"\0\1\0"),
        (b"\0\5other", b"x"),
    ]
    path = folder / f"{0:020d}.log"
    path.write_bytes(bytes(build_batch(records, timestamp_ms=WHEN_MS)))
    return path


def test_each_state_is_a_line(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert lines[:4] == [
        "0: transaction of 'pay': Empty, producer 7 epoch 0, timeout 60000 ms",
        "1: transaction of 'pay': Ongoing, producer 7 epoch 0, timeout 60000 ms, partitions orders-0, orders-1",
        "2: transaction of 'pay': CompleteCommit, producer 7 epoch 1, timeout 60000 ms, partitions orders-0, orders-1",
        "3: transaction of 'pay': deleted",
    ]
    assert lines[4].startswith("4: record: ")
    assert lines[5].startswith("5: record: ")


def test_json_has_all_fields(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment), "--json"]) == 0
    facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert facts[1] == {
        "log_offset": 1,
        "timestamp": "2023-11-14T22:13:20.123Z",
        "kind": "transaction",
        "transactional_id": "pay",
        "producer_id": 7,
        "producer_epoch": 0,
        "state": "Ongoing",
        "partitions": ["orders-0", "orders-1"],
        "timeout_ms": 60_000,
        "start_ms": 1_700_000_000_000,
        "update_ms": 1_700_000_000_000,
        "previous_producer_id": 7,
        "next_producer_id": -1,
        "client_version": 2,
    }
    assert facts[3]["tombstone"]
    assert facts[4]["undecodable"]
    assert facts[5]["undecodable"] == "a key of an unknown version"


def test_a_data_directory_shows_it_behind_the_offsets_log(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offsets = segment.parents[1] / "__consumer_offsets-0"
    offsets.mkdir()
    (offsets / segment.name).write_bytes(b"")
    assert main(["log", "dump", str(segment.parents[1])]) == 0
    files = [line for line in capsys.readouterr().out.splitlines() if line.startswith("/")]
    assert files == [str(offsets / segment.name), str(segment)]
