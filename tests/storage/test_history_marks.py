"""`marks.json`: its bytes, files of earlier versions, and the error for a damaged file."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.storage.file_names import MARKS_NAME
from coordinator.storage.history_marks import Mark, Marks, MarksError, mark_of, read_marks, write_marks

MARK = '{"next_offset": 7, "last_segment": 0, "compacted_to": 3, "whole_since_ms": 90, "newest_ms": 100%s}'
FILE = '{"version": %s, "cluster_id": %s, "offsets_partitions": 8, "partitions": {"%s": %s}}'


def put(directory: Path, text: str) -> None:
    (directory / MARKS_NAME).write_text(text)


def test_marks_are_written_as_indented_json_in_the_order_of_partitions(tmp_path: Path) -> None:
    marks = Marks("c", 8, {12: Mark(1, 0, 0, -1, 5), 3: Mark(7, 0, 3, 90, 100, 2)})
    write_marks(tmp_path, marks)
    assert (tmp_path / MARKS_NAME).read_text() == (
        '{\n "version": 1,\n "cluster_id": "c",\n "offsets_partitions": 8,\n "partitions": {\n'
        '  "3": {\n   "next_offset": 7,\n   "last_segment": 0,\n   "compacted_to": 3,\n   "whole_since_ms": 90,\n'
        '   "newest_ms": 100,\n   "segments": 2\n  },\n'
        '  "12": {\n   "next_offset": 1,\n   "last_segment": 0,\n   "compacted_to": 0,\n   "whole_since_ms": -1,\n'
        '   "newest_ms": 5,\n   "segments": 0\n  }\n }\n}\n'
    )
    assert read_marks(tmp_path) == marks


def test_a_history_without_marks_has_extracted_nothing(tmp_path: Path) -> None:
    assert read_marks(tmp_path) is None
    assert mark_of(tmp_path, 3) == 0


def test_a_mark_of_an_earlier_version_has_no_list_of_segments(tmp_path: Path) -> None:
    put(tmp_path, FILE % (1, '"c"', 3, MARK % ""))
    assert read_marks(tmp_path) == Marks("c", 8, {3: Mark(7, 0, 3, 90, 100, 0)})
    assert (mark_of(tmp_path, 3), mark_of(tmp_path, 4)) == (7, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        FILE % (2, '"c"', 3, MARK % ""),
        FILE % (1, "7", 3, MARK % ""),
        FILE % (1, '"c"', "x", MARK % ""),
        FILE % (1, '"c"', 3, "{}"),
        FILE % (1, '"c"', 3, (MARK % "").replace("7", '"7"')),
        FILE % (1, '"c"', 3, (MARK % "").replace("7", "true")),
        FILE % (1, '"c"', 3, MARK % ', "segments": null'),
        '{"version": 1}',
    ],
)
def test_a_damaged_file_is_refused_and_the_error_says_what_to_do(tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    with pytest.raises(MarksError, match=r"is not a marks file of version 1; restore it from a copy, or move"):
        read_marks(tmp_path)
