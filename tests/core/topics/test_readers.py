"""Readers of a partition: how far each was sent its records, but for those that are ambiguous."""

from __future__ import annotations

import pytest

from coordinator.core.effects import Ticket
from coordinator.core.topics.partition import Partition
from coordinator.core.topics.readers import UNKNOWN, note_read
from coordinator.server.session_wrapper import SessionWrapper
from protocol.compression import Codec
from tests.support.topics_wire import batch, fetch, produce, send_fetch
from tests.support.topics_world import UNANSWERED, TopicsWorld

HOST = "/127.0.0.1"


class Connection:
    pass


@pytest.fixture(params=["memory", "disk"])
def world(request: pytest.FixtureRequest) -> TopicsWorld:
    """A world that reads from the tail cache, or from disk if the cache is tiny."""
    world = TopicsWorld(tails_bytes=1 << 20 if request.param == "memory" else 1)
    world.create("orders", 3)
    return world


@pytest.fixture
def partition(world: TopicsWorld) -> Partition:
    return world.partition("orders")


def take(world: TopicsWorld, client_id: str = "", host: str = HOST) -> int:
    return world.topics.take_read_up_to("orders", 0, client_id, host)


def test_a_reader_is_known_up_to_the_end_of_the_last_records_that_it_was_sent(world: TopicsWorld) -> None:
    for _ in range(3):
        produce(world, batch(b"a", b"b"))
    fetch(world, 0, partition_max_bytes=1)
    assert take(world) == 2
    fetch(world, 0, partition_max_bytes=1)
    fetch(world, 2)
    assert take(world) == 6
    assert take(world) == UNKNOWN, "it was forgotten"


def test_a_long_poll_counts_when_it_is_answered(world: TopicsWorld) -> None:
    ticket = send_fetch(world, 0)
    assert take(world) == UNKNOWN
    produce(world)
    assert world.answer(ticket) is not UNANSWERED
    assert take(world) == 1


def test_a_fetch_without_records_changes_nothing(world: TopicsWorld, partition: Partition) -> None:
    produce(world)
    ticket = send_fetch(world, 1, max_wait_ms=10)
    world.advance(20)
    assert world.answer(ticket) is not UNANSWERED
    assert partition.readers is None


def test_records_that_are_refused_are_not_read(world: TopicsWorld, partition: Partition) -> None:
    produce(world, batch(b"a", codec=Codec.ZSTD))
    fetch(world, 0, version=9)
    assert partition.readers is None


def test_nothing_is_known_of_other_clients_and_partitions(world: TopicsWorld, partition: Partition) -> None:
    note_read(partition, Ticket(Connection(), client_id="a"), 7)
    assert take(world, "b") == UNKNOWN
    assert take(world, "a", "/10.0.0.1") == UNKNOWN
    assert world.topics.take_read_up_to("orders", 1, "a", HOST) == UNKNOWN
    assert world.topics.take_read_up_to("orders", 3, "a", HOST) == UNKNOWN
    assert world.topics.take_read_up_to("nothing", 0, "a", HOST) == UNKNOWN
    assert take(world, "a") == 7


def test_the_reader_that_has_not_read_for_longest_is_replaced(world: TopicsWorld, partition: Partition) -> None:
    most = partition.most_readers
    tickets = [Ticket(Connection(), client_id=f"c{number}") for number in range(most + 1)]
    for number, ticket in enumerate(tickets[:-1]):
        note_read(partition, ticket, number)
    assert partition.readers is not None and len(partition.readers) == most
    note_read(partition, tickets[0], 100)
    note_read(partition, tickets[-1], 200)
    assert len(partition.readers) == most
    assert [take(world, f"c{number}") for number in (0, 1, 2, most)] == [100, UNKNOWN, 2, 200]


def test_clients_that_take_turns_under_one_name_are_ambiguous(world: TopicsWorld, partition: Partition) -> None:
    one, two = Ticket(Connection(), client_id="a"), Ticket(Connection(), client_id="a")
    for end_offset, ticket in enumerate((one, two, one)):
        note_read(partition, ticket, end_offset)
    note_read(partition, one, 9)
    assert take(world, "a") == UNKNOWN
    note_read(partition, two, 12)
    assert take(world, "a") == 12, "the next owner is known again"


def test_a_client_that_connects_again_is_not_ambiguous(world: TopicsWorld, partition: Partition) -> None:
    tickets = [Ticket(Connection(), client_id="a") for _ in range(4)]
    for end_offset, ticket in enumerate(tickets):
        note_read(partition, ticket, end_offset)
        note_read(partition, ticket, end_offset + 1)
    assert take(world, "a") == len(tickets)


def test_a_watched_connection_is_one_reader(partition: Partition) -> None:
    one, two = Connection(), Connection()
    for end_offset, connection in enumerate((one, one, two, two)):
        watched = SessionWrapper(SessionWrapper(connection))  # a new one for each request
        note_read(partition, Ticket(watched, client_id="a"), end_offset)
    assert partition.readers is not None
    (reader,) = partition.readers
    assert (reader.is_ambiguous, reader.session, reader.former_session) == (False, id(two), id(one))
