"""The questions about all groups, asked of DuckDB and of Spark: both give what is known of each group alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.history import all_groups
from coordinator.cli.main import main
from coordinator.history import duckdb_views, views
from coordinator.history.extract import extract
from coordinator.history.layout import consumer_files
from coordinator.history.questions import Answer, Selection
from coordinator.history.questions import rate as one_rate
from coordinator.history.rebalances import Kind, changes
from coordinator.history.source import HistorySource
from coordinator.history.tables import GroupHistory, load_group
from coordinator.history.views import Stand, steady
from coordinator.spark import spark_session
from coordinator.storage.history_marks import NOT_EXTRACTED, read_marks, write_marks
from tests.compaction.logs import OFFSETS, LogWriter, Segment, seeded
from tests.history.numpy_questions import listed, rate, stalled
from tests.history.test_consumer_groups import random_life
from tests.history.worlds import GROUPS, data_dir

MANY = 1000
AskAll = Callable[..., Answer]  # takes sources, the name of a question, its parameters


@pytest.fixture(
    params=["duckdb", pytest.param("spark", marks=[pytest.mark.integration, pytest.mark.spark])], scope="module"
)
def ask_all(request: pytest.FixtureRequest) -> AskAll:
    if request.param == "duckdb":
        return duckdb_views.ask_all_groups
    from coordinator.history import spark_views

    return partial(spark_views.ask_all_groups, request.getfixturevalue("spark"))


def written(seed: int, count: int = 120) -> list[Segment]:
    return LogWriter().write(seeded(seed, count, OFFSETS)).segments


def mark_at(source: HistorySource, next_offset: int, last_segment: int) -> None:
    """Move the mark of partition 0. Files beyond it are left, and do not count."""
    marks = read_marks(source.history_dir)
    assert marks is not None
    mark = replace(NOT_EXTRACTED, next_offset=next_offset, last_segment=last_segment)
    write_marks(source.history_dir, marks.with_mark(0, mark))


@pytest.fixture(scope="module")
def half_extracted(tmp_path_factory: pytest.TempPathFactory) -> HistorySource:
    """A log with transactions whose first segments are extracted."""
    segments = written(7, 200)
    assert len(segments) > 6
    source = data_dir(tmp_path_factory.mktemp("half"), segments)
    extract(source)
    middle = len(segments) // 2
    mark_at(source, segments[middle].base_offset, segments[middle - 1].base_offset)
    return source


@pytest.fixture(scope="module")
def groups(half_extracted: HistorySource) -> dict[str, GroupHistory]:
    found = {group: load_group(half_extracted, group) for group in (*GROUPS, "alone")}
    assert all(past.extracted_to for past in found.values())
    return found


def selections(groups: dict[str, GroupHistory]) -> list[Selection]:
    times = sorted(time for past in groups.values() for time in past.commits.timestamp_ms.tolist())
    third = len(times) // 3
    return [Selection(), Selection(("t",), (), times[third]), Selection((), (1,), times[third], times[2 * third])]


def asked(selection: Selection, window_ms: int = 0, **more: int) -> dict[str, Any]:
    return {**selection.parameters(window_ms), "limit": MANY, **more}


def test_commits_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], ask_all: AskAll
) -> None:
    for selection in selections(groups):
        answer = ask_all([half_extracted], "commit_counts", asked(selection))
        expected = {}
        for group, past in groups.items():
            own = past.commits
            mask = selection.mask(own) & own.counted & ~own.is_tombstone
            if mask.any():
                times = own.timestamp_ms[mask]
                partitions = len(set(own.key[mask].tolist()))
                expected[group] = (int(mask.sum()), partitions, int(times.min()), int(times.max()))
        found = {row["group"]: (row["commits"], row["partitions"], row["first_ms"], row["last_ms"]) for row in answer}
        assert found == expected
        assert [row["commits"] for row in answer] == sorted((row["commits"] for row in answer), reverse=True)


def test_rates_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], ask_all: AskAll
) -> None:
    window_ms = 60_000
    for selection in selections(groups)[1:]:
        answer = ask_all([half_extracted], "rates", asked(selection, window_ms))
        expected = {}
        for group, past in groups.items():
            one = rate(past.commits, selection, window_ms)
            if one.keys:
                sums, counts = one.progress.sum(axis=0), one.commits.sum(axis=0)
                peak = max(int(total) for total, count in zip(sums, counts, strict=True) if count)
                ends = int(one.starts_ms[0]), int(one.starts_ms[-1]) + window_ms
                expected[group] = (int(counts.sum()), int(sums.sum()), peak, *ends)
        names = ("commits", "progress", "peak", "first_ms", "last_ms")
        assert {row["group"]: tuple(row[name] for name in names) for row in answer} == expected


def test_rates_without_since_cover_the_windows_up_to_the_newest_commit_of_all(
    half_extracted: HistorySource, groups: dict[str, GroupHistory]
) -> None:
    ask_all = duckdb_views.ask_all_groups
    newest = max(int(past.commits.timestamp_ms[past.commits.counted].max()) for past in groups.values() if past.commits)
    since = Selection(since_ms=(newest // 1000 - 59) * 1000)
    answer = ask_all([half_extracted], "rates", asked(Selection(), 1000))
    assert answer == ask_all([half_extracted], "rates", asked(since, 1000))
    assert answer


def test_standstills_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], ask_all: AskAll
) -> None:
    newest = max(int(past.commits.timestamp_ms.max()) for past in groups.values() if len(past.commits))
    for selection, for_ms in zip(selections(groups), (1000, 3_600_000, 60_000), strict=True):
        answer = ask_all([half_extracted], "stalled", asked(selection, for_ms=for_ms, now_ms=newest))
        expected = [
            row for group, past in groups.items() for row in stalled(group, past.commits, selection, for_ms, newest)
        ]
        names = ("since_ms", "group", "topic", "partition")
        assert answer == sorted(expected, key=lambda row: [row[name] for name in names])
        assert expected or selection.since_ms


def test_questions_about_one_group_have_the_same_answer_among_all(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], ask_all: AskAll
) -> None:
    group, selection = GROUPS[0], selections(groups)[1]
    own = groups[group].commits
    ask = partial(ask_all, [half_extracted])
    rows = ask("listed", {**asked(selection), "group": group})
    assert rows == listed(own, selection, MANY)
    assert {"committed", "aborted", None} <= {row["transaction"] for row in rows}
    made, right = one_rate(ask, group, selection, 60_000), rate(own, selection, 60_000)
    assert made.keys == right.keys
    for name in ("starts_ms", "commits", "progress", "resets"):
        assert getattr(made, name).tolist() == getattr(right, name).tolist()


def test_rebalances_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], ask_all: AskAll
) -> None:
    answer = ask_all([half_extracted], "rebalance_counts", asked(Selection()))
    expected = {}
    for group, past in groups.items():
        times = [each.record.timestamp_ms for each in changes(past.records) if each.kind is Kind.REBALANCED]
        if times:
            expected[group] = (len(times), max(times), len(past.records[-1].members))
    assert {row["group"]: (row["rebalances"], row["last_ms"], row["members"]) for row in answer} == expected
    assert expected


def test_rebalances_of_groups_of_the_newer_protocol_are_counted(tmp_path: Path, ask_all: AskAll) -> None:
    source = random_life(3).source(tmp_path)
    extract(source)
    middle = sorted(file.start for file in consumer_files(source.history_dir, 0))[1:3]
    mark_at(source, middle[1], middle[0])
    past = load_group(source, "g", skip_corrupt=True)
    times = [each.record.timestamp_ms for each in changes(past.records) if each.kind is Kind.REBALANCED]
    assert len(times) > 5
    late = Selection(since_ms=times[len(times) // 2])
    last = past.records[-1]
    assert ask_all([source], "rebalance_counts", asked(late)) == [
        {
            "group": "g",
            "rebalances": sum(each >= late.since_ms for each in times),
            "last_ms": max(times),
            "members": len(last.members),
            "generation": last.generation,
        }
    ]


def test_a_question_is_asked_again_if_the_marks_moved_meanwhile(tmp_path: Path) -> None:
    source = data_dir(tmp_path, written(8, 40))
    extract(source)
    stands: list[Stand] = []

    def answer(stand: Stand) -> int:
        stands.append(stand)
        if len(stands) == 1:
            mark_at(source, 1, -1)
        return len(stands)

    assert steady([source], ["commits"], answer) == 2
    assert stands[0].marks != stands[1].marks


def test_a_file_that_vanishes_while_files_are_joined_is_no_error(tmp_path: Path) -> None:
    source = data_dir(tmp_path, written(8, 40))
    extract(source)
    stands: list[Stand] = []

    def answer(stand: Stand) -> int:
        stands.append(stand)
        if len(stands) == 1:
            Path(stand.files["commits"][0]).unlink()
            raise FileNotFoundError
        return len(stands)

    assert steady([source], ["commits"], answer) == 2


def test_a_file_whose_rows_another_one_has_does_not_count(tmp_path: Path) -> None:
    """An observer joins the files of a day: the list then names the joined one, and the others go a moment later."""
    source = data_dir(tmp_path, written(8, 120))
    extract(source)
    path = source.history_dir / "files" / "lp=0.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    before = Stand.of([source], ["commits"]).files["commits"]
    first, *joined = lines[:3]
    path.write_text("".join(json.dumps(line) + "\n" for line in (first | {"end": joined[-1]["end"]}, *lines[3:])))
    gone = {str(source.history_dir / name) for line in joined for name in line["files"] if name.startswith("commits")}
    assert gone
    assert Stand.of([source], ["commits"]).files["commits"] == tuple(path for path in before if path not in gone)


def test_command_takes_spark_for_a_large_history_or_with_a_master_and_says_why(
    half_extracted: HistorySource, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_groups, "spark_session", lambda master: (_ for _ in ()).throw(LookupError(master)))
    words = ["history", "commits", "--all-groups", "--data-dir", str(half_extracted.data_dir)]
    assert main(words) == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(LookupError, match=r"local\[1\]"):
        main([*words, "--master", "local[1]"])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(all_groups, "MOST_LOCAL_BYTES", 1 << 10)
    with pytest.raises(LookupError, match="None"):
        main(words)
    assert "Spark answers, because 0 MB of Parquet and log are more than 0 MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    "engine", ["duckdb", pytest.param("spark", marks=[pytest.mark.integration, pytest.mark.spark])]
)
def test_command_answers_for_all_groups_and_names_a_file_that_cannot_be_read(
    engine: str,
    half_extracted: HistorySource,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["--all-groups", "--data-dir", str(half_extracted.data_dir)]
    if engine == "spark":
        spark = request.getfixturevalue("spark")
        monkeypatch.setattr(spark, "stop", lambda: None)  # the command must not stop the session of the tests
        monkeypatch.setattr(spark_session, "open_session", lambda _: spark)
        words += ["--master", "local[2]"]
    questions = [["commits"], ["rate", "--window", "1h"], ["stalled", "--for", "1s"], ["rebalances"]]
    for question in questions if engine == "duckdb" else questions[3:]:
        assert main(["history", *question, *words]) == 0
        table = capsys.readouterr().out.splitlines()
        assert table[0].split()[0] == "GROUP"
        assert len(table) > 1
        assert main(["history", *question, *words, "--json"]) == 0
        assert {row["group"] for row in json.loads(capsys.readouterr().out)} <= {*GROUPS, "alone"}
    *_, damaged, _ = sorted((half_extracted.data_dir / "__consumer_offsets-0").glob("*.log"))
    data = damaged.read_bytes()
    damaged.write_bytes(data[:70] + bytes([data[70] ^ 1]) + data[71:])
    try:
        assert main(["history", "commits", *words]) in (1, 2)
    finally:
        damaged.write_bytes(data)
    err = capsys.readouterr().err
    assert f"{damaged}: the batch at byte 0 is damaged" in err
    assert err.count("\n") == 1


def test_the_only_dollars_of_a_text_are_those_of_its_parameters() -> None:
    """A parameter `$name` becomes `:name` for Spark, which is all that differs."""
    known = {*asked(Selection()), "group", "for_ms", "now_ms"}
    for name in ("listed", "rate", "rates", "stalled", "commit_counts", "rebalance_counts", *views.SQL_VIEWS):
        assert set(re.findall(r"\$(\w*)", views.text_of(name))) <= known
