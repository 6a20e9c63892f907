"""Access rules before a connection that recognises and parks the requests it has seen before."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Ticket
from coordinator.server import authorization_layer
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest
from tests.server.api.authorization_kit import Rights
from tests.support.cluster import Cluster
from tests.support.edge import Edge

JAVA = ClientSoftware("apache-kafka-java", "4.4.0")  # a client whose heartbeats are parked


@pytest.mark.parametrize("software", [UNKNOWN_SOFTWARE, JAVA])
def test_a_refused_heartbeat_is_refused_each_time_it_is_repeated(software: ClientSoftware) -> None:
    (member,) = Cluster().stable_group(members=1)
    cluster = member.cluster
    edge = Edge({ApiKey.HEARTBEAT: HANDLERS[ApiKey.HEARTBEAT].handle}, core=cluster.core, now_ms=cluster.clock.now_ms)
    rights = Rights()
    authorization_layer.install(edge.runtime.routes, lambda *_: rights)
    peer = edge.peer()
    peer.connection.identified(software)
    for _ in range(3):
        peer.send(HeartbeatRequest(member.group_id, member.generation, member.member_id))
    assert [each.error_code for each in peer.answers] == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 3


@pytest.mark.parametrize("key", [ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.JOIN_GROUP])
def test_the_topics_of_a_regular_expression_are_filtered_by_the_rights_of_the_client(key: ApiKey) -> None:
    tickets: list[Ticket] = []

    def keep(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        tickets.append(ticket)

    edge = Edge({key: keep})
    rights = Rights("READ group g", "DESCRIBE topic yes")
    authorization_layer.install(edge.runtime.routes, lambda *_: rights)
    request: Any = (
        ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, subscribed_topic_names=None)
        if key is ApiKey.CONSUMER_GROUP_HEARTBEAT
        else JoinGroupRequest(group_id="g", protocol_type="consumer", protocols=[])
    )
    edge.peer().send(request)
    (ticket,) = tickets
    assert ticket.describable is not None
    assert ticket.describable(["no", "yes"]) == {"yes"}
    assert rights.logged == [], "no audit line, as in Kafka"
