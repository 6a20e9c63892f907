"""`coordinator log dump` shows the records of KIP-848 groups, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.log import dump
from coordinator.cli.main import main
from protocol.group_records import RecordKind, encode_key, encode_value
from protocol.offsets_records import encode_offset_key
from protocol.record_batch import build_batch
from tests.compaction.logs import CONSUMER_KEYS, consumer_value

WHEN_MS = 1_700_000_000_123
MEMBER = encode_key(RecordKind.CONSUMER_MEMBER, "kip", "m1")
TOPIC = "00000000000000000000000000000005"


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment with one record of each kind, a tombstone, and a value that is cut off."""
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    records: list[tuple[bytes, bytes | None]] = [(key, encode_value(consumer_value(key, 5))) for key in CONSUMER_KEYS]
    records += [(MEMBER, None), (MEMBER, b"\0\0\5"), (encode_offset_key("other", "t", 0), None)]
    path = folder / "00000000000000000000.log"
    path.write_bytes(bytes(build_batch(records, timestamp_ms=WHEN_MS)))
    return path


def test_each_kind_has_a_line_of_its_own(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert lines[0] == "0: consumer group 'kip': epoch 5, metadata_hash 2"
    assert lines[1].startswith("1: consumer group topics 'ä😀': topics [{")
    assert lines[2].startswith(
        "2: consumer group member 'm' of 'ä😀': instance_id null, rack_id null, client_id \"c5\""
    )
    assert lines[4] == "4: consumer group target epoch 'ä😀': assignment_epoch 5, assignment_timestamp 0"
    assert lines[5] == (
        f'5: consumer group target \'m\' of \'ä😀\': topic_partitions [{{"topic_id": "{TOPIC}", "partitions": [0, 5]}}]'
    )
    assert lines[6].startswith("6: consumer group assignment 'm' of 'ä😀': member_epoch 5, previous_member_epoch 4")
    assert lines[7] == "7: consumer group regex 'a.*' of 'ä😀': topics [\"a\"], version 5, resolved_ms 5"
    assert lines[8] == "8: consumer group member 'm1' of 'kip': deleted"
    assert lines[9].startswith("9: record")


def test_json_has_the_fields_and_the_time_of_the_record(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment), "--json"]) == 0
    facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert facts[7] == {
        "log_offset": 7,
        "timestamp": "2023-11-14T22:13:20.123Z",
        "kind": "consumer group regex",
        "group": "ä😀",
        "regex": "a.*",
        "topics": ["a"],
        "version": 5,
        "resolved_ms": 5,
    }
    assert facts[8]["tombstone"] is True
    assert facts[9]["undecodable"]


@pytest.mark.parametrize("kernel_from_bytes", [0, 1 << 30], ids=["in columns", "record by record"])
def test_the_records_of_one_group_can_be_picked(
    segment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kernel_from_bytes: int
) -> None:
    monkeypatch.setattr(dump, "KERNEL_FROM_BYTES", kernel_from_bytes)
    assert main(["log", "dump", str(segment), "--group", "kip", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["log_offset"], each["kind"]) for each in found] == [
        (0, "consumer group"),
        (8, "consumer group member"),
    ]
