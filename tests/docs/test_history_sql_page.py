"""docs/history-sql.md names the tables of a history and their columns."""

from __future__ import annotations

import re
from pathlib import Path

from coordinator.history.duckdb_views import connect
from coordinator.history.views import NAMES
from tests.docs.blocks import ROOT
from tests.history.stories import Story

_ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \|$", re.MULTILINE)


def test_each_table_has_its_row_and_its_columns(tmp_path: Path) -> None:
    connection = connect(Story().members("a").commit(t=1).source(tmp_path).data_dir)
    assert sorted(name for (name,) in connection.execute("SHOW TABLES").fetchall()) == list(NAMES)
    rows = [
        (re.findall(r"`(\w+)`", names), text)
        for names, text in _ROW.findall((ROOT / "docs" / "history-sql.md").read_text(encoding="utf-8"))
    ]
    meanings, columns = rows[: len(NAMES)], rows[len(NAMES) :]
    assert sorted(name for names, _ in meanings for name in names) == list(NAMES)
    described = {name: text for names, text in columns for name in names}
    assert described.keys() == set(NAMES)
    for name, text in described.items():
        known = {column for column, *_ in connection.execute(f"DESCRIBE {name}").fetchall()} - {"lp", "outcome"}
        told = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", text.partition(";")[0]))) - {"outcome"}
        assert told == known or (name == "consumers" and told < known), name
