"""Requests that a benchmark reads off the loopback interface."""

from __future__ import annotations

import time

import pytest

from bench.requests_seen import frames, seen
from protocol.api_keys import ApiKey
from protocol.messages.fetch import FetchRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.leave_group import LeaveGroupRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.machine_tools import not_run
from tests.support.wire import call, encode_frame

HEARTBEAT = encode_frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4, 1, "client")
LEAVE = encode_frame(LeaveGroupRequest(group_id="g", members=[]), 5, 2, "client")
FETCH = encode_frame(FetchRequest(), 4, 3, "client")


def test_each_group_request_of_a_segment_is_found_with_its_client_id() -> None:
    assert list(frames(HEARTBEAT + FETCH + LEAVE)) == [(ApiKey.HEARTBEAT, "client"), (ApiKey.LEAVE_GROUP, "client")]


def test_bytes_that_begin_no_request_are_passed_over() -> None:
    assert list(frames(b"")) == []
    assert list(frames(HEARTBEAT[:9])) == []
    assert list(frames(b"\xff" * 100)) == []


@pytest.mark.integration
def test_a_request_is_seen_when_it_came_and_at_its_own_port(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with Daemon(tmp_path_factory.mktemp("one")) as one, Daemon(tmp_path_factory.mktemp("two")) as two:
        requests = seen([one.port, two.port])
        if requests is None:
            not_run("as root, for CAP_NET_RAW")
        with requests:
            begun_ns = time.monotonic_ns()
            call(one.port, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
            answered_ns = time.monotonic_ns()
            at_ns = eventually(
                lambda: requests.first(one.port, "wire", ApiKey.HEARTBEAT, begun_ns), "the request is seen"
            )
            assert begun_ns < at_ns < answered_ns
            assert requests.last(one.port, "wire", answered_ns) == at_ns
            assert requests.count(one.port, "wire", ApiKey.HEARTBEAT, begun_ns, answered_ns) == 1
            assert requests.count(one.port, "wire", ApiKey.HEARTBEAT, answered_ns, answered_ns + 1) == 0
            assert requests.last(one.port, "wire", begun_ns) is None
            assert requests.first(two.port, "wire", ApiKey.HEARTBEAT, begun_ns) is None
            assert requests.first(one.port, "wire", ApiKey.LEAVE_GROUP, begun_ns) is None
