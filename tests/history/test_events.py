"""Events of groups in the history: extracted once, found with and without extraction, and joined to rebalances."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from coordinator.cli.main import main
from coordinator.core.events.model import (
    AnyEvent,
    Cause,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Trigger,
    decode_event,
    encode,
)
from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.history.events import EVENTS, extract_events, load_events
from coordinator.history.layout import TEMPORARY, event_files, events_dir
from coordinator.history.rebalances import Kind, changes, reasons
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch
from tests.history.stories import Story

CULPRIT = ClientInfo("web2-0001", "", "web2", "10.0.0.2", "librdkafka 2.16")


def rebalance(generation: int, at_ms: int, *, group: str = "g", join_ms: int = 1500, sync_ms: int = 500) -> Rebalance:
    return Rebalance(
        group=group,
        at_ms=at_ms,
        trigger=Trigger(Cause.MEMBER_LEFT, CULPRIT, "gone"),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=generation - 1,
        generation=generation,
        join_ms=join_ms,
        plan_ms=10,
        sync_ms=sync_ms,
    )


def incident(at_ms: int, *, group: str = "g", times: int = 1) -> Incident:
    return Incident(group=group, at_ms=at_ms, what=IncidentKind.FENCED, member=CULPRIT, times=times, last_ms=times)


def write(data_dir: Path, *events: AnyEvent | bytes, segment_bytes: int = 1 << 20) -> None:
    """Append events to partition 0 of their topic, each in a batch of its own."""
    log = Log.open(data_dir / f"{EVENTS_TOPIC}-0", LogConfig(segment_bytes=segment_bytes))
    for event in events:
        key, value = (b"?", event) if isinstance(event, bytes) else (event.group.encode(), encode(event))
        batch = build_batch([(key, value)], base_offset=log.log_end_offset, timestamp_ms=1)
        log.append(bytes(batch), log.log_end_offset, 1)
    log.close()


@pytest.fixture
def source(tmp_path: Path) -> HistorySource:
    return Story("g").created().members("a").members("a", "b").empty().roll().source(tmp_path / "data")


def test_events_are_the_same_before_and_after_their_extraction(source: HistorySource) -> None:
    events = [rebalance(n, 1000 * n, group="gh"[n % 2]) for n in range(40)] + [incident(50_000)]
    write(source.data_dir, *events, segment_bytes=3000)
    live = load_events(source, "g")
    assert [each.event for each in live] == [event for event in events if event.group == "g"]
    done = extract_events(source)
    assert done.segments > 3 and done.events > 20 and done.problems == ()
    assert load_events(source, "g") == live
    assert extract_events(source).segments == 0, "each segment is extracted once"
    for path in sorted((source.data_dir / f"{EVENTS_TOPIC}-0").glob("*.log"))[:-1]:
        path.unlink()
    assert load_events(source, "g") == live, "retention took the segments from the log"


def test_the_table_has_the_facts_as_columns(source: HistorySource) -> None:
    write(source.data_dir, rebalance(7, 1000), incident(2000), rebalance(8, 3000), segment_bytes=1)
    extract_events(source)
    tables = [pq.read_table(file.path, schema=EVENTS) for file in event_files(source.history_dir, 0)]
    rows = [row for table in tables for row in table.to_pylist()]
    events = [decode_event(row.pop("json").encode()) for row in rows]
    assert events == [rebalance(7, 1000), incident(2000), rebalance(8, 3000)]
    assert rows[0] == {
        "log_offset": 0,
        "at_ms": 1000,
        "group": "g",
        "kind": "rebalance",
        "cause": "member_left",
        "generation": 7,
        "member_id": "web2-0001",
        "instance_id": "",
        "client_id": "web2",
        "host": "10.0.0.2",
        "software": "librdkafka 2.16",
        "join_ms": 1500,
        "plan_ms": 10,
        "sync_ms": 500,
        "outcome": "stable",
    }
    assert (rows[1]["kind"], rows[1]["cause"], rows[1]["join_ms"], rows[1]["outcome"]) == (
        "incident",
        "fenced",
        None,
        None,
    )


def test_the_same_log_gives_the_same_bytes(source: HistorySource, tmp_path: Path) -> None:
    write(source.data_dir, *(rebalance(n, n) for n in range(30)), segment_bytes=3000)
    extract_events(source)
    first = {file.start: file.path.read_bytes() for file in event_files(source.history_dir, 0)}
    events_path = events_dir(source.history_dir, 0)
    for path in events_path.iterdir():
        path.unlink()
    (events_path / f"seg-{0:020d}.parquet.ab12{TEMPORARY}").write_bytes(b"cut off")
    extract_events(source)
    assert {file.start: file.path.read_bytes() for file in event_files(source.history_dir, 0)} == first
    assert not list(events_path.glob(f"*{TEMPORARY}"))


def test_the_file_of_a_segment_that_grows_is_replaced(source: HistorySource) -> None:
    events: list[AnyEvent] = []
    for number in range(12):
        events += [rebalance(number, number, group="gh"[number % 2])]
        write(source.data_dir, events[-1], segment_bytes=2000)
        assert extract_events(source).events == 1
        assert [each.event for each in load_events(source, "g")] == events[::2]
    grown = {file.start: file.path.read_bytes() for file in event_files(source.history_dir, 0)}
    assert len(grown) > 1
    for path in events_dir(source.history_dir, 0).iterdir():
        path.unlink()
    assert extract_events(source).events == 12
    assert {file.start: file.path.read_bytes() for file in event_files(source.history_dir, 0)} == grown


def test_events_that_were_read_beyond_their_segment_are_kept_once(source: HistorySource) -> None:
    write(source.data_dir, *(rebalance(n, n) for n in range(6)), segment_bytes=1 << 20)
    extract_events(source)
    shutil.rmtree(source.data_dir / f"{EVENTS_TOPIC}-0")  # and now the same log, as if it had begun segments meanwhile
    write(source.data_dir, *(rebalance(n, n) for n in range(8)), segment_bytes=1200)
    assert [each.event.generation for each in load_events(source, "g")] == list(range(8))
    assert extract_events(source).events == 2
    rows = [
        n for file in event_files(source.history_dir, 0) for n in pq.read_table(file.path)["log_offset"].to_pylist()
    ]
    assert rows == list(range(8))


def test_what_is_no_event_is_left_out(source: HistorySource) -> None:
    write(source.data_dir, rebalance(1, 1), b"no event", b"{}", rebalance(2, 2))
    assert [each.log_offset for each in load_events(source, "g")] == [0, 3]


def test_damage_is_left_out_and_the_rest_is_kept(source: HistorySource) -> None:
    write(source.data_dir, *(rebalance(n, n) for n in range(1, 5)), segment_bytes=1 << 20)
    write(source.data_dir, rebalance(5, 5))
    path = next((source.data_dir / f"{EVENTS_TOPIC}-0").glob("*.log"))
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"generation":2', b'"generation":9'))
    assert [each.event.generation for each in load_events(source, "g")] == [1, 3, 4, 5]


def test_an_incident_that_was_written_again_comes_once_with_its_last_count(source: HistorySource) -> None:
    write(source.data_dir, incident(5), rebalance(1, 6), incident(5, times=2), incident(5, times=4))
    found = [each.event for each in load_events(source, "g")]
    assert found == [incident(5, times=4), rebalance(1, 6)]


def test_a_data_directory_without_the_topic_has_no_events(source: HistorySource) -> None:
    assert (load_events(source, "g"), extract_events(source).segments) == ([], 0)


def test_a_change_is_joined_to_the_rebalance_that_ended_when_its_record_was_written(source: HistorySource) -> None:
    found = changes(load_group(source, "g").records)
    assert [change.kind for change in found] == [Kind.CREATED, Kind.REBALANCED, Kind.REBALANCED, Kind.EMPTY]
    at_ms = {change.record.generation: change.record.timestamp_ms - 2000 for change in found}
    first, second = rebalance(1, at_ms[1]), rebalance(2, at_ms[2])
    earlier_life = rebalance(2, at_ms[2] - 3_600_000)
    interrupted = rebalance(1, at_ms[2] - 10)
    interrupted.previous_generation = 1
    assert reasons(found, [earlier_life, first, interrupted, second]) == [None, first, second, None]
    assert reasons(found, [earlier_life]) == [None] * 4
    assert reasons(found, []) == [None] * 4


def ask(capsys: pytest.CaptureFixture[str], source: HistorySource, *words: str) -> tuple[int, str, str]:
    code = main(["history", *words, "--data-dir", str(source.data_dir)])
    said = capsys.readouterr()
    return code, said.out, said.err


def told(source: HistorySource, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code, out, _ = ask(capsys, source, *words, "--json")
    assert code == 0
    return json.loads(out)


def test_rebalances_say_why_and_how_long(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    before = told(source, capsys, "rebalances", "g")
    fields = ("cause", "culprit", "reason", "took_ms", "join_ms", "plan_ms", "sync_ms")
    assert [each[field] for each in before for field in fields] == [None] * 28
    write(source.data_dir, rebalance(2, before[2]["timestamp_ms"] - 2000))
    after = told(source, capsys, "rebalances", "g")
    assert [after[2][field] for field in fields[2:]] == ["gone", 2000, 1500, 10, 500]
    assert (after[2]["cause"], after[2]["culprit"]["client_id"]) == ("member_left", "web2")
    assert after[1]["cause"] is None
    code, out, _ = ask(capsys, source, "rebalances", "g")
    assert code == 0 and "because a member left: web2; took 2s" in out


def test_the_events_of_a_group_are_listed(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    write(source.data_dir, rebalance(2, 1_700_000_000_000), incident(1_700_000_100_000, times=8))
    code, out, _ = ask(capsys, source, "events", "g")
    assert code == 0
    for words in ("member_left", "web2 (10.0.0.2, librdkafka 2.16)", "1.5s", "stable", "fenced (8 times)"):
        assert words in out
    rows = told(source, capsys, "events", "g")
    assert [row["cause"] for row in rows] == ["member_left", "fenced"]
    assert rows[0]["event"]["trigger"]["reason"] == "gone"
    assert told(source, capsys, "events", "g", "--since", rows[1]["time"]) == rows[1:]
    assert told(source, capsys, "events", "g", "--limit", "1") == rows[1:]


def test_a_group_without_events_is_not_found(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, source, "events", "unknown-group")
    assert (code, out) == (1, "")
    assert "no event of a group 'unknown-group' is known" in err


def test_extraction_counts_events(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    write(source.data_dir, *(rebalance(n, n) for n in range(30)), segment_bytes=3000)
    facts = told(source, capsys, "extract")
    assert facts["events"] == 30 and facts["files"] > 3
    assert told(source, capsys, "extract")["events"] == 0
