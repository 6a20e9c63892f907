"""The console over HTTP: its page, its answers, its streams, and what it refuses."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import pytest

from coordinator.config.config import Config
from coordinator.config.values import parse_address
from coordinator.console.model import ClusterView, GroupList, GroupPage, GroupRow, Kicked
from coordinator.console.source import ConsoleError, ListQuestion
from coordinator.core.events.model import Story
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.http.parts import HttpParts
from coordinator.http.port import HttpPort
from coordinator.metrics.health import ServerStatus

pytestmark = pytest.mark.integration
ODD = "<script>alert(1)</script> a/b?c#d \N{PILE OF POO}\u202e\x07"


class Source:
    """Answers with what tests set."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.problem: ConsoleError | None = None
        self.lag = 0

    async def cluster(self) -> ClusterView:
        return ClusterView(
            at_ms=1,
            kind="coordinator",
            cluster_id="c",
            bootstrap_servers="h:1",
            nodes=[],
            groups=1,
            can_kick=True,
            history="",
        )

    async def groups(self, question: ListQuestion) -> GroupList:
        self.asked.append(("groups", question))
        rows = [GroupRow(group=ODD, state="Stable", lag=self.lag)]
        return GroupList(at_ms=1, total=1, matched=1, offset=0, states={}, groups=rows, sample_ms=1)

    async def group(self, group: str, at_ms: int | None = None) -> GroupPage:
        self.asked.append(("group", group, at_ms))
        if self.problem is not None:
            raise self.problem
        verdict = GroupVerdict(code=Finding.HEALTHY, sentence=group)
        return GroupPage(group=group, at_ms=1, verdicts=[verdict], story=Story(at_ms=1))

    async def kick(self, group: str, member_id: str, reason: str) -> Kicked:
        self.asked.append(("kick", group, member_id, reason))
        return Kicked(group=group, member_id=member_id)


class Console:
    """A port with a console, and a client of it."""

    def __init__(self, port: int, source: Source) -> None:
        self.port = port
        self.source = source

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        is_json = (answer.headers["Content-Type"] or "").startswith("application/json")
        return answer.status, msgspec.json.decode(data) if is_json else data

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            client.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            lines = client.makefile("rb")
            assert b" 200 " in lines.readline()
            yield events(lines)


def events(lines: Any) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
        elif line.startswith(b"data: "):
            yield name, msgspec.json.decode(line[6:])


@contextmanager
def console(**settings: Any) -> Iterator[Console]:
    source = Source()
    config = Config(http_listen="127.0.0.1:0", **settings)
    ready = ServerStatus(True, "")
    port = HttpPort(parse_address(config.http_listen), config, HttpParts(lambda: ready, console=lambda: source))
    try:
        yield Console(port.start()[1], source)
    finally:
        port.close()


@pytest.fixture
def open_console() -> Iterator[Console]:
    with console() as found:
        yield found


def test_the_page_and_its_files_are_served(open_console: Console) -> None:
    status, page = open_console.ask("/")
    assert (status, page[:15]) == (200, b"<!doctype html>")
    assert open_console.ask("/static/app.js")[0] == 200
    for path in ("/static/none.js", "/static/../routes.py", "/static/%2e%2e%2froutes.py"):
        assert open_console.ask(path)[0] == 404
    assert open_console.ask("/healthz")[0] == 200


def test_questions_reach_the_source_and_answers_are_json(open_console: Console) -> None:
    status, answer = open_console.ask("/api/groups?search=or&state=Stable&sort=lag&reverse=1&offset=50&limit=10")
    assert (status, answer["groups"][0]["group"]) == (200, ODD)
    question = ListQuestion("or", "Stable", "lag", True, 50, 10)
    assert open_console.source.asked == [("groups", question)]
    assert open_console.ask("/api/cluster")[1]["cluster_id"] == "c"


def test_a_group_has_any_name(open_console: Console) -> None:
    from urllib.parse import quote

    assert open_console.ask(f"/api/group?id={quote(ODD)}&at=5")[1]["verdicts"][0]["sentence"] == ODD
    assert open_console.source.asked == [("group", ODD, 5)]


