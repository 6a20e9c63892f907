"""The link of a node with controllers that break every rule: each wait has an end, and nothing piles up."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster, ClusterNode
from coordinator.core.effects import Ticket
from coordinator.server import controller_link, peer_connection
from coordinator.server.api import incremental_alter_configs as alter_api
from coordinator.server.controller_link import ControllerLink, DisagreementError
from coordinator.server.node_links import NodeLinks
from coordinator.server.peer_connection import LinkError, PeerConnection
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.headers import decode_request_header, encode_response_header
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.support.eventually import eventually_async
from tests.support.topic_logs_world import Session, TopicLogsWorld

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limits."""
    monkeypatch.setattr(controller_link, "ANSWER_S", 0.3)
    monkeypatch.setattr(controller_link, "FACTS_S", 0.3)
    monkeypatch.setattr(controller_link, "POLL_MS", 200)
    monkeypatch.setattr(controller_link, "FIRST_CATALOGUE_S", 0.5)
    monkeypatch.setattr(controller_link, "LONGEST_PAUSE_S", 0.1)
    monkeypatch.setattr(controller_link, "DISAGREEMENT_PAUSE_S", 0.1)


class World(TopicLogsWorld):
    """Node 2 with a real executor; what its link answers to clients comes to their sessions."""

    events = 0

    def end_of_event(self) -> None:
        self.events += 1


@asynccontextmanager
async def linked(tmp_path: Path, serve: Serve) -> AsyncIterator[tuple[World, ControllerLink]]:
    """A node whose controller is `serve`."""

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.transport.abort()

    before = asyncio.all_tasks()
    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    cluster = Cluster.of({1: Address("127.0.0.1", port), 2: Address("127.0.0.1", 1)}, 2)
    world = World(tmp_path, cluster=cluster)
    link = ControllerLink(world.config, world.cluster, world.identity, NodeLinks())
    link.attach(world)  # type: ignore[arg-type]
    try:
        yield world, link
    finally:
        await link.stop()
        await asyncio.sleep(0)  # the loop accepts the last connection, for which a closed server has no transport
        await asyncio.sleep(0)
        await eventually_async(lambda: asyncio.all_tasks() <= before, "each accepted connection was served to its end")
        server.close()
        await asyncio.sleep(0)  # sockets are closed in the next round of the loop
        await asyncio.sleep(0)
        await world.topic_logs.close()


async def request_from(reader: asyncio.StreamReader) -> tuple[int, int, int, Any]:
    """Return correlation id, key, version and message of the next request."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    frame = await reader.readexactly(size)
    header, position = decode_request_header(frame)
    message = codec.decode_request(header.api_key, header.api_version, frame, position)
    return header.correlation_id, header.api_key, header.api_version, message


def answer(writer: asyncio.StreamWriter, key: int, version: int, correlation_id: int, message: Any) -> None:
    body = encode_response_header(key, version, correlation_id) + codec.encode_response(message, version)
    writer.write(len(body).to_bytes(4, "big") + body)


def answering(respond: Callable[[Any], Any]) -> Serve:
    """A controller that answers every request with what `respond` says; None is silence."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                correlation_id, key, version, message = await request_from(reader)
                response = respond(message)
                if response is not None:
                    answer(writer, key, version, correlation_id, response)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    return serve


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read()
    writer.close()


async def giant(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write((peer_connection.MAX_ANSWER_BYTES + 1).to_bytes(4, "big"))
    await reader.read()
    writer.close()


async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def another_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    correlation_id, key, version, _ = await request_from(reader)
    answer(writer, key, version, correlation_id + 1, FollowCatalogueResponse())
    await reader.read()
    writer.close()


def damaged(message: Any) -> Any:
    return FollowCatalogueResponse(node_id=1, revision=1, document=b"\xff not a catalogue")


def silent(message: Any) -> Any:
    return None


ODD: dict[str, Serve] = {
    "silent": answering(silent),
    "garbage": garbage,
    "giant": giant,
    "closing": closing,
    "another answer": another_answer,
    "damaged catalogue": answering(damaged),
}


@pytest.mark.parametrize("kind", ODD)
async def test_node_starts_and_logs_once_with_any_broken_controller(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "coordinator.cluster")
    async with linked(tmp_path, ODD[kind]) as (world, link):
        began = time.monotonic()
        if kind != "damaged catalogue":  # this controller answers the question about facts
            await link.check_facts(world.cluster.nodes.values())
        await link.first_catalogue()
        link.start()
        await asyncio.sleep(1.0)  # several rounds
        assert time.monotonic() - began < 10
        said = [record.getMessage() for record in caplog.records if record.name == "coordinator.cluster"]
        assert len(said) == 1 and said[0].startswith("controller not reached node=1"), said
        assert not link.is_following
        assert not world.topics.catalogue.lineage


async def test_controller_that_refuses_stops_the_start_and_is_logged_once_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "coordinator.cluster")
    refusal = FollowCatalogueResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, error_message="we differ")
    async with linked(tmp_path, answering(lambda message: refusal)) as (world, link):
        for asking in (link.check_facts(world.cluster.nodes.values()), link.first_catalogue()):
            with pytest.raises(DisagreementError, match="we differ"):
                await asking
        link.start()
        await asyncio.sleep(0.5)
        said = [record.getMessage() for record in caplog.records if record.name == "coordinator.cluster"]
        assert said == ["we differ; this node goes on without the controller until they agree"]


