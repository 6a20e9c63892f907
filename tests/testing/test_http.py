"""The verbs over HTTP without a process: who may call them, how they end, and what their arguments may be."""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from typing import Any, Final

import msgspec
import pytest

from coordinator.config.config import Config
from coordinator.config.values import Address
from coordinator.http.parts import HttpParts
from coordinator.http.port import HttpPort
from coordinator.metrics.health import ServerStatus
from coordinator.server.server import PortFiles, StartupError
from coordinator.testing import Coordinator, daemon
from coordinator.testing import http as verbs_http
from coordinator.testing.http import VerbCommands
from coordinator.testing.verbs import Verbs
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration
ORDERS = "orders"
NO_VERBS: Final = "no verbs here; start with --profile test"


@pytest.fixture
def coordinator() -> Iterator[Coordinator]:
    with Coordinator(topics={ORDERS: 1}) as running:
        yield running


def commands_of(coordinator: Coordinator, token: str = "") -> VerbCommands:
    async def made() -> VerbCommands:
        return VerbCommands(coordinator.verbs, asyncio.get_running_loop(), token)

    return coordinator.run(made())


def ask(commands: VerbCommands, query: str, **headers: str) -> tuple[int, Any]:
    path, _, rest = query.partition("?")
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    status, body = commands(f"/test/{path}", rest, message)
    answer = msgspec.json.decode(body)
    return int(status), answer["error"] if status != HTTPStatus.OK else answer


@pytest.mark.parametrize("host", ["127.0.0.1:9080", "localhost:9080", "localhost", "[::1]:9080", "127.0.0.2"])
def test_a_program_on_this_machine_needs_no_token(coordinator: Coordinator, host: str) -> None:
    assert ask(commands_of(coordinator), "groups", Host=host) == (200, [])


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:9080"},
        {"Host": "10.0.0.1:9080"},
        {"Host": "localhost:9080", "Origin": "https://evil.example"},
        {"Host": "localhost:9080", "Sec_Fetch_Site": "cross-site"},
    ],
)
def test_a_page_in_a_browser_cannot_use_verbs_without_a_token(
    coordinator: Coordinator, headers: dict[str, str]
) -> None:
    code, sentence = ask(commands_of(coordinator), "groups", **headers)
    assert code == 403
    assert "set test.verbs.token" in sentence
    trusted = commands_of(coordinator, token="s3cret")
    assert ask(trusted, "groups", Authorization="Bearer s3cret", **headers) == (200, [])


@pytest.mark.parametrize("given", ["", "Bearer s3cre", "Bearer \xe9", "Bearer s3cret\xe9"])
def test_another_token_is_refused(coordinator: Coordinator, given: str) -> None:
    assert ask(commands_of(coordinator, token="s3cret"), "groups", Authorization=given)[0] == 401


def test_a_token_may_have_any_characters(coordinator: Coordinator) -> None:
    given = "Bearer schlüssel"
    assert ask(commands_of(coordinator, token="schlüssel"), "groups", Authorization=given) == (200, [])


def test_verbs_without_a_token_are_not_served_to_the_network() -> None:
    config = Config(log_dirs=":memory:", test_verbs_enable=True, http_listen="0.0.0.0:0", is_http_given=True)
    with pytest.raises(StartupError, match=r"open to the network.*--http 127\.0\.0\.1:.*test\.verbs\.token"):
        daemon.run(config, PortFiles(), ready=lambda address: None)


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "601", "1e9"])
@pytest.mark.parametrize("verb", ["wait_stable?group=g&timeout", "restart?down", "pause?seconds"])
def test_a_verb_does_not_wait_for_ever(coordinator: Coordinator, verb: str, number: str) -> None:
    code, sentence = ask(commands_of(coordinator), f"{verb}={number}")
    assert (code, sentence) == (400, f"{verb.rpartition('&')[2].rpartition('?')[2]}={number}: give 0 to 600 seconds")


def test_time_may_go_forward_by_more(coordinator: Coordinator) -> None:
    assert ask(commands_of(coordinator), "advance?seconds=86400") == (200, None)
    assert ask(commands_of(coordinator), "advance?seconds=nan")[0] == 400


def test_a_verb_that_does_not_end_is_given_up(coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs_http, "GIVE_UP_S", 0.05)
    code, sentence = ask(commands_of(coordinator), "wait_stable?group=g&timeout=60")
    assert (code, sentence) == (408, "wait_stable had not ended after 0.05 s and was given up")

    async def waiting() -> list[str]:
        return [str(task.get_coro()) for task in asyncio.all_tasks() if "wait_stable" in str(task.get_coro())]

    assert coordinator.run(waiting()) == []


def test_a_record_may_have_a_key(coordinator: Coordinator) -> None:
    assert ask(commands_of(coordinator), "produce?topic=orders&values=a&key=k") == (200, 0)


class Broken(Verbs):
    """Verbs of which one has a bug."""

    async def groups(self) -> list[str]:
        raise KeyError("a bug")


def test_an_unexpected_error_is_answered_and_logged_once(
    coordinator: Coordinator, caplog: pytest.LogCaptureFixture
) -> None:
    async def made() -> VerbCommands:
        return VerbCommands(Broken(coordinator.verbs._host), asyncio.get_running_loop())

    with caplog.at_level(logging.ERROR):
        assert ask(coordinator.run(made()), "groups") == (500, "KeyError: 'a bug'")
    assert [record.message for record in caplog.records] == ["the verb groups failed"]


def test_as_many_verbs_as_there_are_slots() -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def wait(path: str, query: str, headers: Any) -> tuple[HTTPStatus, bytes]:
        begun.release()
        go_on.wait(30)
        return HTTPStatus.OK, b"null"

    def post(port: int) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/test/groups")
        answer = connection.getresponse()
        body = msgspec.json.decode(answer.read())
        connection.close()
        return answer.status, body

    ready = ServerStatus(True, "")
    config = Config(http_listen="127.0.0.1:0", test_verbs_max_running=3)
    server = HttpPort(Address("127.0.0.1", 0), config, HttpParts(lambda: ready, wait))
    _, port = server.start()
    threads = [threading.Thread(target=post, args=(port,)) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=30)
        assert post(port) == (503, {"error": "3 verbs run already, wait for one to end"})
    finally:
        go_on.set()
        for thread in threads:
            thread.join(30)
        server.close()
    without = HttpPort(Address("127.0.0.1", 0), config, HttpParts(lambda: ready))
    _, port = without.start()
    try:
        assert post(port) == (404, {"error": NO_VERBS})
    finally:
        without.close()


def test_verbs_whose_form_is_still_to_come_count_until_their_clients_go() -> None:
    def post(port: int) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/test/groups")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    config = Config(http_listen="127.0.0.1:0", test_verbs_max_running=2)
    ready = ServerStatus(True, "")
    server = HttpPort(Address("127.0.0.1", 0), config, HttpParts(lambda: ready, lambda *_: (HTTPStatus.OK, b"[]")))
    _, port = server.start()
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    try:
        for each in slow:
            each.sendall(b"POST /test/groups HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nname")
        eventually(lambda: post(port)[0] == HTTPStatus.SERVICE_UNAVAILABLE, "a refusal")
        for each in slow:
            each.close()
        eventually(lambda: post(port)[0] == HTTPStatus.OK, "room for another verb")
    finally:
        server.close()
