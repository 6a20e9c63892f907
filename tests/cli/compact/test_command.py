"""`coordinator compact`: without a daemon, beside a daemon, with --watch, and its errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.cli.compact import rounds as compact_rounds
from coordinator.cli.main import main
from coordinator.compaction import spark_compact
from coordinator.compaction.plan import jobs_dir
from coordinator.spark import spark_session
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.segment import segment_path
from tests.compaction.logs import (
    OFFSETS,
    PLAIN,
    START_MS,
    LogWriter,
    Rec,
    Segment,
    Write,
    replayed,
    seeded,
)
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

on_spark = [pytest.mark.integration, pytest.mark.spark]
MODES = [
    "single",
    pytest.param("partition", marks=on_spark),
    pytest.param("distributed", marks=on_spark),
    pytest.param("auto", marks=on_spark),
]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in os.environ:
        if name.startswith("COORDINATOR_"):
            monkeypatch.delenv(name)
    before = signal.getsignal(signal.SIGTERM)
    yield
    assert signal.getsignal(signal.SIGTERM) is before


def a_data_dir(path: Path, style: str = PLAIN, partitions: int = 2, ops: int = 200) -> Path:
    """Write logs with closed segments and an active one each."""
    for number in range(partitions):
        log = LogWriter().write(seeded(number, ops, style)).roll().write([Write((Rec(0), Rec(1)))])
        directory = path / f"__consumer_offsets-{number}"
        directory.mkdir(parents=True)
        for segment in log.segments:
            segment_path(directory, segment.base_offset).write_bytes(segment.data)
    return path


def on_disk(data_dir: Path) -> dict[int, list[Segment]]:
    found = {}
    for directory in sorted(data_dir.glob("__consumer_offsets-*")):
        paths = sorted(directory.glob("*.log"))
        found[int(directory.name.rpartition("-")[2])] = [Segment(int(path.stem), path.read_bytes()) for path in paths]
    return found


def size_of(data_dir: Path) -> int:
    return sum(segment.size_bytes for segments in on_disk(data_dir).values() for segment in segments)


def states(data_dir: Path) -> dict[int, Any]:
    return {number: replayed(segments) for number, segments in on_disk(data_dir).items()}


def compact(data_dir: Path, *words: str, mode: str = "single") -> int:
    return main(["compact", "--data-dir", str(data_dir), "--mode", mode, *words])


# --- without a daemon -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_compaction_without_a_daemon_shrinks_the_log_and_keeps_its_state(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    if mode != "single":
        request.getfixturevalue("spark")
    data_dir = a_data_dir(tmp_path / "data", OFFSETS)
    before, size = states(data_dir), size_of(data_dir)
    assert compact(data_dir, "--min-cleanable-dirty-ratio", "0", mode=mode) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(
        r"compacted 2 partitions: \d+ records in \d+ bytes became \d+ in \d+ "
        r"\(mode (single|partition|distributed): \d+ segments became \d+, \d+ keys, .* tombstones .*s\)\n",
        said,
    )
    assert states(data_dir) == before
    assert size_of(data_dir) < size

    assert compact(data_dir, mode=mode) == 0
    assert capsys.readouterr().out.startswith("nothing to compact: no closed segment is dirty")
    assert states(data_dir) == before


def test_json_has_the_facts_of_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    assert compact(data_dir, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["done"], facts["mode"]) == (True, "single")
    assert facts["totals"]["records_before"] > facts["totals"]["records_after"] > 0
    assert facts["totals"]["keys"] == facts["totals"]["records_after"]
    assert [each["partition"] for each in facts["partitions"]] == [0, 1]
    assert list(facts["seconds"]) == ["open", "plan", "clean", "hand-over"]
    assert facts["peak_rss_bytes"]["clean"] > 10_000_000


def test_tables_on_a_terminal_show_sizes_and_stages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert compact(a_data_dir(tmp_path / "data")) == 0
    said = capsys.readouterr().out
    for words in ("PARTITION", "SEGMENTS", "BYTES", "RECORDS", "KEYS", "TOMBSTONES", "STAGE", "SECONDS", "PEAK MEMORY"):
        assert words in said
    assert re.search(r"all +\d+ → 2 ", said)
    assert "cleaning partitions" in said


def test_dry_run_shows_due_partitions_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    before = sorted(data_dir.rglob("*"))
    assert compact(data_dir, "--dry-run", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["partition"], row["clean_bytes"], row["ratio"], row["is_due"]) for row in rows] == [
        (0, 0, 1.0, True),
        (1, 0, 1.0, True),
    ]
    closed = {number: segments[:-1] for number, segments in on_disk(data_dir).items()}
    assert [row["dirty_bytes"] for row in rows] == [sum(map(len_of, closed[number])) for number in (0, 1)]
    assert compact(data_dir, "--dry-run") == 0
    assert "2 of 2 partitions are due" in capsys.readouterr().err
    assert sorted(data_dir.rglob("*")) == before


def len_of(segment: Segment) -> int:
    return segment.size_bytes


@pytest.mark.parametrize(
    ("words", "due"),
    [
        pytest.param(["--min-cleanable-dirty-ratio", "1"], [], id="all of it dirty is not above a ratio of 1"),
        pytest.param(
            ["--min-cleanable-dirty-ratio", "1", "--override", "log.cleaner.max.compaction.lag.ms=1000"],
            [0, 1],
            id="old enough",
        ),
        pytest.param(["--override", f"log.cleaner.min.compaction.lag.ms={2**62}"], [], id="too young"),
        pytest.param(["--partition", "1"], [1], id="asked for"),
    ],
)
def test_dry_run_reports_what_the_next_round_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], due: list[int]
) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    assert compact(data_dir, "--dry-run", "--json", *words) == 0
    assert [row["partition"] for row in json.loads(capsys.readouterr().out) if row["is_due"]] == due
    assert compact(data_dir, "--json", *words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [each["partition"] for each in facts.get("partitions", ())] == due


@pytest.mark.parametrize("words", [("--dry-run",), ()])
def test_loss_of_the_past_is_announced_if_history_is_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    assert compact(data_dir, "--override", "history.enable=true", *words) == 0
    assert "history.enable" not in capsys.readouterr().err
    data_dir = a_data_dir(tmp_path / "another")
    assert compact(data_dir, *words) == 0
    assert (
        "history.enable is false: what this compaction removes is lost to `undo`, `restore`" in capsys.readouterr().err
    )
    if not words:
        assert compact(data_dir) == 0
        assert "history.enable" not in capsys.readouterr().err, "nothing was due"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--partition", "7", "--partition", "1"], "the offsets log has no partition 7; there are: 0, 1"),
        (["--dry-run", "--watch"], "--dry-run and --watch do not go together"),
        (["--plan", "x", "--watch"], "--plan and --watch do not go together"),
        (["--plan", "x", "--roll"], "--plan does the work of a plan that is made already; leave out --roll"),
        (["--master", "local[2]", "--driver-memory", "1g"], "without Spark; leave out --master and --driver-memory"),
    ],
)
def test_options_without_effect_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert compact(a_data_dir(tmp_path / "data"), *words) == 2
    assert sentence in said_of(capsys)


def test_active_segment_is_compacted_only_with_roll(tmp_path: Path) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    newest = {number: segments[-1] for number, segments in on_disk(data_dir).items()}
    assert compact(data_dir) == 0
    assert {number: segments[-1] for number, segments in on_disk(data_dir).items()} == newest
    assert compact(data_dir, "--roll", "--min-cleanable-dirty-ratio", "0") == 0
    for number, segments in on_disk(data_dir).items():
        assert segments[-1].base_offset == newest[number].next_offset
        assert segments[-1].data == b""


def test_only_selected_partitions_are_compacted(tmp_path: Path) -> None:
    data_dir = a_data_dir(tmp_path / "data", partitions=3)
    before = on_disk(data_dir)
    assert compact(data_dir, "--partition", "1") == 0
    after = on_disk(data_dir)
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert sum(map(len_of, after[1])) < sum(map(len_of, before[1]))


def test_tombstones_are_removed_after_their_retention(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    always = ("--json", "--min-cleanable-dirty-ratio", "0", "--roll", "--delete-retention-ms", "0")
    assert compact(data_dir, *always) == 0
    first = json.loads(capsys.readouterr().out)["totals"]
    assert first["tombstones_kept"] > 0
    for directory in data_dir.glob("__consumer_offsets-*"):  # new records, or nothing would be due
        log = LogWriter(next_offset=on_disk(data_dir)[int(directory.name[-1])][-1].next_offset, now_ms=START_MS)
        log.segments = [Segment(log.next_offset)]
        log.write([Write((Rec(0),))])
        segment_path(directory, log.active.base_offset).write_bytes(log.active.data)
        for name in ("index", "timeindex"):
            segment_path(directory, log.active.base_offset, f".{name}").unlink(missing_ok=True)
        (directory / "recovery-checkpoint").unlink()
    assert compact(data_dir, *always) == 0
    second = json.loads(capsys.readouterr().out)["totals"]
    assert second["tombstones_dropped"] == first["tombstones_kept"]


def test_closed_segments_are_extracted_before_compaction_if_history_is_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    assert compact(data_dir, "--override", "history.enable=true", "--roll", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["totals"]["bytes_before"] > facts["totals"]["bytes_after"]
    assert list((data_dir / "history").rglob("*.parquet"))


# --- errors -----------------------------------------------------------------------------------------------------------


def said_of(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    return next(line for line in lines if line.startswith("coordinator: "))


def test_missing_directory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compact(tmp_path / "nowhere") == 2
    assert said_of(capsys).endswith("nowhere; name it with --data-dir")


def test_a_second_compaction_of_one_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    (data_dir / "compaction").mkdir()
    held = RealFileSystem().lock(data_dir / "compaction" / compact_rounds.JOB_LOCK)
    before = on_disk(data_dir)
    assert compact(data_dir) == 2
    assert "another compaction of" in said_of(capsys)
    assert on_disk(data_dir) == before
    held.close()
    assert compact(data_dir) == 0


def test_a_small_log_is_compacted_without_a_spark_that_would_have_to_be_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "is_running", lambda: False)
    monkeypatch.setattr(spark_session, "java_version", lambda: None)
    assert compact(a_data_dir(tmp_path / "small"), mode="auto") == 0
    assert "compacted without Spark, whose start takes longer" in capsys.readouterr().err
    for words in (["--master", "local[1]"], ["--driver-memory", "1g"], ["--conf", "spark.ui.enabled=false"]):
        assert compact(a_data_dir(tmp_path / words[0]), *words, mode="auto") == 2, "Spark was asked for"
    monkeypatch.setattr(spark_compact, "SINGLE_MODE_BYTES", 1000)
    assert compact(a_data_dir(tmp_path / "large"), mode="auto") == 2
    assert "Spark needs Java" in said_of(capsys)


def test_without_java_one_sentence_says_what_to_install_and_what_works_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "java_version", lambda: None)
    data_dir = a_data_dir(tmp_path / "data")
    before = on_disk(data_dir)
    assert compact(data_dir, mode="partition") == 2
    sentence = said_of(capsys)
    assert "Spark needs Java 17 or later and none was found; install it" in sentence
    assert sentence.endswith("or compact without Spark: --mode single")
    assert on_disk(data_dir) == before
    assert compact(data_dir) == 0  # no leftover prevents the next run


def damage_pins(monkeypatch: pytest.MonkeyPatch, partition: int) -> None:
    """Damage the first input of this partition in each job, but not the live file."""
    run_job = spark_compact.run_job

    def with_damage(job: Any, **given: Any) -> Any:
        for path in sorted(job.in_dir(partition).glob("*"))[:1]:
            data = bytearray(path.read_bytes())
            data[70] ^= 1
            path.unlink()  # the hard link of the job, not the live file
            path.write_bytes(data)
        return run_job(job, **given)

    monkeypatch.setattr(spark_compact, "run_job", with_damage)


def test_a_damaged_partition_is_named_and_the_others_are_compacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    before = on_disk(data_dir)
    damage_pins(monkeypatch, 1)
    assert compact(data_dir) == 1
    said = capsys.readouterr().out
    assert said.startswith("compacted 1 partition: ")
    assert "partition 1 was left as it is: partition 1: " in said
    assert on_disk(data_dir)[1] == before[1]
    assert on_disk(data_dir)[0] != before[0]


@pytest.mark.parametrize("entry", ["executor.memory=4g", "spark.executor.memory"])
def test_a_setting_of_spark_must_look_like_one(tmp_path: Path, entry: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compact(a_data_dir(tmp_path / "data"), "--conf", entry) == 2
    assert "is no setting of Spark; write --conf spark.executor.memory=4g" in said_of(capsys)


@pytest.mark.parametrize("words", [["--min-cleanable-dirty-ratio", "2"], ["--mode", "magic"], ["--watch", "0"]])
def test_wrong_option_value_ends_with_exit_code_2(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        compact(a_data_dir(tmp_path / "data"), *words)
    assert ended.value.code == 2


def test_sigterm_during_a_job_leaves_no_partial_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    before = on_disk(data_dir)
    clean = spark_compact.spark_tasks.compact

    def interrupted(*given: Any) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return clean(*given)

    with monkeypatch.context() as patch:
        patch.setattr(spark_compact.spark_tasks, "compact", interrupted)
        assert compact(data_dir) == 128 + signal.SIGTERM
        assert compact(data_dir, "--watch") == 0
    assert on_disk(data_dir) == before
    assert not list(jobs_dir(data_dir).glob("*/manifest.json"))
    assert compact(data_dir) == 0
    assert size_of(data_dir) < sum(len_of(segment) for segments in before.values() for segment in segments)


@pytest.mark.integration
@pytest.mark.spark
def test_rounds_share_one_session_that_starts_with_the_first_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[SparkSession] = []

    def counted(settings: Any) -> SparkSession:
        opened.append(spark)
        return spark

    monkeypatch.setattr(spark_session, "open_session", counted)
    data_dir = a_data_dir(tmp_path / "data")
    asked = compact_rounds.Asked(data_dir, compact_rounds.Config(), ratio=0.0, roll=True)
    with compact_rounds.Rounds(asked, Silent()) as rounds:
        (first,) = rounds.once()
        (second,) = rounds.once()
    assert (first.plan is not None, second.plan is not None) == (True, False)
    with compact_rounds.Rounds(asked, Silent()) as rounds:
        (third,) = rounds.once()
    assert third.plan is None
    assert len(opened) == 1


class Silent:
    def stage(self, name: str, tasks: int) -> None: ...

    def advance(self) -> None: ...

    def follow(self, spark: SparkSession | None) -> None: ...

    def say(self, sentence: str) -> None: ...

    def end(self) -> None: ...


SMALL_PLANS = "compaction.plan.max.bytes=2000"


def test_a_large_log_is_compacted_in_several_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir, whole = a_data_dir(tmp_path / "data", OFFSETS), a_data_dir(tmp_path / "whole", OFFSETS)
    before = states(data_dir)
    assert compact(data_dir, "--min-cleanable-dirty-ratio", "0", "--override", SMALL_PLANS, "--json") == 0
    said = capsys.readouterr()
    rounds = [json.loads(line) for line in said.out.splitlines()]
    assert len(rounds) > 3
    assert all(each["done"] for each in rounds)
    assert "bytes are left for the next plan" in said.err
    assert states(data_dir) == before
    assert compact(whole, "--min-cleanable-dirty-ratio", "0", "--json") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert compact(data_dir, "--min-cleanable-dirty-ratio", "0") == 0
    assert "no closed segment is dirty" in capsys.readouterr().out, "the last round left nothing"


def test_damaged_partition_does_not_exclude_others_from_later_plans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = a_data_dir(tmp_path / "data")
    before = on_disk(data_dir)
    damage_pins(monkeypatch, 0)
    assert compact(data_dir, "--min-cleanable-dirty-ratio", "0", "--override", SMALL_PLANS, "--json") == 1
    rounds = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["partition"] for round_ in rounds for each in round_["partitions"] if each["error"]} == {0}
    after = on_disk(data_dir)
    assert after[0] == before[0]
    assert after[1] != before[1]


# --- beside a daemon --------------------------------------------------------------------------------------------------


def commit_some(daemon: Daemon, rounds: int = 60) -> dict[tuple[str, int], int]:
    wanted = {}
    for number in range(rounds):
        wanted = {("orders", partition): number * 10 + partition for partition in range(4)}
        commit_offsets(daemon.port, "billing", wanted)
    return wanted


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["single", pytest.param("auto", marks=pytest.mark.spark)])
def test_daemon_plans_and_swaps_the_segments_that_the_command_cleans(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    if mode != "single":
        request.getfixturevalue("spark")
    with Daemon(tmp_path, topics=["orders:4"]) as daemon:
        wanted = commit_some(daemon)
        size = size_of(daemon.data_dir)
        assert compact(daemon.data_dir, "--roll", "--json", mode=mode) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["done"]
        assert facts["totals"]["records_before"] == 240
        assert facts["totals"]["records_after"] == 4
        assert size_of(daemon.data_dir) < size
        assert committed_offsets(daemon.port, "billing") == wanted

        assert compact(daemon.data_dir, mode=mode) == 0
        assert "nothing to compact" in capsys.readouterr().out
        assert compact(daemon.data_dir, "--override", "log.cleaner.delete.retention.ms=0", mode=mode) == 2
        assert "a daemon serves this directory and has settings of its own" in said_of(capsys)
        daemon.stop()
        daemon.start()
        assert committed_offsets(daemon.port, "billing") == wanted


@pytest.mark.integration
def test_beside_a_daemon_a_large_log_is_compacted_in_several_plans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = ["offsets.topic.segment.bytes=4096", "compaction.plan.max.bytes=8192"]
    with Daemon(tmp_path, topics=["orders:4"], overrides=overrides) as daemon:
        wanted = commit_some(daemon, 120)
        assert compact(daemon.data_dir, "--min-cleanable-dirty-ratio", "0", "--json") == 0
        rounds = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(rounds) > 2
        assert all(each["done"] for each in rounds)
        assert committed_offsets(daemon.port, "billing") == wanted
        daemon.restart()
        assert committed_offsets(daemon.port, "billing") == wanted


@pytest.mark.integration
@pytest.mark.parametrize(("lag_ms", "is_due"), [(0, True), (3_600_000, False)])
def test_dry_run_beside_a_daemon_uses_its_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lag_ms: int, is_due: bool
) -> None:
    overrides = [f"log.cleaner.min.compaction.lag.ms={lag_ms}", "offsets.topic.segment.bytes=4096"]
    with Daemon(tmp_path, topics=["orders:4"], overrides=overrides) as daemon:
        commit_some(daemon)
        assert compact(daemon.data_dir, "--dry-run", "--json") == 0
        assert any(row["is_due"] for row in json.loads(capsys.readouterr().out)) == is_due
        assert compact(daemon.data_dir, "--dry-run", "--override", "log.cleaner.min.compaction.lag.ms=1") == 2
        assert "a daemon serves this directory and has settings of its own" in said_of(capsys)


@pytest.mark.integration
def test_watch_runs_the_jobs_of_the_daemon_until_it_is_stopped(tmp_path: Path) -> None:
    overrides = ["compaction.interval.ms=300", "log.cleaner.min.cleanable.ratio=0", "offsets.topic.segment.bytes=16384"]
    with Daemon(tmp_path, topics=["orders:4"], overrides=overrides) as daemon:
        with watching(daemon.data_dir, "--mode", "single", "--json") as (process, lines):
            for number in (1, 2):
                wanted = commit_some(daemon, 120)
                eventually(
                    lambda number=number: len(done(lines)) >= number or process.poll() is not None,  # type: ignore[misc]
                    f"round {number}: {lines()}",
                    within_s=60,
                )
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        assert len(done(lines)) >= 2
        assert committed_offsets(daemon.port, "billing") == wanted


def done(lines: Any) -> list[dict[str, Any]]:
    rounds = [json.loads(line) for line in lines() if line.startswith("{") and line.endswith("}")]
    return [each for each in rounds if each["plan"] and each["done"]]


class watching:  # noqa: N801 - reads as a phrase
    """Runs `coordinator compact --watch` as a process; yields it and a function that reads its output."""

    def __init__(self, data_dir: Path, *words: str) -> None:
        self._output = data_dir.parent / "watch.out"
        command = [sys.executable, "-m", "coordinator", "compact", "--data-dir", str(data_dir), "--watch", *words]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=REPOSITORY)

    def lines(self) -> Sequence[str]:
        return self._output.read_text().splitlines()

    def __enter__(self) -> tuple[subprocess.Popen[bytes], Any]:
        return self._process, self.lines

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