@pytest.mark.parametrize(
    "path",
    ["/api/group", "/api/group?id=g&at=x", "/api/group?id=g&at=-1", "/api/groups?limit=0", "/api/groups?offset=1e3"],
)
def test_wrong_questions_get_a_sentence(open_console: Console, path: str) -> None:
    status, answer = open_console.ask(path)
    assert (status, list(answer)) == (400, ["error"])


def test_a_group_that_is_not_known_is_404_also_as_a_stream(open_console: Console) -> None:
    open_console.source.problem = ConsoleError("there is no such group", 404)
    for path in ("/api/group?id=g", "/api/stream/group?id=g"):
        assert open_console.ask(path) == (404, {"error": "there is no such group"})
    assert open_console.ask("/api/nothing")[0] == 404


def test_a_stream_sends_what_has_changed_and_problems_as_they_come(open_console: Console) -> None:
    source = open_console.source
    with open_console.stream("/api/stream/group?id=g") as stream:
        assert next(stream)[0] == "group"
        source.problem = ConsoleError("the coordinator cannot be asked")
        assert next(stream) == ("problem", {"error": "the coordinator cannot be asked"})
        source.problem = None
        assert next(stream)[0] == "group"
    with open_console.stream("/api/stream/groups") as stream:
        assert next(stream)[1]["groups"][0].get("lag") == 0
        source.lag = 7
        assert next(stream)[1]["groups"][0]["lag"] == 7


def test_as_many_streams_as_allowed_are_open_and_one_more_ends_the_oldest() -> None:
    with console(http_max_connections=6) as found, ExitStack() as opened:
        streams = [opened.enter_context(found.stream("/api/stream/group?id=g")) for _ in range(3)]
        for stream in streams:
            assert next(stream)[0] == "group"
        newest = opened.enter_context(found.stream("/api/stream/group?id=g"))
        assert next(newest)[0] == "group"
        assert list(streams[0])[-1] == ("problem", {"error": "too many pages are open; this one was ended"})
        assert found.ask("/api/cluster")[0] == 200


def test_pages_that_reconnect_again_and_again_leave_nothing_behind(open_console: Console) -> None:
    for _ in range(100):
        with open_console.stream("/api/stream/group?id=g") as stream:
            next(stream)
    assert open_console.ask("/api/cluster")[0] == 200


def test_without_a_token_the_console_only_shows(open_console: Console) -> None:
    status, answer = open_console.ask("/api/kick", "POST", b"{}")
    assert (status, "http.admin.token" in answer["error"]) == (403, True)


def test_a_member_is_removed_with_the_token_and_not_without() -> None:
    body = msgspec.json.encode({"group": ODD, "member_id": "m", "reason": "r"})
    with console(http_admin_token="schlüssel") as found:
        for given in ("", "Bearer ", "Bearer schlüsse", "schlüssel", "Bearer \xff"):
            assert found.ask("/api/kick", "POST", body, Authorization=given.encode().decode("latin-1"))[0] == 401
        right = "Bearer schlüssel".encode().decode("latin-1")
        assert found.ask("/api/kick", "POST", body, Authorization=right) == (200, {"group": ODD, "member_id": "m"})
        assert found.source.asked == [("kick", ODD, "m", "r")]
        for wrong, status in ((b"[]", 400), (b"{", 400), (b'{"group": 1}', 400), (b" " * 70_000, 413)):
            assert found.ask("/api/kick", "POST", wrong, Authorization=right)[0] == status


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("[::1]:80", 200), ("evil.example", 403)])
def test_a_local_console_answers_to_names_of_this_machine_alone(open_console: Console, host: str, status: int) -> None:
    assert open_console.ask("/api/groups", Host=host)[0] == status


def test_answers_cannot_be_read_by_other_sites(open_console: Console) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", open_console.port, timeout=30)
    connection.request("GET", "/", headers={"Origin": "http://evil.example"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.headers["Access-Control-Allow-Origin"] is None
    assert "default-src 'self'" in (answer.headers["Content-Security-Policy"] or "")
