"""examples/history.sql and examples/history.ipynb give answers about a history with members, resets and incidents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import matplotlib as mpl
import pytest

from coordinator.cli.main import main
from coordinator.history.duckdb_views import connect
from coordinator.history.extract import extract
from coordinator.history.lag_table import LagTable
from coordinator.storage.log.fs import RealFileSystem
from tests.docs.blocks import ROOT
from tests.history.stories import Story
from tests.history.test_events import incident, rebalance, write

SQL = ROOT / "examples" / "history.sql"
NOTEBOOK = ROOT / "examples" / "history.ipynb"
TOPIC = "orders"
FS = RealFileSystem()


class World(NamedTuple):
    """A data directory, and the time at its end."""

    data_dir: Path
    now_ms: int


def shared(*names: str) -> dict[str, dict[str, list[int]]]:
    """Return four partitions, shared by these members."""
    return {name: {TOPIC: list(range(number, 4, len(names)))} for number, name in enumerate(names)}


def a_life(story: Story) -> Story:
    """Let a group be created, deployed, stuck, emptied, reset, and filled again, within some hours."""
    story.created().members("web1", owning=shared("web1"))
    offset = 0
    for number in range(12):
        names = ("web1", "api1") if number < 6 else ("web2", "api2")
        if number in (1, 6):  # the second generation, and a deploy
            story.members(*names, owning=shared(*names))
        for _ in range(5):
            offset += 100
            moving = {f"{TOPIC}_{partition}": offset for partition in range(3)}
            stuck = {f"{TOPIC}_3": min(offset, 700)} if number < 8 else {}
            story.commit(**moving, **stuck).wait(120)
        story.commit(producer_id=number, **{f"{TOPIC}_0": offset}).end_transaction(number, commit=number % 3 > 0)
    for name in ("web3", "api3", "web4"):  # it flaps
        story.members(name, owning=shared(name)).wait(30)
    story.empty().wait(300).commit(**{f"{TOPIC}_0": 50})  # a reset
    return story.members("web5", owning=shared("web5")).wait(60).commit(**{f"{TOPIC}_0": 80})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Two groups, of which one never commits; half of it is extracted."""
    story = a_life(Story("orders-service")).roll()
    story.group = "idle"
    story.members("cron1", owning=shared("cron1")).wait(60)
    source = story.source(tmp_path_factory.mktemp("examples") / "data")
    begin_ms = story.now_ms - 3_600_000
    events = [rebalance(n, begin_ms + 1000 * n, group="orders-service", join_ms=100 * n) for n in range(2, 9)]
    write(source.data_dir, *events, incident(begin_ms, group="orders-service", times=7))
    extract(source)
    files = [str(path.relative_to(source.history_dir)) for path in source.history_dir.glob("commits/**/*.parquet")]
    for end, hours_ago in ((8000, 2), (9000, 1)):
        lag = LagTable(source.history_dir, lambda keys, end=end: dict.fromkeys(keys, end), FS)
        lag.take(files)
        assert lag.write(story.now_ms - 3_600_000 * hours_ago)
    return World(source.data_dir, story.now_ms)


def statements() -> Iterator[duckdb.Statement]:
    yield from duckdb.connect().extract_statements(SQL.read_text(encoding="utf-8"))


def test_there_are_more_than_ten_questions_with_numbers() -> None:
    numbers = re.findall(r"^-- (\d+)\. \w.*", SQL.read_text(encoding="utf-8"), re.MULTILINE)
    assert list(map(int, numbers)) == list(range(1, len(list(statements())) + 1))
    assert len(numbers) > 10


@pytest.mark.parametrize("statement", [each.query for each in statements()], ids=lambda text: text[:60].strip())
def test_each_question_has_an_answer(statement: str, world: World) -> None:
    connection = connect(world.data_dir)
    (parsed,) = connection.extract_statements(statement)
    values = {"now_ms": world.now_ms} if parsed.named_parameters else None
    rows = connection.execute(parsed, values).fetchall()
    assert rows


def test_the_command_answers_the_file(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.fromtimestamp(world.now_ms / 1000, UTC).isoformat()
    assert main(["history", "sql", "--file", str(SQL), "--now", now, "--data-dir", str(world.data_dir)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    titles = re.findall(r"^-- (\d+)\. ", said.out, re.MULTILINE)
    assert list(map(int, titles)) == list(range(1, len(list(statements())) + 1))
    assert re.search(r"^idle +1 +\S+ \S+ +\d+$", said.out, re.MULTILINE), "it has a member, and commits nothing"


def test_each_cell_of_the_notebook_runs_and_draws(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDINATOR_DATA_DIR", str(world.data_dir))
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    namespace: dict[str, Any] = {}
    try:
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [], "it is kept without results"
                exec(compile("".join(cell["source"]), cell["id"], "exec"), namespace)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert len(figures) >= 4
        for figure in figures:
            figure.canvas.draw()
    finally:
        plt.close("all")
