"""`coordinator log verify` and `log repair`: their output, their exit codes, and calls that are wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.storage.log.fs import RealFileSystem
from tests.conformance.exchange import KEPT_LOG

PARTITION = "__consumer_offsets-0"
SEGMENT = f"{0:020d}.log"


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """A copy of the directory of a Kafka."""
    return Path(shutil.copytree(KEPT_LOG, tmp_path / "kafka"))


def damage(data_dir: Path, position: int = 250) -> None:
    path = data_dir / PARTITION / SEGMENT
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_sound_log_is_one_line_with_its_numbers(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(kafka)
    assert main(["log", "verify", str(kafka)]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        f"{kafka / PARTITION}: good; 1 segments, 20 batches, 22 records, 5 groups, 8 offsets; offsets 0 to 22\n"
    )
    assert printed.err == ""
    assert files(kafka) == before


def test_a_partitions_directory_is_accepted_as_well(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "verify", str(kafka / PARTITION)]) == 0
    assert capsys.readouterr().out.startswith(f"{kafka / PARTITION}: good; ")


def test_a_finding_is_a_line_with_place_consequence_and_advice(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(kafka)
    assert main(["log", "verify", str(kafka)]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert ": 1 findings; " in first
    assert second.startswith(f"  {SEGMENT} at byte ")
    assert "checksum does not match. At a start: the daemon does not start, or cuts" in second
    assert second.endswith(
        "To do: stop the daemon and run `coordinator log repair`, or restore the directory from a backup."
    )


def test_json_has_an_object_for_each_partition(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(kafka)
    assert main(["log", "verify", "--json", str(kafka)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    facts = json.loads(line)
    assert (facts["segments"], facts["batches"], facts["start_offset"], facts["end_offset"]) == (1, 19, 0, 22)
    (finding,) = facts["findings"]
    assert (finding["file"], finding["mend"]) == (SEGMENT, "CutBytes")
    assert finding["what"].endswith("checksum does not match")


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("leader-epoch-checkpoint", b"no", "it cannot be read"),
        ("leader-epoch-checkpoint", b"0\n2\n1 0\n0 5\n", "it is not a list of leader epochs in order"),
        ("leader-epoch-checkpoint", b"0\n1\n3 99\n", "its epoch 3 begins at offset 99, and the log ends at 22"),
        (f"{22:020d}.snapshot", b"\0\1\0\0\0\0rest", "its checksum does not match"),
        (f"{23:020d}.snapshot", b"", "it is of offset 23, and the log ends at 22"),
    ],
)
def test_files_of_kafka_are_checked_and_set_aside(
    kafka: Path, name: str, content: bytes, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (kafka / PARTITION / name).write_bytes(content)
    assert main(["log", "verify", str(kafka)]) == 1
    assert f"  {name}: {found}. At a start: nothing" in capsys.readouterr().out
    assert main(["log", "repair", str(kafka), "--execute"]) == 0
    assert (kafka / PARTITION / f"{name}.set-aside").read_bytes() == content
    assert main(["log", "verify", str(kafka)]) == 0


@pytest.mark.parametrize("name", ["cleaner-offset-checkpoint", "recovery-point-offset-checkpoint"])
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\xff", "it cannot be read"),
        (b"0\n2\n__consumer_offsets 0 5\n", "its lines are not as many as it says"),
        (b"0\n1\n__consumer_offsets 0 23\n", "it says 23 for __consumer_offsets-0, and the log ends at 22"),
    ],
)
def test_checkpoints_of_a_data_directory_are_checked_and_set_aside(
    kafka: Path, name: str, content: bytes, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (kafka / name).write_bytes(content)
    assert main(["log", "verify", str(kafka)]) == 1
    assert f"{name}: {found}" in capsys.readouterr().out
    assert main(["log", "repair", str(kafka)]) == 1
    assert f"would rename {name}" in capsys.readouterr().out
    assert main(["log", "repair", str(kafka), "--execute"]) == 0
    assert main(["log", "verify", str(kafka)]) == 0


def test_repair_tells_and_changes_nothing_without_execute(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(kafka)
    before = files(kafka)
    assert main(["log", "repair", str(kafka)]) == 1
    out = capsys.readouterr().out
    assert f"{kafka / PARTITION}: would take out of {SEGMENT}, at byte " in out
    assert "nothing was changed; --execute carries it out" in out
    assert {name: data for name, data in files(kafka).items() if name != ".lock"} == before


def test_repair_keeps_what_it_takes_out(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(kafka)
    before = (kafka / PARTITION / SEGMENT).read_bytes()
    assert main(["log", "repair", str(kafka), "--execute"]) == 0
    (kept,) = (kafka / PARTITION).glob("*.cut")
    assert kept.read_bytes() in before
    assert f"kept {kept.name}" in capsys.readouterr().out
    after = (kafka / PARTITION / SEGMENT).read_bytes()
    assert sorted(after + kept.read_bytes()) == sorted(before)


def test_repair_of_a_sound_log_does_nothing(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "repair", str(kafka), "--execute"]) == 0
    assert capsys.readouterr().out == f"{kafka / PARTITION}: good, 22 records\n"


def test_repair_is_refused_while_a_daemon_holds_the_lock(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = RealFileSystem().lock(kafka / ".lock")
    try:
        for words in ([], ["--execute"]):
            assert main(["log", "repair", str(kafka), *words]) == 2
            assert "a daemon serves" in capsys.readouterr().err
    finally:
        lock.close()


def test_the_end_of_the_newest_segment_is_not_judged_beside_a_daemon(kafka: Path) -> None:
    path = kafka / PARTITION / SEGMENT
    path.write_bytes(path.read_bytes() + b"half a batch")
    assert main(["log", "verify", str(kafka)]) == 1
    lock = RealFileSystem().lock(kafka / ".lock")
    assert main(["log", "verify", str(kafka)]) == 0
    lock.close()


def test_the_directories_of_workers_are_checked(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = kafka / "workers" / "1"
    shutil.copytree(KEPT_LOG, worker)
    damage(worker)
    assert main(["log", "verify", str(kafka)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{kafka / PARTITION}: good; ")
    assert lines[1].startswith(f"{worker / PARTITION}: 1 findings; ")


@pytest.mark.parametrize("verb", ["verify", "repair"])
def test_a_path_without_logs_is_a_wrong_call(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        assert main(["log", verb, str(path)]) == 2
        assert "give a data directory or a partition's directory" in capsys.readouterr().err
