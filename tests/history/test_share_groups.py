"""The past of share groups from their records: who came and went, and which partitions each member had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.moment import page_at
from coordinator.history.rebalances import GroupType, Kind, changes
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.file_names import CATALOGUE_NAME
from protocol.group_records import RecordKind, Value, encode_key, encode_value
from protocol.messages.share_group_records import (
    SharedPartitions,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)
from protocol.record_batch import build_batch, read_header
from tests.compaction.logs import Segment
from tests.history.worlds import data_dir, tables

TOPIC = bytes(15) + b"\1"
NOW_MS = 1_700_000_000_000
BATCHES_OF_A_SEGMENT = 2

Row = tuple[RecordKind, str, Value | None]  # the member id, where the kind has one


def group_epoch(epoch: int) -> list[Row]:
    return [(RecordKind.SHARE_GROUP, "", ShareGroupMetadataValue(epoch))]


def member(name: str) -> list[Row]:
    value = ShareGroupMemberMetadataValue("r1", f"client-{name}", "/10.0.0.1", ["t"])
    return [(RecordKind.SHARE_MEMBER, name, value)]


def targets(epoch: int, **partitions: list[int]) -> list[Row]:
    rows: list[Row] = [
        (RecordKind.SHARE_TARGET, name, ShareGroupTargetAssignmentMemberValue([SharedPartitions(TOPIC, some)]))
        for name, some in partitions.items()
    ]
    return [*rows, (RecordKind.SHARE_TARGET_EPOCH, "", ShareGroupTargetAssignmentMetadataValue(epoch))]


def current(name: str, epoch: int, *partitions: int) -> list[Row]:
    assigned = [SharedPartitions(TOPIC, [*partitions])]
    return [(RecordKind.SHARE_CURRENT, name, ShareGroupCurrentMemberAssignmentValue(epoch, epoch - 1, 0, assigned))]


def gone(name: str) -> list[Row]:
    kinds = (RecordKind.SHARE_CURRENT, RecordKind.SHARE_TARGET, RecordKind.SHARE_MEMBER)
    return [(kind, name, None) for kind in kinds]


# As Kafka writes them: one batch for each heartbeat that changes something. The last one deletes the group.
LIFE: list[list[Row]] = [
    [*member("a"), *group_epoch(1), *targets(1, a=[0, 1]), *current("a", 1, 0, 1)],
    [*member("b"), *group_epoch(2), *targets(2, b=[0, 1]), *current("b", 2, 0, 1)],
    [*current("a", 2, 0)],
    [*gone("a"), *group_epoch(3)],
    [*targets(3, b=[0, 1])],
    [*current("b", 3, 0, 1)],
    [*gone("b"), *group_epoch(4)],
    [(RecordKind.SHARE_TARGET_EPOCH, "", None), (RecordKind.SHARE_GROUP, "", None)],
]


def segments(life: list[list[Row]]) -> list[Segment]:
    found = [Segment(0)]
    offset = 0
    for number, rows in enumerate(life):
        if number and number % BATCHES_OF_A_SEGMENT == 0:
            found.append(Segment(offset))
        pairs = [
            (encode_key(kind, "g", name), None if value is None else encode_value(value)) for kind, name, value in rows
        ]
        batch = build_batch(pairs, base_offset=offset, timestamp_ms=NOW_MS + number * 1000)
        found[-1].data += batch
        offset = read_header(batch).last_offset + 1
    return [*found, Segment(offset)]


@pytest.fixture
def source(tmp_path: Path) -> HistorySource:
    source = data_dir(tmp_path, segments(LIFE))
    document = {"version": 1, "topics": [], "deleted": [{"name": "t", "id": TOPIC.hex(), "partitions": 2}]}
    (source.data_dir / CATALOGUE_NAME).write_text(json.dumps(document))
    return source


@pytest.mark.parametrize("extracted", [False, True], ids=["the log", "parquet and the log"])
def test_changes_tell_the_members_and_no_moves(source: HistorySource, *, extracted: bool) -> None:
    if extracted:
        extract(source)
    records = load_group(source, "g").records
    assert {record.type for record in records[:-1]} == {GroupType.SHARE}
    found = changes(records)
    assert [(each.kind, each.record.generation, each.record.state) for each in found[:-1]] == [
        (Kind.REBALANCED, 1, "Stable"),
        (Kind.REBALANCED, 2, "Stable"),
        (Kind.RECONCILED, 2, "Stable"),
        (Kind.REBALANCED, 3, "Stable"),
        (Kind.EMPTY, 4, "Empty"),
    ]
    assert found[-1].kind is Kind.DELETED
    assert [(each.came, each.went) for each in found[:5]] == [
        (("client-a",), ()),
        (("client-b",), ()),
        ((), ()),
        ((), ("client-a",)),
        ((), ("client-b",)),
    ]
    second = {each.member_id: each.partitions for each in found[1].record.members}
    assert second == {"a": (("t", 0), ("t", 1)), "b": (("t", 0), ("t", 1))}, "each partition has two owners"
    assert not any(each.moved for each in found)


def test_the_tables_have_their_changes_and_members(source: HistorySource) -> None:
    extract(source)
    found = tables(source.history_dir)
    rebalances = sorted(found["rebalances"], key=lambda row: row["log_offset"])
    assert {row["type"] for row in rebalances[:-1]} == {"share"}
    assert [(row["members"], row["partitions"]) for row in rebalances] == [
        (1, 2),
        (2, 4),
        (2, 3),
        (1, 2),
        (0, 0),
        (0, 0),
    ]
    changed = [(row["client_id"], row["change"]) for row in found["members"] if row["change"] != "stayed"]
    assert sorted(changed) == [(f"client-{name}", change) for name in "ab" for change in ("came", "went")]
    assert found["moves"] == []
    kinds = {row["kind"] for row in found["consumers"]}
    assert kinds == {f"share_{kind}" for kind in ("group", "member", "target_epoch", "target", "current")}


def test_the_commands_answer(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["history", "rebalances", "g", "--data-dir", str(source.data_dir)]
    assert main([*words, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)[1]
    assert (second["type"], second["state"], second["protocol_type"]) == ("share", "Stable", "share")
    assert [(each["name"], each["epoch"]) for each in second["members"]] == [("client-a", 1), ("client-b", 2)]
    assert main(words) == 0
    assert "client-b" in capsys.readouterr().out
    state = page_at([source], "g", NOW_MS + 1500).story.state
    assert state is not None
    assert (state.type, state.state, state.generation, state.member_count) == ("share", "Stable", 2, 2)
