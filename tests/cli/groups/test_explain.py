"""`coordinator groups explain` and `watch` against scripted brokers: ours, a real Kafka, and what is no broker."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.cli.groups import explain
from coordinator.cli.main import main
from coordinator.core.events.model import encode
from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.explain_group import ExplainGroupRequest, ExplainGroupResponse
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.explain.play import Play
from tests.explain.test_loops import poll_loop
from tests.support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.integration


class Ours:
    """A broker of this project with one group, "g", whose story a play writes. `answers_explain` False: a Kafka."""

    def __init__(self) -> None:
        self.play = Play()
        self.answers_explain = True
        self.errors: list[ErrorCode] = []
        self.node = ScriptedBroker(
            {
                MetadataRequest: self._metadata,
                FindCoordinatorRequest: self._find_coordinator,
                ExplainGroupRequest: self._explain,
                ListGroupsRequest: lambda request, version: ListGroupsResponse(
                    groups=[ListedGroup(name) for name in ("orders-service", "payments", "g")]
                ),
                DescribeGroupsRequest: self._describe,
            }
        )

    def _metadata(self, request: Any, version: int) -> MetadataResponse:
        return MetadataResponse(brokers=[MetadataResponseBroker(1, "127.0.0.1", self.node.port)], controller_id=1)

    def _find_coordinator(self, request: Any, version: int) -> FindCoordinatorResponse:
        where = Coordinator(request.key, 1, "127.0.0.1", self.node.port)
        return FindCoordinatorResponse(node_id=1, host=where.host, port=where.port, coordinators=[where])

    def _explain(self, request: ExplainGroupRequest, version: int) -> ExplainGroupResponse:
        if not self.answers_explain:
            raise ConnectionAbortedError  # a Kafka closes the connection on a key that it does not know
        if self.errors:
            return ExplainGroupResponse(error_code=self.errors.pop())
        if request.group_id != "g":
            return ExplainGroupResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        return ExplainGroupResponse(story=encode(self.play.story()))

    def _describe(self, request: DescribeGroupsRequest, version: int) -> DescribeGroupsResponse:
        if request.groups != ["g"]:
            return DescribeGroupsResponse(
                groups=[DescribedGroup(group_id=request.groups[0], group_state="Dead", error_code=69)]
            )
        members = [DescribedGroupMember(member_id=name, client_id=name, client_host="/h") for name in ("a", "b\x1b[2J")]
        return DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="Stable", members=members)])

    def run(self, *words: str) -> int:
        return main(["groups", *words, "--bootstrap-server", self.node.address])


@pytest.fixture
def ours() -> Iterator[Ours]:
    ours = Ours()
    with ours.node:
        yield ours


@pytest.mark.parametrize("verb", ["explain", "why"])
def test_the_first_line_is_the_sentence(ours: Ours, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    web, slow = ours.play.clients("web-1", "web-7", rebalance_timeout="8s")
    poll_loop(ours.play, slow, web, 4)
    assert ours.run(verb, "g", "--last", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Rebalanced 7 times since ") and "web-7 (pod-web-7, librdkafka 2.16) left" in lines[0]
    assert lines[1].startswith("  web-7 works for longer than that between two polls.")
    assert lines[2] == "" and lines[3].startswith("WHEN ")
    assert len(lines) == 8 and "member joined" in lines[4] and "member left" in lines[5]
    assert lines[7] == "Since the coordinator started: 8 rebalances, 0 refused commits, 0 fenced or replaced members"


def test_json_has_all_verdicts_and_the_story(ours: Ours, capsys: pytest.CaptureFixture[str]) -> None:
    web, slow = ours.play.clients("web-1", "web-7", rebalance_timeout="8s")
    poll_loop(ours.play, slow, web, 2)
    slow.commit({("orders", 0): 7})
    assert ours.run("explain", "g", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [verdict["code"] for verdict in found["verdicts"]] == ["poll_interval", "stale_commits"]
    headline = found["verdicts"][0]
    assert headline["culprit"]["client_id"] == "web-7"
    assert [found["story"]["events"][number]["trigger"]["cause"] for number in headline["evidence"]] == [
        "member_left",
        "member_left",
    ]


def test_ids_cannot_control_the_terminal(ours: Ours, capsys: pytest.CaptureFixture[str]) -> None:
    (web,) = ours.play.clients("web\x1b[2J\u202e", host="/h")
    web.leave("gone\x07")
    assert ours.run("explain", "g") == 0
    out = capsys.readouterr().out
    assert out.replace("\n", "").isprintable()
    assert "web\\x1b[2J\\u202e" in out and "gone\\x07" in out


def test_a_group_that_does_not_exist_is_not_found(ours: Ours, capsys: pytest.CaptureFixture[str]) -> None:
    assert ours.run("explain", "order-service") == 1
    assert capsys.readouterr().err == (
        "coordinator: there is no group 'order-service'; did you mean 'orders-service'?\n"
    )
    assert ours.run("explain", "zzz") == 1
    assert "`coordinator groups list` shows those there are" in capsys.readouterr().err


def test_a_coordinator_that_loads_is_asked_again(ours: Ours, capsys: pytest.CaptureFixture[str]) -> None:
    ours.play.clients("web-1")
    ours.errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    assert ours.run("explain", "g") == 0
    assert capsys.readouterr().out.startswith("Healthy for ")


def test_a_real_kafka_is_told_apart_and_described(ours: Ours, capsys: pytest.CaptureFixture[str]) -> None:
    ours.answers_explain = False
    assert ours.run("explain", "g") == 2
    err = capsys.readouterr().err
    assert "is not this project's coordinator" in err
    assert err.endswith("DescribeGroups says: the group is Stable and has 2 members (a on h, b\\x1b[2J on h)\n")
    assert ours.run("watch", "nosuch") == 2
    assert "DescribeGroups says: there is no group 'nosuch'" in capsys.readouterr().err


def test_a_line_is_printed_whenever_the_verdict_changes(
    ours: Ours, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    web, slow = ours.play.clients("web-1", "slow-1", rebalance_timeout="5m")
    turns = iter(range(6))

    def second(_: float) -> None:
        turn = next(turns)
        if turn == 1:
            web.join()
        elif turn == 5:
            raise KeyboardInterrupt
        ours.errors = [ErrorCode.INVALID_GROUP_ID] if turn == 3 else []
        ours.play.wait("9s", slow, *([web] if turn == 0 else []))

    monkeypatch.setattr(explain, "time", SimpleNamespace(sleep=second))  # other threads of this process sleep, too
    assert ours.run("watch", "g") == 130
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 4, lines
    assert lines[0].startswith("Healthy")
    assert lines[1].startswith("Waiting 9 s for slow-1")  # once, although the next second has another duration
    assert "INVALID_GROUP_ID" in lines[2]
    assert lines[3].startswith("Waiting 36 s for slow-1")


def test_a_terminal_is_redrawn_each_second(
    ours: Ours, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (web,) = ours.play.clients("web-1")
    seconds = iter(range(3))

    def second(_: float) -> None:
        if next(seconds) == 2:
            raise KeyboardInterrupt
        ours.play.wait("3s", web)

    monkeypatch.setattr(explain, "time", SimpleNamespace(sleep=second))  # other threads of this process sleep, too
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert ours.run("explain", "g", "--watch", "--last", "0") == 130
    pages = capsys.readouterr().out.split(explain.CLEAR)[1:]
    assert [page.splitlines()[2] for page in pages] == [
        f"Healthy for {seconds}: 1 member, 6 partitions" for seconds in ("0 ms", "3 s", "6 s")
    ]
    assert all(page.startswith("'g' at ") and "Ctrl-C ends" in page for page in pages)


def test_what_is_no_broker_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedBroker() as node:
        port = node.port
    assert main(["groups", "explain", "g", "--bootstrap-server", f"127.0.0.1:{port}"]) == 2
    assert "cannot connect to" in capsys.readouterr().err
    for greeting in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x46"):
        with _Speaker(greeting) as address:
            assert main(["groups", "explain", "g", "--bootstrap-server", address, "--timeout", "3"]) == 2
        err = capsys.readouterr().err
        assert err.startswith("coordinator: 127.0.0.1:") and err.count("\n") == 1


class _Speaker:
    """A server that says one thing and closes, like one of HTTP or TLS."""

    def __init__(self, greeting: bytes) -> None:
        import socket

        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(self._greeting)