async def test_closed_port_is_noticed_at_once(tmp_path: Path) -> None:
    async with linked(tmp_path, closing) as (_, link):
        nowhere = ClusterNode(1, "127.0.0.1", 1)
        began = time.monotonic()
        await link.check_facts([nowhere])
        with pytest.raises(OSError):
            await PeerConnection.connect(nowhere, "test")
        assert time.monotonic() - began < 1


def change() -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name="retention.ms", value="1")
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])]
    )


def asks(link: ControllerLink, count: int) -> list[Session]:
    """Return clients whose requests are to be forwarded."""
    sessions = [Session(alter_api.API) for _ in range(count)]
    for session in sessions:
        link.ask(change(), Ticket(session, api_key=int(alter_api.API.key), version=1))
    return sessions


def codes(sessions: list[Session]) -> list[int]:
    return [session.answers[0].responses[0].error_code for session in sessions if session.answers]


async def test_requests_are_forwarded_in_order_and_answered_by_the_controller(tmp_path: Path) -> None:
    seen: list[Any] = []

    def respond(message: Any) -> Any:
        if isinstance(message, FollowCatalogueRequest):
            return FollowCatalogueResponse(node_id=1)
        seen.append(message)
        return IncrementalAlterConfigsResponse(
            responses=[AlterConfigsResourceResponse(error_code=len(seen), resource_type=2, resource_name="t")]
        )

    async with linked(tmp_path, answering(respond)) as (world, link):
        link.start()
        sessions = asks(link, 5)
        await eventually_async(lambda: len(codes(sessions)) == 5, "all are answered")
        assert codes(sessions) == [1, 2, 3, 4, 5]
        assert seen == [change()] * 5
        assert world.events >= 5, "the answers leave at once"


async def test_requests_that_cannot_be_forwarded_are_refused_and_do_not_pile_up(tmp_path: Path) -> None:
    async with linked(tmp_path, answering(silent)) as (world, link):
        link.start()
        sessions = asks(link, world.config.cluster_max_queued_requests)
        assert not codes(sessions), "all of them wait"
        sessions += asks(link, 50)
        assert codes(sessions) == [ErrorCode.NOT_CONTROLLER] * 50, "no room for more"
        began = time.monotonic()
        await eventually_async(lambda: len(codes(sessions)) == len(sessions), "all are answered")
        assert time.monotonic() - began < 5, "not each after a time-out of its own"
        assert sorted(codes(sessions)).count(ErrorCode.REQUEST_TIMED_OUT) == 1, "what was sent may have happened"


async def test_wanted_topics_are_bounded_and_dropped_if_the_controller_is_silent(tmp_path: Path) -> None:
    async with linked(tmp_path, answering(silent)) as (world, link):
        link.want(f"topic-{number}" for number in range(10_000))
        assert len(link._wanted) == world.config.max_topics
        link.start()
        await eventually_async(lambda: not link._wanted, "they are forgotten: clients ask again")


async def test_stop_does_not_wait_and_answers_every_request(tmp_path: Path) -> None:
    async with linked(tmp_path, answering(silent)) as (_, link):
        link.start()
        sessions = asks(link, 3)
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await link.stop()
        assert time.monotonic() - began < 1
        assert len(codes(sessions)) == 3
        assert codes(asks(link, 1)) == [ErrorCode.NOT_CONTROLLER]


async def test_an_answer_is_for_the_request_that_was_sent(tmp_path: Path) -> None:
    async with linked(tmp_path, another_answer) as (world, link):
        peer = await PeerConnection.connect(world.cluster.controller, "test")
        with pytest.raises(LinkError, match="answered another request"):
            await peer.call(link._question(world.cluster.controller, -1, 0), 0, within_s=1)
        peer.close()
