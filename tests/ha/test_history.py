"""A history is written by several processes at once, survives their deaths, and is read back whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ha.history import COMMIT, EVER, FETCH, INFO, JOIN, OK, Generation, History, HistoryError, Key, read_history
from tests.support.daemon import REPOSITORY

KEY = Key("group", 3)
WRITER = """
import sys
from pathlib import Path
from tests.ha.history import History, Key
with History(Path(sys.argv[1])) as history:
    process = history.process("writer")
    for number in range(500):
        process.invoke("commit", Key("group", 0), number)
        process.ok()
"""


def test_operations_are_read_back(tmp_path: Path) -> None:
    with History(tmp_path / "h") as history:
        process = history.process("p")
        process.invoke(COMMIT, KEY, 5, may_repeat=True)
        process.info(TimeoutError("no answer"))
        process.invoke(FETCH, KEY, is_final=True)
        process.ok(5)
        process.invoke(JOIN, Key("group", -1))
        process.ok(Generation(2, "a", ("a", "b"), "mark"))
        process.invoke(COMMIT, KEY, 6)
        process.fail("ILLEGAL_GENERATION")
    first, second, third, fourth = read_history([tmp_path / "h"])
    assert (first.kind, first.value, first.outcome, first.may_repeat) == (COMMIT, 5, INFO, True)
    assert first.error == "TimeoutError('no answer')"
    assert (second.kind, second.key, second.value, second.outcome, second.is_final) == (FETCH, KEY, 5, OK, True)
    assert third.value == Generation(2, "a", ("a", "b"), "mark")
    assert (fourth.value, fourth.error) == (6, "ILLEGAL_GENERATION")
    assert first.start < first.end < second.start < second.end


def test_the_last_operation_of_a_killed_client_is_open(tmp_path: Path) -> None:
    path = tmp_path / "h"
    with History(path) as history:
        process = history.process("p")
        process.invoke(COMMIT, KEY, 5)
        process.ok()
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])  # the line of the acknowledgement was cut off
    (operation,) = read_history([path])
    assert (operation.outcome, operation.end) == (INFO, EVER)


def test_several_processes_may_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "h"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=REPOSITORY, env={"PYTHONPATH": "."})
        for _ in range(3)
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    operations = read_history([path])
    assert len(operations) == 1500
    assert {each.outcome for each in operations} == {OK}
    assert len({each.process for each in operations}) == 3
    assert [each.start for each in operations] == sorted(each.start for each in operations)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", "is no line of a history"),
        ('{"process":"p","number":1,"event":"ok","at":1,"value":1}\n', "has an end and no beginning"),
        ('{"process":"p","number":1,"event":"invoke","at":1}\n' * 2, "has a second invoke"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "h").write_text(text)
    with pytest.raises(HistoryError, match=message):
        read_history([tmp_path / "h"])
