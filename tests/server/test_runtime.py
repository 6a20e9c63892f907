"""The driver: one event ends before the next begins, and a fault in one event does not stop the clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.effects import Reply, Ticket
from coordinator.core.group.group import Group
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.store import OffsetStore
from coordinator.core.topics.effects import TopicEffects
from coordinator.server.api.node import Node
from coordinator.server.line_limit import RARE, LineLimit
from coordinator.server.runtime import HOUSEKEEPING_S
from protocol.api_keys import ApiKey
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.edge import Edge


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[Edge]:
    """An edge whose handlers park, answer parked requests, and refuse at once."""
    parked: list[Ticket] = []
    refused: list[TopicEffects] = []

    def park(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        parked.append(ticket)

    def answer_parked(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        for each in parked:
            node.reply(each, FindCoordinatorResponse())
        node.reply(ticket, MetadataResponse())

    def refuse_at_once(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Do as a Produce to a log that takes nothing: its failure is reported while its effects are executed."""
        refused.append(TopicEffects(replies=(Reply(ticket, ListGroupsResponse()),)))
        node.execute_topics(TopicEffects())

    edge = Edge(
        {ApiKey.FIND_COORDINATOR: park, ApiKey.METADATA: answer_parked, ApiKey.LIST_GROUPS: refuse_at_once},
        log_dirs=str(tmp_path),
    )
    runtime = edge.runtime
    execute = runtime.topic_logs.execute

    def execute_and_refuse(effects: TopicEffects) -> None:
        execute(effects)
        while refused:
            runtime.on_topic_effects(refused.pop())

    runtime.topic_logs.execute = execute_and_refuse  # type: ignore[method-assign]
    yield edge


def test_refusals_told_at_once_to_many_clients_do_not_nest(edge: Edge) -> None:
    """Each client's waiting request is refused in the event that answered all: one level, not one for each client."""
    peers = [edge.peer() for _ in range(300)]
    for peer in peers:
        peer.send(FindCoordinatorRequest(), ListGroupsRequest())
    edge.peer().send(MetadataRequest())
    edge.loop.run_ready()
    assert [len(peer.answers) for peer in peers] == [2] * 300


def test_the_steps_of_an_answer_end_with_its_connection() -> None:
    def never_done(node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        node.take_turns(ticket, itertools.repeat(None))

    edge = Edge({ApiKey.FIND_COORDINATOR: never_done})
    peer = edge.peer()
    peer.send(FindCoordinatorRequest())
    assert len(edge.runtime.time_slices) == 1
    peer.connection.abort()
    edge.loop.run_ready()
    assert len(edge.runtime.time_slices) == 0


def test_client_that_pretends_to_be_a_node_causes_few_log_lines(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.filtering(LineLimit(lambda: 0.0)):
        for number in range(1000):
            edge.runtime.node_checked(7, f"it has {number} nodes")
            edge.runtime.node_checked(7, None)
    assert len([record for record in caplog.records if "node refused" in record.message]) == RARE["line_rate"].burst


@pytest.mark.plain("a method of the compiled build cannot be replaced")
def test_the_clock_goes_on_after_an_event_that_broke(edge: Edge) -> None:
    runtime = edge.runtime
    runtime.start_housekeeping()
    healthy = runtime.core.advance_clock
    runtime.core.advance_clock = _break  # type: ignore[method-assign, assignment]
    with pytest.raises(ZeroDivisionError):
        runtime._tick()
    runtime.core.advance_clock = healthy  # type: ignore[method-assign]
    assert runtime._timer is None
    runtime.core.load_begin(0)
    runtime.core.loaded(
        0, LoadedState.of((), OffsetStore(), 0), 0, runtime.now_ms()
    )  # schedules the search for expired offsets
    edge.loop.advance(HOUSEKEEPING_S)
    edge.loop.run_ready()
    assert runtime._timer is not None


@pytest.mark.plain("a method of the compiled build cannot be replaced")
def test_housekeeping_goes_on_after_a_round_that_broke(edge: Edge) -> None:
    runtime = edge.runtime
    runtime.start_housekeeping()
    runtime.connections.sweep = _break  # type: ignore[method-assign, assignment]
    edge.loop.advance(HOUSEKEEPING_S)
    with pytest.raises(ZeroDivisionError):
        edge.loop.run_ready()
    del runtime.connections.sweep
    peer = edge.peer()
    for _ in range(edge.config.connections_max_idle_ms // 1000 + 2):
        edge.loop.advance(HOUSEKEEPING_S)
        edge.loop.run_ready()
    assert peer.transport.is_closed, "it was idle"


@pytest.mark.parametrize("is_shown", [True, False])
def test_figures_of_groups_are_gathered_where_they_are_shown(edge: Edge, is_shown: bool) -> None:
    runtime = edge.runtime
    runtime.shows_metrics = is_shown
    shard = runtime.core.partition(0)
    shard.add(Group("g", shard, 0))
    runtime.start_housekeeping()
    edge.loop.advance(HOUSEKEEPING_S)
    edge.loop.run_ready()
    assert [each.label for each in runtime.group_metrics.shown] == ["g"] * is_shown


def test_no_timer_is_armed_by_what_ends_during_a_stop(edge: Edge) -> None:
    runtime = edge.runtime
    runtime.core.load_begin(0)
    runtime.core.loaded(0, LoadedState.of((), OffsetStore(), 0), 0, runtime.now_ms())
    runtime.start_housekeeping()
    runtime.stop_timers()
    runtime.execute(runtime.core.shutdown(runtime.now_ms()))
    runtime._timer = None
    runtime.end_of_event()
    assert runtime._timer is None


def _break(*arguments: object) -> None:
    raise ZeroDivisionError("a defect")
