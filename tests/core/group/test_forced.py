"""Rebalances and expirations that are asked for: the group does what it does for a client's reason."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import Ticket
from coordinator.core.group.forced import ExpireMember, ForceRebalance
from protocol.error_codes import ErrorCode
from tests.support.call import Call
from tests.support.cluster import Cluster


def asked(cluster: Cluster, command: Any) -> ErrorCode:
    call = Call("forced", 0)
    cluster.execute(cluster.core.handle(command, Ticket(call), cluster.clock.now_ms))
    return ErrorCode(call.answer)


def test_a_forced_rebalance_has_all_members_join_again(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    assert asked(cluster, ForceRebalance("g")) is ErrorCode.NONE
    assert cluster.state() == "PreparingRebalance"
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    a.join()
    b.join()
    assert (a.generation, b.generation) == (2, 2)


@pytest.mark.parametrize("command", [ForceRebalance("no such"), ExpireMember("no such", "a")])
def test_a_group_that_does_not_exist(cluster: Cluster, command: Any) -> None:
    assert asked(cluster, command) is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_expired_member_is_gone(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    assert asked(cluster, ExpireMember("g", a.member_id)) is ErrorCode.NONE
    assert a.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert b.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert asked(cluster, ExpireMember("g", a.member_id)) is ErrorCode.UNKNOWN_MEMBER_ID
    b.join()
    assert asked(cluster, ExpireMember("g", b.member_id)) in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
