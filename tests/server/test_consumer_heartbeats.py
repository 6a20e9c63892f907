"""ConsumerGroupHeartbeats that are recognised by their bytes on their connection: answered at once, or held."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import ClientSoftware
from coordinator.server.api.table import HANDLERS
from coordinator.server.status import status_of
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.consumer_world import ConsumerWorld
from tests.support.edge import Edge, Peer

JAVA = ClientSoftware("apache-kafka-java", "4.4.0")
LIBRDKAFKA = ClientSoftware("librdkafka", "2.16.0")
CLIENT_ID = "client"


def beat(epoch: int = 2, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    fields = {"subscribed_topic_names": None, "topic_partitions": None, **fields}
    return ConsumerGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=epoch, **fields)


@pytest.fixture
def world() -> ConsumerWorld:
    """A world with a member that has all that it should, which has joined from the address of a `Peer`."""
    world = ConsumerWorld({"t": 4})
    world.beat("A", 0, topics=["t"], client_id=CLIENT_ID)
    world.beat("A", 2, client_id=CLIENT_ID)
    return world


@pytest.fixture
def edge(world: ConsumerWorld) -> Edge:
    key = ApiKey.CONSUMER_GROUP_HEARTBEAT
    return Edge({key: HANDLERS[key].handle}, core=world.core, now_ms=world.clock.now_ms)


def peer_of(edge: Edge, software: ClientSoftware | None = None) -> Peer:
    peer = edge.peer()
    if software is not None:
        peer.connection.identified(software)
    return peer


def send(peer: Peer, *messages: Any, version: int = 1) -> None:
    peer.send(*messages, version=version, client_id=CLIENT_ID)


@pytest.mark.parametrize("version", [0, 1])
def test_repetitions_are_answered_like_the_first(edge: Edge, version: int) -> None:
    peer = peer_of(edge)
    for _ in range(3):
        send(peer, beat(), version=version)
    first, *others = peer.answers
    assert (first.error_code, first.member_epoch, first.heartbeat_interval_ms) == (ErrorCode.NONE, 2, 5000)
    assert others == [first, first]
    assert edge.runtime.heartbeats_by_template == 2


def test_several_in_one_read(edge: Edge) -> None:
    peer = peer_of(edge)
    send(peer, *[beat()] * 4)
    edge.loop.run_ready()
    assert [answer.error_code for answer in peer.answers] == [ErrorCode.NONE] * 4
    assert edge.runtime.heartbeats_by_template == 3


def test_another_one_of_the_same_size_is_decoded(edge: Edge) -> None:
    peer = peer_of(edge)
    send(peer, beat())
    send(peer, beat(epoch=9))
    assert [answer.error_code for answer in peer.answers] == [ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH]
    assert edge.runtime.heartbeats_by_template == 0


def test_it_is_decoded_after_a_change_of_the_topics(edge: Edge, world: ConsumerWorld) -> None:
    peer = peer_of(edge)
    send(peer, beat())
    send(peer, beat())
    world.topics_image.create("u", 1)
    send(peer, beat())
    assert edge.runtime.heartbeats_by_template == 1
    send(peer, beat())
    assert edge.runtime.heartbeats_by_template == 2
    assert len({repr(answer) for answer in peer.answers}) == 1


@pytest.mark.parametrize("software", [JAVA, LIBRDKAFKA])
def test_one_that_waits_is_recognised(edge: Edge, world: ConsumerWorld, software: ClientSoftware) -> None:
    peer = peer_of(edge, software)
    send(peer, beat())
    assert peer.answers == []
    assert list(world.consumer_group().held) == ["A"]
    send(peer, beat())  # bytes behind it have it answered, and this one waits
    assert len(peer.answers) == 1
    assert edge.runtime.parked_heartbeats == 2
    assert [route.requests for route in edge.runtime.routes.values()] == [0], "a heartbeat was handled in full"


def test_one_that_may_wait_is_answered_if_bytes_follow_it(edge: Edge) -> None:
    peer = peer_of(edge, LIBRDKAFKA)
    send(peer, beat())
    send(peer, beat(), beat())
    edge.loop.run_ready()
    assert [answer.error_code for answer in peer.answers] == [ErrorCode.NONE] * 2
    assert edge.runtime.heartbeats_by_template == 1


def test_a_connection_that_ends_leaves_none_waiting(edge: Edge, world: ConsumerWorld) -> None:
    peer = peer_of(edge, JAVA)
    send(peer, beat())
    peer.connection.connection_lost(None)
    assert world.consumer_group().held == {}


def test_other_software_of_the_client_ends_the_recognition(edge: Edge) -> None:
    peer = peer_of(edge)
    send(peer, beat())
    peer.connection.identified(JAVA)
    send(peer, beat())
    assert len(peer.answers) == 1
    assert edge.runtime.parked_heartbeats == 1


def test_all_are_counted(edge: Edge) -> None:
    peer = peer_of(edge)
    for _ in range(3):
        send(peer, beat())
    waiting = peer_of(edge, LIBRDKAFKA)
    send(waiting, beat())
    counted = {
        sample.labels["api"]: sample.value
        for sample in status_of(edge.runtime, None, ready=True, stopping=False, started_at=0.0).metrics
        if sample.name == "kafka_server_requests_total"
    }
    assert counted["CONSUMER_GROUP_HEARTBEAT"] == 4
