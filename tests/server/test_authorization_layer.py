"""Access rules before a connection that recognises and parks the requests it has seen before."""

from __future__ import annotations

import pytest

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware
from coordinator.server import authorization_layer
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
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
