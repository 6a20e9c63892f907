"""A parked heartbeat on its connection: any byte behind it releases it, and answers leave in the order of requests."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import ClientSoftware, Ticket
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from coordinator.server.runtime import REPLIES_AT_ONCE
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.support.cluster import Cluster
from tests.support.edge import Edge, Peer
from tests.support.first_round import COOPERATIVE, FirstRound, given
from tests.support.scripted_member import Member
from tests.support.wire import encode_frame

JAVA = ClientSoftware("apache-kafka-java", "4.4.0")
BOUND_S = 2.75  # just below a heartbeat interval: a third of the session timeout is 3.3 s

waiting: list[Ticket] = []


def answer(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, FindCoordinatorResponse())


def wait_for_the_disk(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    ticket.has_append = True
    waiting.append(ticket)


def edge_of(members: list[Member], **config: Any) -> Edge:
    real = (ApiKey.API_VERSIONS, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.SYNC_GROUP)
    handlers = {key: HANDLERS[key].handle for key in real}
    handlers |= {ApiKey.FIND_COORDINATOR: answer, ApiKey.OFFSET_COMMIT: wait_for_the_disk}
    cluster = members[0].cluster
    return Edge(handlers, core=cluster.core, now_ms=cluster.clock.now_ms, **config)


@pytest.fixture
def members() -> list[Member]:
    waiting.clear()
    return Cluster().stable_group(members=3)


@pytest.fixture
def edge(members: list[Member]) -> Edge:
    return edge_of(members)


@pytest.fixture
def peer(edge: Edge) -> Peer:
    return java(edge)


def java(edge: Edge) -> Peer:
    peer = edge.peer()
    peer.connection.identified(JAVA)
    return peer


def beat(member: Member) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=member.group_id,
        member_id=member.member_id,
        generation_id=member.generation,
        group_instance_id=member.instance_id,
    )


def leave(edge: Edge, *members: Member) -> None:
    """Have members leave by requests of another client."""
    edge.peer().send(
        LeaveGroupRequest(
            group_id=members[0].group_id, members=[MemberIdentity(member_id=each.member_id) for each in members]
        )
    )


def pass_time(edge: Edge, seconds: float) -> None:
    for _ in range(round(seconds * 20)):
        edge.loop.advance(0.05)
        edge.loop.run_ready()


def codes(peer: Peer) -> list[ErrorCode]:
    return [ErrorCode(each.error_code) for each in peer.answers]


def released(edge: Edge) -> dict[str, int]:
    return {why: count for why, count in edge.runtime.core.metrics.released_heartbeats.items() if count}


@pytest.mark.parametrize("version", range(5))
def test_it_is_answered_when_its_time_is_over(edge: Edge, peer: Peer, members: list[Member], version: int) -> None:
    for round_ in range(2):  # decoded, and recognised by its bytes
        peer.send(beat(members[0]), version=version)
        pass_time(edge, BOUND_S - 0.1)
        assert len(peer.answers) == round_
        pass_time(edge, 0.2)
        assert codes(peer) == [ErrorCode.NONE] * (round_ + 1)
    assert released(edge) == {"time_over": 2}
    assert edge.runtime.parked_heartbeats == 2


def test_a_rebalance_is_told_at_once(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    leave(edge, members[2])
    assert codes(peer) == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_the_first_bytes_of_a_frame_release_it(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    whole = encode_frame(FindCoordinatorRequest(), 4, 1)
    peer.connection.data_received(whole[:1])
    assert codes(peer) == [ErrorCode.NONE]
    peer.connection.data_received(whole[1:])
    assert peer.transport.writes == 2
    assert released(edge) == {"next_bytes": 1}


def test_a_request_behind_it_is_answered_after_it_in_the_same_event(
    edge: Edge, peer: Peer, members: list[Member]
) -> None:
    peer.send(beat(members[0]))
    peer.send(FindCoordinatorRequest())
    assert [type(each) for each in peer.answers] == [HeartbeatResponse, FindCoordinatorResponse]
    assert peer.transport.writes == 1


def test_the_next_heartbeat_releases_it_and_is_parked(edge: Edge, peer: Peer, members: list[Member]) -> None:
    for number in range(4):
        peer.send(beat(members[0]))
        assert len(peer.answers) == number
    assert released(edge) == {"next_bytes": 3}
    leave(edge, members[1])
    assert codes(peer) == [ErrorCode.NONE] * 3 + [ErrorCode.REBALANCE_IN_PROGRESS]


def test_of_two_in_one_read_the_last_is_parked(edge: Edge, peer: Peer, members: list[Member]) -> None:
    for _ in range(2):  # decoded, and recognised by their bytes
        answers = len(peer.answers)
        peer.send(beat(members[0]), beat(members[0]))
        edge.loop.run_ready()
        assert len(peer.answers) == answers + 1 + (answers > 0)
    leave(edge, members[1])
    assert codes(peer) == [ErrorCode.NONE] * 3 + [ErrorCode.REBALANCE_IN_PROGRESS]


def test_it_is_not_parked_with_a_request_or_a_part_of_one_behind_it(
    edge: Edge, peer: Peer, members: list[Member]
) -> None:
    peer.send(beat(members[0]), FindCoordinatorRequest())
    edge.loop.run_ready()
    assert len(peer.answers) == 2
    data = encode_frame(beat(members[0]), 4, 2, "peer") + encode_frame(FindCoordinatorRequest(), 4, 3)
    writes = peer.transport.writes
    peer.connection.data_received(data[:-1])
    assert peer.transport.writes == writes + 1
    peer.connection.data_received(data[-1:])
    assert peer.transport.writes == writes + 2
    assert edge.runtime.parked_heartbeats == 0


def test_behind_commits_it_is_parked_and_leaves_after_them(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(OffsetCommitRequest(group_id="g"))
    peer.send(beat(members[0]))
    leave(edge, members[1])
    assert peer.answers == [], "the commit is not durable"
    edge.runtime.reply(waiting[0], OffsetCommitResponse())
    edge.runtime.end_of_event()
    assert [type(each) for each in peer.answers] == [OffsetCommitResponse, HeartbeatResponse]
    assert peer.answers[1].error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_behind_it_does_not_wait(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    peer.send(OffsetCommitRequest(group_id="g"))
    assert len(waiting) == 1 and codes(peer) == [ErrorCode.NONE]


def test_the_end_of_the_connection_drops_it_and_renews_nothing(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    member = members[0].cluster.group().members[members[0].member_id]
    ends_ms = member.session_deadline_ms
    pass_time(edge, 1)
    peer.connection.eof_received()
    assert member.parked is None
    assert edge.runtime.core.timers.parked_heartbeats.waiting == 0
    leave(edge, members[1])
    assert peer.transport.writes == 0 and member.session_deadline_ms == ends_ms
    assert released(edge) == {"connection_lost": 1}


def test_a_stop_answers_it(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    peer.connection.stop_reading()
    edge.runtime.execute(edge.runtime.core.shutdown(edge.runtime.now_ms()))
    edge.runtime.end_of_event()
    assert codes(peer) == [ErrorCode.NOT_COORDINATOR]


def test_a_newer_one_on_another_connection_releases_it(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    other = java(edge)
    other.send(beat(members[0]))
    assert codes(peer) == codes(other) == [ErrorCode.NONE]
    assert released(edge) == {"other_connection": 1}
    other.send(beat(members[0]))
    assert len(other.answers) == 1, "it is parked"


def test_one_that_is_recognised_on_another_connection_releases_it(
    edge: Edge, peer: Peer, members: list[Member]
) -> None:
    """The other client may not be parked, and its heartbeats have been recognised before."""
    other = edge.peer()
    other.send(beat(members[0]))
    other.send(beat(members[0]))
    peer.send(beat(members[0]))
    other.send(beat(members[0]))
    assert (len(other.answers), len(peer.answers)) == (3, 1)


def test_a_connection_with_a_parked_one_is_not_idle(edge: Edge, peer: Peer, members: list[Member]) -> None:
    peer.send(beat(members[0]))
    assert peer.connection.overdue(edge.runtime.now_ms() + 10 * edge.config.connections_max_idle_ms) == ""


def test_it_is_not_in_the_latency_of_heartbeats(edge: Edge, peer: Peer, members: list[Member]) -> None:
    for _ in range(3):
        peer.send(beat(members[0]))
    pass_time(edge, 4)
    assert len(peer.answers) == 3
    assert edge.runtime.routes.latency["HEARTBEAT"].count == 0
    assert edge.runtime.heartbeats_by_template == 0


def test_many_are_released_in_steps(members: list[Member]) -> None:
    crowd = Cluster().stable_group(members=REPLIES_AT_ONCE + 50)
    edge = edge_of(crowd)
    peers = [java(edge) for _ in crowd]
    for peer, member in zip(peers, crowd, strict=True):
        peer.send(beat(member))
    leave(edge, crowd[-1])
    assert not any(peer.answers for peer in peers), "the event itself answers none of so many"
    edge.loop.run_ready()
    assert [codes(peer) for peer in peers[:-1]] == [[ErrorCode.REBALANCE_IN_PROGRESS]] * (len(crowd) - 1)


class TestHeldSyncGroup:
    """A SyncGroup that the core holds: like a parked heartbeat, it holds up nothing behind it."""

    @pytest.fixture
    def round_(self) -> FirstRound:
        round_ = FirstRound(Cluster())
        round_.assign(given(0, 1), given(4, 5), given())
        return round_

    @pytest.fixture
    def edge(self, round_: FirstRound) -> Edge:
        return edge_of([round_.newcomer])

    def request(self, member: Member) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id="g",
            generation_id=member.generation,
            member_id=member.member_id,
            protocol_type="consumer",
            protocol_name=COOPERATIVE,
        )

    def waiting(self, edge: Edge) -> int:
        return edge.runtime.core.timers.parked_heartbeats.waiting

    def test_it_is_answered_when_the_group_rebalances(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(self.request(round_.newcomer))
        assert not peer.answers
        assert self.waiting(edge) == 1
        leave(edge, round_.keeper)
        assert codes(peer) == [ErrorCode.REBALANCE_IN_PROGRESS]

    def test_the_first_byte_behind_it_releases_it(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(self.request(round_.newcomer))
        peer.connection.data_received(b"\0")
        assert [(each.error_code, each.assignment) for each in peer.answers] == [(0, given())]

    def test_so_it_does_behind_a_heartbeat_that_was_parked_before(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(beat(round_.keeper))
        pass_time(edge, 4)
        peer.send(self.request(round_.newcomer))
        peer.connection.data_received(b"\0")
        assert codes(peer) == [ErrorCode.NONE] * 2

    def test_a_request_behind_it_is_answered_in_the_same_event(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(self.request(round_.newcomer))
        peer.send(FindCoordinatorRequest())
        assert [type(each) for each in peer.answers] == [SyncGroupResponse, FindCoordinatorResponse]

    def test_it_is_not_held_with_a_request_behind_it(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(self.request(round_.newcomer), FindCoordinatorRequest())
        edge.loop.run_ready()
        assert len(peer.answers) == 2

    def test_nor_if_bytes_came_while_it_waited_for_the_leader(self) -> None:
        round_ = FirstRound(Cluster())
        edge = edge_of([round_.newcomer])
        peer = java(edge)
        peer.send(self.request(round_.newcomer))
        peer.connection.data_received(b"\0")
        (ticket,) = [each.parked_sync for each in round_.cluster.group().members.values() if each.parked_sync]
        assert not ticket.may_be_held

    def test_the_end_of_the_connection_drops_it(self, edge: Edge, round_: FirstRound) -> None:
        peer = java(edge)
        peer.send(self.request(round_.newcomer))
        peer.connection.eof_received()
        assert self.waiting(edge) == 0 and peer.transport.writes == 0

    def test_a_client_that_may_not_be_parked_is_answered(self, edge: Edge, round_: FirstRound) -> None:
        peer = edge.peer()
        peer.send(self.request(round_.newcomer))
        assert codes(peer) == [ErrorCode.NONE]


class TestWhoIsParked:
    def is_parked(self, edge: Edge, peer: Peer, member: Member, client_id: str = "peer") -> bool:
        answers = len(peer.answers)
        peer.send(beat(member), client_id=client_id)
        return len(peer.answers) == answers

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("apache-kafka-java", True),
            ("kgo", True),
            ("kafka-python", True),
            ("librdkafka", True),
            ("confluent-kafka-python", True),
            ("confluent-kafka-", True),
            ("confluent-kafka", False),
            ("sarama", False),
            ("kgo2", False),
            ("KGO", False),
        ],
    )
    def test_by_its_name(self, edge: Edge, members: list[Member], name: str, expected: bool) -> None:
        peer = edge.peer()
        if name.endswith("-"):  # not a name that ApiVersions takes
            peer.connection.identified(ClientSoftware(name, "1"))
        else:
            peer.send(ApiVersionsRequest(client_software_name=name, client_software_version="1"), version=3)
        assert self.is_parked(edge, peer, members[0]) is expected

    def test_not_without_a_name(self, edge: Edge, members: list[Member]) -> None:
        peer = edge.peer()
        peer.send(ApiVersionsRequest(), version=0)
        assert not self.is_parked(edge, peer, members[0])

    @pytest.mark.parametrize(
        ("name", "client_id", "expected"),
        [("", "aiokafka-1", True), ("", "web", True), ("", "web-1", False), ("sarama", "web", False)],
    )
    def test_by_client_id_only_if_it_sends_no_name(
        self, members: list[Member], name: str, client_id: str, expected: bool
    ) -> None:
        edge = edge_of(members, group_heartbeat_park_client_ids="aiokafka-*, web")
        peer = edge.peer()
        if name:
            peer.connection.identified(ClientSoftware(name, "1"))
        assert self.is_parked(edge, peer, members[0], client_id) is expected

    def test_none_while_it_is_off(self, members: list[Member]) -> None:
        edge = edge_of(members, group_heartbeat_park_ms=0)
        assert not self.is_parked(edge, java(edge), members[0])
