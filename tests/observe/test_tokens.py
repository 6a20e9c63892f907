"""Tokens from an endpoint: asked for with client credentials, kept while they are valid, and what goes wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from coordinator.observe.client_settings import TokenSource
from coordinator.observe.errors import ClusterProblem
from coordinator.observe.tokens import TokenProvider


class Endpoint(HTTPServer):
    """Gives tokens with numbers. `seen` are the requests."""

    life_s = 300
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str | None, bytes]] = []


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.seen.append((self.headers["Authorization"], self.rfile.read(size)))
        self.send_response(self.server.status)
        self.end_headers()
        answer = {"access_token": f"token-{len(self.server.seen)}", "expires_in": self.server.life_s}
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def source(endpoint: Endpoint) -> TokenSource:
    return TokenSource(f"http://127.0.0.1:{endpoint.server_port}/token", "me", "secret", "kafka")


async def test_a_token_is_asked_for_once_while_it_is_valid(endpoint: Endpoint) -> None:
    tokens = TokenProvider(source(endpoint))
    assert [await tokens.token(), await tokens.token()] == ["token-1", "token-1"]
    assert endpoint.seen == [("Basic bWU6c2VjcmV0", b"grant_type=client_credentials&scope=kafka")]


async def test_a_token_that_ends_soon_is_replaced(endpoint: Endpoint) -> None:
    endpoint.life_s = 20
    tokens = TokenProvider(source(endpoint))
    assert [await tokens.token(), await tokens.token()] == ["token-1", "token-2"]


async def test_a_refused_request_is_one_sentence_without_the_secret(endpoint: Endpoint) -> None:
    endpoint.status = 401
    with pytest.raises(ClusterProblem, match=r"no OAUTHBEARER token can be had from .*401") as problem:
        await TokenProvider(source(endpoint)).token()
    assert "secret" not in str(problem.value).replace("id and secret", "")
