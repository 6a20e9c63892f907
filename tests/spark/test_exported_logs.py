"""History, restore, questions about all groups and compaction answer from an exported log as from the original files.

The original is a log in files. One PostgreSQL gets all of it from `log import` and gives it back to `log export`. In
another one the log goes on after the import, and a node deletes batches that the snapshot of the import covers.

Of the time before that snapshot such an export cannot tell everything: commits are missing, and a partition has no
offset at moments before its oldest commit that is left. `restore` warns of these moments.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from coordinator.cli.log.export import export
from coordinator.cli.log.import_log import import_logs
from coordinator.cli.main import main
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.engine.file_store import FileLogStore
from coordinator.engine.log_copy import Unbroken, copy_partition
from coordinator.history.commits import Cut, Standing, TopicPartition, standing
from coordinator.history.questions import Answer, Selection
from coordinator.history.rebalances import changes
from coordinator.history.resets import last_reset
from coordinator.history.source import HistorySource
from coordinator.history.spark_extract import extract_with_spark
from coordinator.history.spark_views import ask_all_groups
from coordinator.history.tables import load_group
from coordinator.history.times import local_time
from coordinator.membership.directory import Engine
from coordinator.spark.spark_source import register
from tests.cli.compact.test_command import compact, states
from tests.compaction.logs import Segment
from tests.engine.postgres.database import Database
from tests.history.stories import Story
from tests.history.worlds import GROUPS, data_dir, records_of
from tests.support.nodes import free_ports
from tests.support.postgres import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]

QUIET = "quiet"  # a group that does nothing any more when the first segment is full
KEYS = [f"{topic}_{partition}" for topic in "tu" for partition in range(4)]
SEGMENT_BYTES = 10_000  # of exported files: several segments
MANY = 1000
EVER = Selection(since_ms=0)


def a_log() -> list[Segment]:
    """Return the log of groups that commit, delete, rebalance and are reset at random, and once more in the end."""
    chance = random.Random(16)
    story = Story(QUIET).members("a")
    for number in range(240):
        story.group = chance.choice(GROUPS)
        offsets = dict.fromkeys(chance.sample(KEYS, chance.randint(1, 3)), chance.choice((number, number // 40)))
        kind = chance.choices(("commit", "transaction", "end", "delete", "members", "empty"), (12, 2, 2, 1, 2, 1))[0]
        match kind:
            case "commit":
                story.commit(-1, f"note {number}", **offsets)
            case "transaction":
                story.commit(number % 2, "", **offsets)
            case "end":
                story.end_transaction(number % 2, commit=chance.random() < 0.7)
            case "delete":
                story.commit(-1, "", **dict.fromkeys(offsets))
            case "members":
                story.members(*chance.sample("abcd", chance.randint(1, 3)))
            case _:
                story.empty()
        story.wait(chance.choice((0, 0, 1, 30)))
        if number % 60 == 59:
            story.roll()
        if number == 30:
            story.group = QUIET
            story.commit(t_0=1, t_1=2).commit(producer_id=3, u_0=3).end_transaction(3, commit=True)
    for story.group in GROUPS:
        story.members("a").commit(t_0=900, u_0=901).empty().wait(60).commit(t_0=5, u_0=6)
    return story.end_transaction(0, commit=True).end_transaction(1, commit=True).segments()


# -- the logs ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> HistorySource:
    """The log in files."""
    return data_dir(tmp_path_factory.mktemp("files") / "original", a_log())


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer.new()
    yield server
    server.close()


@pytest.fixture(scope="module")
def exported(
    original: HistorySource, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> HistorySource:
    """The log that went through a database."""
    return asyncio.run(_through_a_database(server, tmp_path_factory.mktemp("exported"), original))


class Trimmed(NamedTuple):
    """A log that went on in a database, where its old batches were deleted."""

    source: HistorySource
    left_ms: int  # time of the first batch that is left
    since_ms: int  # time of the record right behind the snapshot


@pytest.fixture(scope="module")
def trimmed(original: HistorySource, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Trimmed:
    """The log whose first half was imported, with a snapshot; batches of the first quarter are deleted."""
    directory = tmp_path_factory.mktemp("trimmed")
    segments = a_log()
    half, quarter = len(segments) // 2, len(segments) // 4
    snapshot, deleted = segments[half].base_offset, segments[quarter].base_offset + 5

    async def serve(database: Database) -> None:
        node = await database.node()
        claim = await node.store.claim(0, (await node.map()).owners[0].epoch)
        files = FileLogStore(original.data_dir)
        await copy_partition(files, node.store, claim, Unbroken(snapshot, 0))
        await files.close()
        assert await node.store.trim(claim, deleted) > 0

    early = data_dir(directory / "early", segments[:half])
    source = asyncio.run(_through_a_database(server, directory, early, serve))
    times = {record.offset: record.timestamp_ms for _, record in records_of(segments)}
    return Trimmed(source, times[deleted], times[snapshot])


async def _through_a_database(
    server: PostgresServer, directory: Path, source: HistorySource, serve: Any = None
) -> HistorySource:
    """Import a log, let a node serve it, and export it."""
    database = Database(server, directory)
    config = database.config(node_id=9, offsets_topic_segment_bytes=SEGMENT_BYTES)
    try:
        opened = await database.unannounced(config, config.node_id)
        engine = Engine(opened.store, opened.directory, opened.documents)
        await import_logs(engine, config, {source.data_dir: [(OFFSETS_TOPIC, 0)]})
        if serve is not None:
            await serve(database)
        await export(engine, config, directory / "copy")
    finally:
        await database.close()
    return HistorySource.of(directory / "copy")


# -- the questions -----------------------------------------------------------------------------------------------------


QUESTIONS = ("commit_counts", "stalled", "rates", "rebalance_counts")  # the last two need to know what was before


def answers(
    source: HistorySource, spark: SparkSession, selection: Selection, names: Sequence[str] = QUESTIONS
) -> list[Answer]:
    """Return what Spark answers to the questions of `coordinator history ... --all-groups`."""
    parameters = {**selection.parameters(60_000), "for_ms": 60_000, "now_ms": max(moments()), "limit": MANY}
    return [ask_all_groups(spark, [source], name, parameters) for name in names]


def of_each_group(source: HistorySource) -> list[Any]:
    """Return the commits, rebalances and last reset of each group, and whether something is missing."""
    pasts = [load_group(source, group) for group in GROUPS]
    return [
        (
            [past.commits.of(row) for row in range(len(past.commits))],
            changes(past.records),
            last_reset(past.commits, past.records, past.compacted_to),
            past.whole_since_ms,
        )
        for past in pasts
    ]


def moments() -> list[int]:
    """Return the times of all records of the original."""
    return sorted({record.timestamp_ms for _, record in records_of(a_log())})


def offsets_at(source: HistorySource, times: list[int]) -> list[list[dict[TopicPartition, Standing]]]:
    """Return the offsets of each group by the records up to each time."""
    pasts = [load_group(source, group) for group in (*GROUPS, QUIET)]
    return [[standing(past.commits, Cut(until_ms=each)) for each in times] for past in pasts]


def restored(source: HistorySource, group: str, moment_ms: int, directory: Path) -> str:
    """Return the plan that `coordinator restore` writes while no broker answers."""
    plan = directory / f"{group}.csv"
    at = ("--at", local_time(moment_ms), "--data-dir", str(source.data_dir))
    to = ("--export", str(plan), "--bootstrap-server", f"127.0.0.1:{free_ports(1)[0]}", "--timeout", "0.1")
    assert main(["restore", group, *at, *to]) == 0
    return plan.read_text()


# -- the answers -------------------------------------------------------------------------------------------------------


def test_a_log_that_went_through_a_database_gives_all_answers_of_its_files(
    original: HistorySource, exported: HistorySource, spark: SparkSession, tmp_path: Path
) -> None:
    register(spark)
    logs = [spark.read.format("kafka-log").load(str(source.data_dir)) for source in (original, exported)]
    rows = logs[0].union(logs[1]).toArrow().sort_by("log_offset").to_pylist()
    assert len(rows) > 800
    assert rows[::2] == rows[1::2], "each record once in either log"

    expected = of_each_group(original)
    assert all(reset is not None for _, _, reset, _ in expected)
    assert of_each_group(exported) == expected
    assert len(extract_with_spark(exported, spark)) > 3
    assert of_each_group(exported) == expected

    right = answers(original, spark, EVER)
    assert all(right)
    assert answers(exported, spark, EVER) == right

    middle_ms = moments()[len(moments()) // 2]
    for group in GROUPS:
        plan = restored(original, group, middle_ms, tmp_path)
        assert plan.count("\n") > 3
        assert restored(exported, group, middle_ms, tmp_path) == plan


@pytest.mark.parametrize("is_extracted", [False, True])
def test_where_batches_were_deleted_the_answers_since_the_snapshot_are_those_of_the_files(
    original: HistorySource,
    trimmed: Trimmed,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    is_extracted: bool,
) -> None:
    source, _, since_ms = trimmed
    if is_extracted:
        assert len(extract_with_spark(source, spark)) > 3
    assert {load_group(source, group).whole_since_ms for group in GROUPS} == {since_ms}
    since = [each for each in moments() if each >= since_ms]
    assert len(since) > 50
    assert offsets_at(source, since) == offsets_at(original, since)
    for told, right in zip(of_each_group(source), of_each_group(original), strict=True):
        assert told[2] == right[2] is not None, "the last reset"
        assert len(told[0]) < len(right[0]), "commits before the snapshot are missing"

    for group in GROUPS:
        assert restored(source, group, since_ms, tmp_path) == restored(original, group, since_ms, tmp_path)
        assert "compacted" not in capsys.readouterr().err
        restored(source, group, since_ms - 1, tmp_path)
        assert "others may be missing" in capsys.readouterr().err

    if is_extracted:
        answered = answers(original, spark, Selection(since_ms=since_ms), QUESTIONS[2:])
        assert all(answered)
        assert answers(source, spark, Selection(since_ms=since_ms), QUESTIONS[2:]) == answered


def test_moments_between_the_deleted_batches_and_the_snapshot_cannot_be_told_any_more(
    original: HistorySource, trimmed: Trimmed
) -> None:
    """A deleted batch held an offset that a later one has replaced, so the snapshot has the newer one only."""
    between = [each for each in moments() if trimmed.left_ms <= each < trimmed.since_ms]
    assert offsets_at(trimmed.source, between) != offsets_at(original, between)


@pytest.mark.parametrize("mode", ["partition", "distributed"])
def test_compaction_on_spark_leaves_the_state_of_the_files(
    original: HistorySource, exported: HistorySource, trimmed: Trimmed, spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    left = []
    for number, source in enumerate((original, exported, trimmed.source)):
        copy = Path(shutil.copytree(source.data_dir, tmp_path / str(number)))
        before = states(copy)
        assert compact(copy, "--roll", "--min-cleanable-dirty-ratio", "0", mode=mode) == 0
        assert states(copy) == before
        left.append(before)
    assert left[0] == left[1] == left[2]
    assert left[0][0][0], "a state"
