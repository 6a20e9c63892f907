"""The queue in front of the topic of events is bounded, and what it holds is written in few batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.config.config import Config
from coordinator.core.events.model import Incident, IncidentKind
from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.core.topics.partition import Partition
from coordinator.server.event_topic import BATCH_BYTES, BATCH_EVENTS
from coordinator.server.line_limit import LineLimit
from protocol.record_batch import BatchHeader
from tests.support.edge import Edge

MAX_QUEUED = Config().group_events_max_queued


def event(group: str = "g", number: int = 0, reason: str = "") -> Incident:
    return Incident(group=group, at_ms=1_700_000_000_000 + number, what=IncidentKind.FENCED, reason=reason)


@pytest.fixture
def edge(tmp_path: Path) -> Edge:
    return Edge({}, log_dirs=str(tmp_path))


def create(edge: Edge) -> Partition:
    """Give the node the topic, with one partition."""
    topic_logs = edge.runtime.topic_logs
    topic = topic_logs.topics.catalogue.make(EVENTS_TOPIC, b"e" * 16, 1, {})
    topic_logs.topics.catalogue.add(topic)
    [partition] = topic.partitions
    topic_logs._open(partition, None)
    return partition


def settle(edge: Edge) -> list[BatchHeader]:
    """Run the loop and the writer thread until both are idle; return the batches in the log."""
    edge.loop.run_ready()
    topic_logs = edge.runtime.topic_logs
    while topic_logs.flusher._worker.run():  # type: ignore[attr-defined]
        edge.loop.run_ready()
    [partition] = topic_logs.topics.catalogue.topics[EVENTS_TOPIC].partitions
    log = topic_logs.log(partition)
    return [] if log is None else [header for header, _ in log.batches()]


def test_events_wait_for_the_topic_and_those_beyond_the_bound_are_counted(edge: Edge) -> None:
    topic = edge.runtime.event_topic
    for number in range(MAX_QUEUED + 7):
        edge.runtime.on_event(event(number=number))
    edge.loop.run_ready()
    assert (topic.appended, topic.dropped) == (0, 7)
    create(edge)
    edge.runtime.on_event(event(number=MAX_QUEUED))
    assert topic.dropped == 8, "the queue is still full"
    edge.runtime.event_topic._schedule()
    batches = settle(edge)
    assert (topic.appended, topic.dropped) == (MAX_QUEUED, 8)
    assert [header.record_count for header in batches] == [BATCH_EVENTS] * (MAX_QUEUED // BATCH_EVENTS)
    assert batches[0].base_timestamp == event().at_ms
    assert batches[-1].max_timestamp == event(number=MAX_QUEUED - 1).at_ms


def test_events_that_come_while_a_batch_is_written_share_the_next_one(edge: Edge) -> None:
    create(edge)
    edge.runtime.on_event(event())
    edge.loop.run_ready()
    for number in range(5):
        edge.runtime.on_event(event(number=number))
        edge.loop.run_ready()
    assert [header.record_count for header in settle(edge)] == [1, 5]


def test_a_batch_is_bounded_in_bytes(edge: Edge) -> None:
    create(edge)
    for number in range(10):
        edge.runtime.on_event(event(number=number, reason="x" * (BATCH_BYTES // 4)))
    batches = settle(edge)
    assert [header.record_count for header in batches] == [3, 3, 3, 1]
    assert max(header.size_bytes for header in batches) <= BATCH_BYTES


def test_an_event_that_is_too_large_for_the_topic_is_dropped_alone(edge: Edge) -> None:
    create(edge)
    for reason in ("a", "x" * (1 << 21), "b"):
        edge.runtime.on_event(event(reason=reason))
    assert sum(header.record_count for header in settle(edge)) == 2
    topic = edge.runtime.event_topic
    assert (topic.appended, topic.dropped) == (2, 1)


def test_an_offline_partition_costs_a_few_lines_and_writing_goes_on_by_itself(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    partition = create(edge)
    partition.is_offline = True
    with caplog.filtering(LineLimit(lambda: 0.0)):
        for _ in range(100):
            edge.runtime.on_event(event())
            edge.loop.run_ready()
    topic = edge.runtime.event_topic
    assert (topic.appended, topic.dropped) == (0, 100)
    assert len([record for record in caplog.records if "were not written" in record.message]) == 5
    partition.is_offline = False
    edge.runtime.on_event(event())
    assert len(settle(edge)) == 1 and topic.appended == 1


def test_the_events_of_a_stop_are_handed_over_at_once(edge: Edge) -> None:
    create(edge)
    for number in range(3 * BATCH_EVENTS):
        edge.runtime.on_event(event(number=number))
    edge.runtime.event_topic.finish()
    assert len(settle(edge)) == 3


def test_no_topic_is_written_to_if_it_is_switched_off(tmp_path: Path) -> None:
    edge = Edge({}, log_dirs=str(tmp_path), group_events_topic_enable=False)
    create(edge)
    edge.runtime.on_event(event())
    assert settle(edge) == [] and edge.runtime.event_topic.dropped == 0
