"""A log whose first records are gone says so, before and after its extraction."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.tables import load_group
from coordinator.history.times import local_time
from tests.history.stories import Story
from tests.history.worlds import data_dir


def test_an_extraction_keeps_the_gap_before_the_first_segment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story().commit(t=1).roll()
    first_left_ms = story.now_ms
    segments = story.commit(t=2).roll().wait(60).commit(u=3).segments()
    source = data_dir(tmp_path, segments[1:])
    for extracted in (0, 2):
        assert len(extract(source) if extracted else ()) == extracted
        past = load_group(source, "g")
        assert (past.extracted_to > 0) == (extracted > 0)
        assert (past.compacted_to, past.whole_since_ms) == (1, first_left_ms)
        assert main(["restore", "g", "--at", local_time(first_left_ms - 1), "--data-dir", str(tmp_path)]) == 1
        assert "nothing is known of the offsets of group 'g'" in capsys.readouterr().err
