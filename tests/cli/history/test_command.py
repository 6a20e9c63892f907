"""`coordinator history`: its tables, JSON, plots and errors."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.compaction.request import DaemonFacts, announce
from coordinator.core.shard import partition_for
from coordinator.history import questions
from coordinator.history.times import local_time
from coordinator.storage import worker_dirs as layout
from coordinator.storage.file_names import WORKERS_DIR
from tests.history.stories import Story

LONG_TOPIC = "orders.events.warehouse-europe.v1"


def story(partitions: int = 3, commits: int = 20) -> Story:
    """Return a story of two members that share a topic, a partition that stands still, and a reset."""
    owning = {"web1": {LONG_TOPIC: list(range(partitions))}, "web2": {LONG_TOPIC: [partitions - 1]}}
    made = Story("orders-service").created().members("web1", owning=owning)
    for number in range(commits):
        offsets = {f"{LONG_TOPIC}_{p}": (5 if p == 1 else number * (p + 1) * 1000) for p in range(partitions)}
        made.commit(**offsets).wait(30)
        if number == commits // 2:
            made.members("web1", "web2", owning=owning)
    return made.empty().wait(5).commit(**{f"{LONG_TOPIC}_0": 7}).roll()


@pytest.fixture
def told(tmp_path: Path) -> Path:
    return story().source(tmp_path / "data").data_dir


class Said:
    """The result of one run of the command."""

    def __init__(self, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
        self.code = main(["history", *words])
        captured = capsys.readouterr()
        self.out, self.err = captured.out, captured.err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.out.splitlines() if line.strip()]


def ask(capsys: pytest.CaptureFixture[str], data_dir: Path, *words: str) -> Said:
    return Said(capsys, [*words, "--data-dir", str(data_dir)])


@pytest.mark.parametrize(
    "words", [["commits"], ["rebalances"], ["rate", "--window", "30s"], ["stalled", "--for", "1m"]], ids=lambda w: w[0]
)
def test_tables_in_a_pipe_are_neither_cut_nor_wrapped_nor_coloured(
    words: list[str], told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(capsys, told, words[0], "orders-service", *words[1:])
    assert said.code == 0
    assert LONG_TOPIC in said.out
    assert "\x1b" not in said.out, "no colours into a pipe"


def test_commits_are_listed_with_time_offset_and_change(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ask(capsys, told, "commits", "orders-service", "--partition", "0", "--limit", "2")
    newest = json.loads(ask(capsys, told, "commits", "orders-service", "--json").out)[-1]
    assert local_time(newest["timestamp_ms"]) in said.out
    assert re.search(r"\b19000\s+\+1000\b", said.out)
    assert re.search(r"\b7\s+-18993\b", said.out)
    assert "the newest 2 of 21 commits; --limit shows more" in said.out


def test_json_of_commits_has_every_field(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(capsys, told, "commits", "orders-service", "--json", "--limit", "1000").json
    assert len(rows) == 61
    assert rows[-1] == {
        "time": rows[-1]["time"],
        "timestamp_ms": rows[-1]["timestamp_ms"],
        "topic": LONG_TOPIC,
        "partition": 0,
        "offset": 7,
        "change": -18993,
        "deleted": False,
        "metadata": "",
        "leader_epoch": None,
        "transaction": None,
        "producer_id": None,
        "log_offset": rows[-1]["log_offset"],
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", rows[0]["time"])


def test_since_and_until_limit_the_time(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(capsys, told, "commits", "orders-service", "--json", "--limit", "1000").json
    since, until = rows[10]["time"], rows[20]["time"]
    some = ask(capsys, told, "commits", "orders-service", "--json", "--since", since, "--until", until).json
    assert some == [row for row in rows if since <= row["time"] <= until]
    assert len(some) >= 11


def test_rebalances_show_members_that_came_and_went_and_moved_partitions(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(capsys, told, "rebalances", "orders-service")
    text = " ".join(said.out.split())
    for words in ("created", "rebalanced", "empty", "+ web", "unassigned → web", "web-web2"):
        assert words in text
    found = ask(capsys, told, "rebalances", "orders-service", "--json").json
    assert [each["what"] for each in found] == ["created", "rebalanced", "rebalanced", "empty"]
    assert [len(each["members"]) for each in found] == [0, 1, 2, 0]
    assert found[2]["came"] == ["web-web2----"]
    assert {(move["partition"], move["from"], move["to"]) for move in found[1]["moved"]} == {
        (0, None, "web"),
        (1, None, "web"),
        (2, None, "web"),
    }


def test_rates_draw_progress_over_time(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ask(capsys, told, "rate", "orders-service", "--window", "30s")
    assert "windows, each of 30s" in said.out
    assert "▼" in said.out, "the reset went back"
    found = ask(capsys, told, "rate", "orders-service", "--window", "30s", "--json").json
    assert [(each["partition"], each["commits"]) for each in found] == [(0, 21), (1, 20), (2, 20)]
    assert found[2]["progress"] == sum(window["progress"] for window in found[2]["windows"]) == 57_000


def test_stalled_partitions_are_listed_with_time_and_kind(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(capsys, told, "commits", "orders-service", "--json", "--partition", "1", "--limit", "1000").json
    end = rows[-1]["time"]
    said = ask(capsys, told, "stalled", "orders-service", "--for", "5m", "--until", end)
    assert "no progress in 19" in " ".join(said.out.split())
    assert "--bootstrap-server" in said.err, "it may simply have nothing to read"
    (found,) = ask(capsys, told, "stalled", "orders-service", "--for", "5m", "--until", end, "--json").json
    assert (found["partition"], found["how"], found["offset"]) == (1, "no progress", 5)
    assert found["since"]["time"] == rows[0]["time"]
    none = ask(capsys, told, "stalled", "orders-service", "--for", "5m", "--until", end, "--partition", "0")
    assert (none.code, none.out) == (0, "")
    assert "nothing has stood still for 5m" in none.err


@pytest.mark.parametrize("question", ["commits", "rate", "stalled", "rebalances"])
@pytest.mark.parametrize("partitions", [3, 30])
def test_plots_are_written_as_png_and_as_self_contained_html(
    question: str, partitions: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir = story(partitions, commits=6).source(tmp_path / "data").data_dir
    png, page = tmp_path / "picture.png", tmp_path / "page.html"
    assert ask(capsys, data_dir, question, "orders-service", "--plot", str(png)).code == 0
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    said = ask(capsys, data_dir, question, "orders-service", "--plot", str(page))
    assert f"wrote {page}" in said.err
    text = page.read_text()
    assert "orders-service" in text
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!#|data:)', text), "nothing is loaded from elsewhere"
    first = page.read_bytes()
    ask(capsys, data_dir, question, "orders-service", "--plot", str(page))
    assert page.read_bytes() == first or question == "rebalances", "the same question draws the same plot"


def test_names_in_a_plot_are_text_and_not_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "<b>&$x^2$ _ %"
    data_dir = Story(name).members("<i>$y$").commit(t=1).wait(9).commit(t=5).source(tmp_path / "data").data_dir
    page = tmp_path / "page.html"
    assert ask(capsys, data_dir, "commits", name, "--plot", str(page)).code == 0
    assert "&lt;b&gt;&amp;$x^2$ _ %" in page.read_text()


def test_extraction_reports_its_work_and_a_second_one_finds_none(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ask(capsys, told, "commits", "orders-service", "--json", "--limit", "1000").out
    said = ask(capsys, told, "extract")
    assert re.search(r"extracted 1 segments in .* 61 commits and 4 states of groups", said.out)
    assert "nothing to extract" in ask(capsys, told, "extract").out
    assert ask(capsys, told, "extract", "--json").json["segments"] == 0
    assert ask(capsys, told, "commits", "orders-service", "--json", "--limit", "1000").out == before


def test_history_directory_of_the_daemon_is_used(
    told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    announce(told, DaemonFacts("epoch", 1, True, str(tmp_path / "elsewhere"), 1000, 0.5, 0, 1000))
    ask(capsys, told, "extract")
    assert (tmp_path / "elsewhere" / "marks.json").exists()
    ask(capsys, told, "extract", "--history-dir", str(tmp_path / "third"))
    assert (tmp_path / "third" / "marks.json").exists()


def test_retention_is_that_of_the_daemon_or_the_one_that_is_asked_for(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Story("orders-service").commit(t=1).roll().commit(t=2).roll().commit(t=3).roll().source(told)
    announce(told, DaemonFacts("epoch", 1, True, "", 1000, 0.5, 0, 1000, history_retention_ms=0))
    ask(capsys, told, "extract", "--retention-ms", "-1")
    assert not (told / "history" / "commits" / "date=0001-01-01").exists()
    ask(capsys, told, "extract")
    assert (told / "history" / "commits" / "date=0001-01-01").exists()


def test_log_of_the_worker_that_has_the_group_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert WORKERS_DIR == layout.WORKERS_DIR
    groups = {partition_for(group, 2): group for group in ("a", "b")}
    for partition, group in groups.items():
        home = tmp_path / "workers" / str(partition + 1)
        Story(group).commit(t=partition).roll().commit(t=7).source(home)
        (home / "__consumer_offsets-0").rename(home / f"__consumer_offsets-{partition}")
        facts = (home / "meta.properties").read_text()
        (home / "meta.properties").write_text(facts.replace("num.partitions=1", "num.partitions=2"))
    for extracted in (0, 2):
        for partition, group in groups.items():
            rows = ask(capsys, tmp_path, "commits", group, "--json").json
            assert [row["offset"] for row in rows] == [partition, 7]
        assert ask(capsys, tmp_path, "extract", "--json").json["segments"] == 2 - extracted
    assert (tmp_path / "workers" / "1" / "history" / "marks.json").exists()
    assert ask(capsys, tmp_path, "commits", "unknown").code == 1


def test_gaps_in_the_history_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Story("g").commit(t=1)
    made.next_offset += 5
    data_dir = made.commit(t=2).source(tmp_path / "data").data_dir
    assert "the log was compacted before" in ask(capsys, data_dir, "commits", "g").err
    assert "compacted" not in ask(capsys, data_dir, "commits", "g", "--since", "-1m").err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["commits"], "name one GROUP"),
        (["commits", "g", "--all-groups"], "name one GROUP"),
        (["commits", "unknown"], "nothing is known of a group 'unknown'"),
        (["commits", "orders-service", "--since", "yesterday"], "--since: 'yesterday' is not a time; write"),
        (["commits", "orders-service", "--since", "-1m", "--until", "-2m"], "exchange them"),
        (["rate", "orders-service", "--window", "1"], "--window: '1' is not a span"),
        (["rate", "orders-service", "--window", "1s", "--since", "2001-01-01"], "longer --window"),
        (["stalled", "orders-service", "--for", "0s"], "--for"),
        (["commits", "orders-service", "--plot", "x.gif"], "must end with .png or .html"),
        (["commits", "orders-service", "--plot", "no/such/x.png"], "create it first"),
        (["commits", "--all-groups", "--plot", "x.png"], "--plot draws one group"),
        (["commits", "orders-service", "--until", "2001-01-01", "--plot", "x.png"], "nothing to draw"),
    ],
)
def test_question_without_an_answer_ends_with_one_sentence_that_says_what_to_do(
    words: list[str],
    sentence: str,
    told: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(questions, "MAX_CELLS", 1000)
    said = ask(capsys, told, *words)
    assert said.code in (1, 2)
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1 or said.err.startswith("nothing")


@pytest.mark.parametrize("action", [["extract"], ["commits", "g"]])
def test_directory_without_a_log_is_named(
    action: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(capsys, tmp_path / "none", *action)
    assert said.code == 2
    assert "--data-dir" in said.err
    said = ask(capsys, tmp_path, *action)
    assert "holds no partition of the offsets log" in said.err


def test_missing_extra_is_reported_with_the_command_that_installs_it(
    told: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else found(name))
    for words in (["history", "commits", "g"], ["restore", "g", "--at", "-1m"], ["undo", "g"]):
        assert main([*words, "--data-dir", str(told)]) == 2
        err = capsys.readouterr().err
        assert "pyarrow" in err
        assert "pip install 'kafka-group-coordinator[history]'" in err


def test_questions_name_the_extra_without_duckdb_and_extraction_works(
    told: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "duckdb" else found(name))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert ask(capsys, told, "extract").code == 0
    assert ask(capsys, told, "rebalances", "orders-service").code == 0
    for words in (["commits", "orders-service"], ["stalled", "--all-groups"], ["sql", "SELECT 1"]):
        said = ask(capsys, told, *words)
        assert said.code == 2
        assert "this needs duckdb" in said.err
        assert "pip install 'kafka-group-coordinator[history]'" in said.err


def test_only_a_master_needs_spark(
    told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyspark", "pandas", "py4j"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    group = "orders-service"
    for words in (["commits"], ["rebalances"], ["rate"], ["stalled"], ["commits", "--plot", str(tmp_path / "x.png")]):
        assert ask(capsys, told, words[0], group, *words[1:]).code == 0
    assert ask(capsys, told, "extract").code == 0
    address = f"127.0.0.1:{closed_port()}"
    for command in (["restore", group, "--at", "now"], ["undo", group]):
        main([*command, "--data-dir", str(told), "-b", address])
        err = capsys.readouterr().err
        assert f"cannot connect to {address}" in err or "no reset of group" in err
    for words in (["commits"], ["rebalances"], ["rate"], ["stalled"]):
        assert ask(capsys, told, *words, "--all-groups").code == 0
    said = ask(capsys, told, "commits", "--all-groups", "--master", "local[1]")
    assert said.code == 2
    assert "this needs pyspark, pandas, which come with an extra" in said.err
    assert "pip install 'kafka-group-coordinator[spark]'" in said.err


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_damaged_log_is_named_and_can_be_read_without_the_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Story("g").commit(t=1).commit(t=2).commit(t=3)
    size = len(made.active.data) // 3
    made.active.data = made.active.data[: size + 80] + b"\xff" + made.active.data[size + 81 :]
    data_dir = made.source(tmp_path / "data").data_dir
    said = ask(capsys, data_dir, "commits", "g")
    assert (said.code, said.out) == (2, "")
    assert f"at byte {size} is damaged" in said.err
    assert "--skip-corrupt" in said.err
    said = ask(capsys, data_dir, "commits", "g", "--skip-corrupt", "--json")
    assert [row["offset"] for row in said.json] == [1, 3]
    assert f"byte {size}" in said.err
