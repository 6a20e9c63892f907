"""Commits by transactions of real producers: the history with DuckDB, with Spark and of an observer agree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from coordinator.columnar.batches import read_batches
from coordinator.history import spark_views
from coordinator.history.commits import Cut, standing
from coordinator.history.duckdb_views import DuckdbViews, ask_all_groups
from coordinator.history.extract import extract
from coordinator.history.questions import Selection
from coordinator.history.segments import segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.observe.decode import Decoder, PartitionBatches
from coordinator.storage.file_names import offsets_log_dir
from tests.observe.world import RememberingState
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.simple_group import commit
from tests.support.transactional import LIMIT_S, committed, transactional_producer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]

GROUP = "movers"
OVERRIDES = ("offsets.topic.num.partitions=1", "offsets.topic.segment.bytes=400")
EXPECTED = [
    (1, None, None),
    (5, 4, "committed"),
    (9, None, "aborted"),
    (6, 1, "committed"),
    (11, None, "aborted"),  # by its timeout
    (7, 1, None),
    (20, None, "open"),
]


def send(producer: Producer, consumer: Consumer, offset: int) -> None:
    producer.begin_transaction()
    producer.send_offsets_to_transaction(
        [TopicPartition("orders", 0, offset)], consumer.consumer_group_metadata(), LIMIT_S
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HistorySource]:
    with Daemon(tmp_path_factory.mktemp("daemon"), overrides=OVERRIDES, topics=["orders:1"]) as daemon:
        consumer = Consumer({"bootstrap.servers": daemon.address, "group.id": GROUP, "log_level": 0})
        commit(daemon.port, GROUP, 1)
        producer = transactional_producer(daemon.address, "mover")
        for offset, is_committed in ((5, True), (9, False), (6, True)):
            send(producer, consumer, offset)
            (producer.commit_transaction if is_committed else producer.abort_transaction)(LIMIT_S)
        short = {"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000}
        late = transactional_producer(daemon.address, "late", **short)
        send(late, consumer, 11)
        # A reader that waits for stable offsets is answered when the timeout has aborted the transaction.
        eventually(lambda: committed(daemon.address, GROUP, "orders") == 6, "the timeout aborts the transaction")
        commit(daemon.port, GROUP, 7)
        # It stays open for as long as all questions take on a slow machine.
        pending = transactional_producer(daemon.address, "pending", **{"transaction.timeout.ms": 900_000})
        send(pending, consumer, 20)
        yield HistorySource.of(daemon.data_dir)
        del late, pending
        consumer.close()


def outcomes(source: HistorySource) -> list[tuple[int | None, int | None, str | None]]:
    ask = DuckdbViews.of_group(load_group(source, GROUP)).ask
    rows = ask("listed", {**Selection().parameters(), "group": GROUP, "limit": 100})[::-1]
    assert all((row["producer_id"] is None) == (row["transaction"] is None) for row in rows)
    return [(row["offset"], row["change"], row["transaction"]) for row in rows]


def agree(source: HistorySource, spark: SparkSession) -> None:
    """Compare the questions about all groups with what is known of the one."""
    newest_ms = int(load_group(source, GROUP).commits.timestamp_ms.max())
    parameters = {**Selection().parameters(3_600_000), "for_ms": 0, "now_ms": newest_ms + 1, "limit": 10}
    for ask in (ask_all_groups, partial(spark_views.ask_all_groups, spark)):
        (counts,) = ask([source], "commit_counts", parameters)
        assert (counts["group"], counts["commits"], counts["partitions"]) == (GROUP, 4, 1)
        (moved,) = ask([source], "rates", parameters)
        assert (moved["commits"], moved["progress"]) == (4, 6)
        (stands,) = ask([source], "stalled", parameters)
        assert (stands["topic"], stands["offset"]) == ("orders", 7)


def test_each_outcome_is_told_in_either_way_also_across_an_extraction(told: HistorySource, spark: SparkSession) -> None:
    assert outcomes(told) == EXPECTED
    agree(told, spark)
    assert len(segment_bases(offsets_log_dir(told.data_dir, 0))) > 2
    assert extract(told)
    assert outcomes(told) == EXPECTED
    agree(told, spark)


def test_a_commit_counts_from_its_marker_on(told: HistorySource) -> None:
    commits = load_group(told, GROUP).commits
    first = commits.offset.tolist().index(5)
    marker, key = int(commits.counts_from[first]), ("orders", 0)
    assert marker > commits.log_offset[first]
    assert standing(commits, Cut(before_offset=marker))[key].offset == 1
    assert standing(commits, Cut(before_offset=marker + 1))[key].offset == 5
    assert standing(commits, Cut())[key].offset == 7


def test_an_observer_of_the_same_log_has_the_same_offset(told: HistorySource) -> None:
    directory = offsets_log_dir(told.data_dir, 0)
    state, decoder = RememberingState(), Decoder()
    seen = []
    for base in segment_bases(directory):
        data = (directory / f"{base:020}.log").read_bytes()
        batches = read_batches(data, path="test")[0]
        for number in range(len(batches)):
            found = decoder.decode([PartitionBatches(0, data, batches[number : number + 1])])
            state.commits(found.groups, found.topics, found.partitions, found.offsets, found.at_ms)
            seen.append(state.offsets.get((GROUP, "orders", 0)))
    assert list(dict.fromkeys(each for each in seen if each is not None)) == [1, 5, 6, 7]
    assert len(decoder.transactions) == 1
