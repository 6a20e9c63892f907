"""`coordinator log dump`: its output for whole, damaged and unfinished segments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import ControlType, build_batch, build_control_batch

WHEN_MS = 1_700_000_000_123


def member(member_id: str) -> MemberValue:
    return MemberValue(
        member_id=member_id,
        group_instance_id="i1",
        client_id="app",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=b"sub",
        assignment=b"\x00\x01",
    )


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A segment with an offset, its deletion, a group and a transaction, and preallocated space at its end."""
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    group = GroupValue(
        protocol_type="consumer", generation=4, protocol="range", leader="m1", current_state_timestamp_ms=WHEN_MS
    )
    group.members = [member("m1")]
    batches = [
        build_batch(
            [
                (encode_offset_key("orders", "t", 1), encode_offset_value(OffsetValue(7, 2, "note", WHEN_MS, -1))),
                (encode_offset_key("orders", "t", 1), None),
            ],
            timestamp_ms=WHEN_MS,
        ),
        build_batch([(encode_group_key("bills"), encode_group_value(group))], base_offset=2, timestamp_ms=WHEN_MS),
        build_control_batch(ControlType.COMMIT, base_offset=3, timestamp_ms=WHEN_MS, producer_id=9, producer_epoch=0),
    ]
    path = folder / "00000000000000000000.log"
    path.write_bytes(b"".join(batches) + bytes(4096))
    return path


def test_records_are_printed_as_sentences(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(segment)
    assert lines[1].startswith("batch 0..1 at byte 0, ")
    assert lines[2] == (
        "  0: offset of 'orders', t-1: 7, leader epoch 2, metadata 'note', committed 2023-11-14T22:13:20.123Z"
    )
    assert lines[3] == "  1: offset of 'orders', t-1: deleted"
    assert lines[5] == "  2: group 'bills': generation 4, consumer, range, 1 members, leader 'm1'"
    assert lines[6] == "      'm1' (instance 'i1') of client 'app' at /127.0.0.1"
    assert lines[-1] == "  3: marker commit"


def test_dump_of_a_directory_has_its_segments_and_of_a_data_directory_its_partitions(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for path in (segment, segment.parent, segment.parent.parent):
        assert main(["log", "dump", str(path), "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]
    facts = [json.loads(line) for line in outputs[0].splitlines()]
    assert [each["kind"] for each in facts] == ["offset", "offset", "group", "marker"]
    assert facts[0]["offset"] == 7
    assert facts[1]["tombstone"] is True
    assert facts[2]["members"][0]["subscription"] == "sub"


def test_dump_can_be_limited_to_one_group(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment), "--group", "bills", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["generation"] == 4


def test_group_without_records_is_an_error(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ([], ["--json"]):
        assert main(["log", "dump", str(segment), "--group", "nosuch", *form]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "no record of a group 'nosuch' in 1 segment; check its name" in printed.err


def test_damaged_batch_is_reported_and_the_rest_is_printed(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(segment.read_bytes())
    data[100] ^= 0xFF
    segment.write_bytes(data)
    assert main(["log", "dump", str(segment)]) == 1
    out = capsys.readouterr().out
    assert "DAMAGED" in out
    assert "group 'bills'" in out


def test_torn_tail_is_reported(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = segment.read_bytes().rstrip(b"\0")
    segment.write_bytes(data[:-3])
    assert main(["log", "dump", str(segment)]) == 1
    assert "are no batch" in capsys.readouterr().out.splitlines()[-1]


def test_directory_without_segments_is_a_wrong_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(tmp_path)]) == 2
    assert "holds no segments" in capsys.readouterr().err
