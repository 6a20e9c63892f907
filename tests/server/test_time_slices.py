"""Long work stops when its time slice is over, and goes on in the next round of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from coordinator.core.effects import Effects, Reply, Ticket
from coordinator.server.api.chunked_responses import PER_PIECE
from coordinator.server.api.node import Node
from coordinator.server.connection import MOST_JOINED
from coordinator.server.runtime import REPLIES_AT_ONCE
from coordinator.server.time_slices import ANSWERS_TURN_S, AT_ONCE_S, LONGEST_TURN_S, PART_OF_ROUND, TURN_S, TimeSlices
from protocol.api_keys import ApiKey
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.edge import Edge, Transport
from tests.support.manual_loop import ManualLoop


class World:
    def __init__(self, turn_s: float = TURN_S) -> None:
        self.loop = ManualLoop()
        self.ended_turns = 0
        self.broken: list[Exception] = []
        self.did: list[str] = []
        self.time_slices = TimeSlices(
            self.loop.call_soon, self.loop.clock, self._after, self.broken.append, turn_s=turn_s
        )

    def _after(self) -> None:
        self.ended_turns += 1

    def work(self, name: str, steps: int, step_s: float) -> Iterator[None]:
        for number in range(steps):
            self.loop.now += step_s
            self.did.append(f"{name}{number}")
            yield

    def round(self) -> int:
        """Run one round of the event loop and return the number of steps taken in it."""
        before = len(self.did)
        callbacks, self.loop._ready = self.loop._ready, type(self.loop._ready)()
        for callback, args in callbacks:
            callback(*args)
        return len(self.did) - before


def test_a_turn_ends_with_the_step_in_which_its_time_is_over() -> None:
    world = World()
    world.time_slices.add(world.work("a", 10, TURN_S / 3.5))
    assert [world.round() for _ in range(4)] == [4, 4, 2, 0]
    assert world.ended_turns == 3


def test_a_long_step_is_a_turn_of_its_own() -> None:
    world = World()
    world.time_slices.add(world.work("a", 3, TURN_S * 5))
    assert [world.round() for _ in range(3)] == [1, 1, 1]


def test_a_queue_may_have_shorter_turns() -> None:
    world = World(ANSWERS_TURN_S)
    world.time_slices.add(world.work("a", 10, ANSWERS_TURN_S / 3.5))
    assert [world.round() for _ in range(4)] == [4, 4, 2, 0]


def test_several_generators_take_steps_in_turn() -> None:
    world = World()
    world.time_slices.add(world.work("a", 2, 0))
    world.time_slices.add(world.work("b", 3, 0))
    world.round()
    assert world.did == ["a0", "b0", "a1", "b1", "b2"]


def test_generator_that_raises_stops_no_other() -> None:
    world = World()

    def breaks() -> Iterator[None]:
        yield
        raise ZeroDivisionError

    world.time_slices.add(breaks())
    world.time_slices.add(world.work("b", 3, 0))
    world.round()
    assert [type(error) for error in world.broken] == [ZeroDivisionError]
    assert world.did == ["b0", "b1", "b2"]


def test_the_end_waits_until_everything_is_done_in_turns() -> None:
    world = World()

    async def end() -> None:
        ending = asyncio.create_task(world.time_slices.finished())
        while not ending.done():
            await asyncio.sleep(0)
            world.round()

    world.time_slices.add(world.work("a", 5, TURN_S))
    asyncio.run(end())
    assert len(world.did) == 5
    assert not world.time_slices


# -- on a connection -------------------------------------------------------------------------------------------------


def list_very_many(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, ListGroupsResponse(groups=[ListedGroup(group_id=f"g{n}") for n in range(PER_PIECE * 20)]))


def answer(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, MetadataResponse(cluster_id="c"))


def test_a_long_answer_keeps_its_place_among_the_answers_of_its_connection() -> None:
    edge = Edge({ApiKey.LIST_GROUPS: list_very_many, ApiKey.METADATA: answer})
    peer, other = edge.peer(), edge.peer()
    peer.send(MetadataRequest(), ListGroupsRequest(), MetadataRequest(), ListGroupsRequest())
    other.send(MetadataRequest())
    assert [type(each) for each in peer.answers] == [MetadataResponse], "the long one has not been encoded yet"
    assert len(other.answers) == 1, "other connections do not wait for it"
    edge.loop.run_ready()
    kinds = [type(each) for each in peer.answers]
    assert kinds == [MetadataResponse, ListGroupsResponse, MetadataResponse, ListGroupsResponse]
    assert len(peer.answers[1].groups) == PER_PIECE * 20


def test_a_very_long_answer_is_given_to_the_socket_in_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joining 30 MB in one step, and joining them to the start of their frame, held the loop for 33 ms."""
    ids = [f"{number:0100}" for number in range(MOST_JOINED // 100)]

    def list_groups(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        node.reply(ticket, ListGroupsResponse(groups=[ListedGroup(group_id=each) for each in ids]))

    edge = Edge({ApiKey.LIST_GROUPS: list_groups, ApiKey.METADATA: answer})
    peer = edge.peer()
    given: list[int] = []

    def writelines(transport: Transport, pieces: Iterable[bytes]) -> None:
        given.extend(map(len, pieces := list(pieces)))
        transport.write(b"".join(pieces))

    monkeypatch.setattr(Transport, "writelines", writelines)
    peer.send(ListGroupsRequest(), MetadataRequest())
    edge.loop.run_ready()
    listed, after = peer.answers
    assert [each.group_id for each in listed.groups] == ids
    assert isinstance(after, MetadataResponse)
    assert sum(given) > MOST_JOINED
    assert max(given) < MOST_JOINED // 10


def test_connection_that_closes_while_its_answer_is_encoded_leaves_no_work() -> None:
    edge = Edge({ApiKey.LIST_GROUPS: list_very_many, ApiKey.METADATA: answer})
    peer = edge.peer()
    peer.send(ListGroupsRequest())
    peer.connection.abort()
    edge.loop.run_ready()
    assert not peer.answers
    assert not edge.runtime.time_slices


def list_a_name_too_long(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    groups = [ListedGroup(group_id="g") for _ in range(PER_PIECE * 3)]
    groups[-1].group_id = "g" * 40_000
    node.reply(ticket, ListGroupsResponse(groups=groups))


def test_long_answer_that_does_not_fit_the_version_closes_only_its_connection() -> None:
    edge = Edge({ApiKey.LIST_GROUPS: list_a_name_too_long, ApiKey.METADATA: answer})
    peer, other = edge.peer(), edge.peer()
    peer.send(ListGroupsRequest(), version=0)
    edge.loop.run_ready()
    assert peer.transport.is_closed
    other.send(MetadataRequest())
    assert len(other.answers) == 1


def test_very_many_replies_of_one_event_are_given_in_turns_and_all_of_them() -> None:
    parked: list[Ticket] = []

    def park(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        parked.append(ticket)
        if len(parked) > REPLIES_AT_ONCE:
            node.execute(Effects(tuple(Reply(each, MetadataResponse()) for each in parked)))

    edge = Edge({ApiKey.METADATA: park})
    peers = [edge.peer() for _ in range(REPLIES_AT_ONCE + 1)]
    for peer in peers:
        peer.send(MetadataRequest())
    assert sum(len(peer.answers) for peer in peers) == 0
    edge.loop.run_ready()
    assert all(len(peer.answers) == 1 for peer in peers)


def test_callers_of_begin_share_the_time_of_one_round() -> None:
    world = World()
    ends = world.time_slices.begin()
    assert ends == world.loop.now + AT_ONCE_S
    world.loop.now += AT_ONCE_S / 2
    assert world.time_slices.begin() == ends, "the next one has what the first left"
    world.time_slices.spent()
    assert world.time_slices.begin() == 0
    world.round()
    assert world.time_slices.begin() > world.loop.now, "in the next round there is time again"


def test_each_round_has_a_whole_turn_of_its_own() -> None:
    world = World()
    world.time_slices.begin()
    world.loop.now += AT_ONCE_S / 2
    world.round()
    assert world.time_slices.begin() == world.loop.now + AT_ONCE_S


def test_begin_gives_no_time_while_generators_wait_for_their_turn() -> None:
    world = World()
    world.time_slices.add(world.work("a", 2, TURN_S))
    assert world.time_slices.begin() == 0
    world.round()
    assert world.time_slices.begin() == 0
    world.round()
    world.round()
    assert world.time_slices.begin() > world.loop.now


def test_a_turn_takes_its_part_of_a_long_round() -> None:
    """A turn of the usual length would leave long work hardly any time beside very many requests."""
    world = World()
    world.time_slices.add(world.work("a", 100, TURN_S / 2))
    world.loop.now += LONGEST_TURN_S * PART_OF_ROUND * 2  # other events of the round
    world.round()
    assert len(world.did) == round(LONGEST_TURN_S / (TURN_S / 2))
