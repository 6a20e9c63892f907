"""The HTTP port: any head of a request gets a whole response or none, and any query of a verb is read or refused."""

from __future__ import annotations

from email.message import Message
from http import HTTPStatus
from io import BytesIO
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from coordinator.metrics.health import ServerStatus
from coordinator.metrics.http_handler import HttpHandler
from coordinator.testing.errors import CoordinatorTestingError
from coordinator.testing.http import PREFIX, arguments_of, verb_names
from coordinator.testing.verbs import Verbs
from tests.fuzz.edits import edited

PATHS: Final = ("/", "/healthz", "/readyz", "/metrics", "/nothing", "/readyz?x=1", "http://h/healthz", "//", "*")
QUERIES: Final = (
    *(
        "topic=orders",
        "values=a&values=b",
        "down=1",
        "down=nan",
        "group=g&timeout=5",
        "orders=3",
        "seconds=1e400",
        "a=%ff",
    ),
    *(
        "api=OffsetCommit&error=NOT_COORDINATOR&times=2",
        "partition=-1",
        "offset=99999999999999999999",
        "times=%31",
        "&&",
        "=",
    ),
)


def status() -> Any:
    return ServerStatus(True, "", ())


def commands(path: str, query: str, headers: Message) -> tuple[HTTPStatus, bytes]:
    """Do as `VerbCommands` up to the call of the verb."""
    name = path.removeprefix(PREFIX)
    if name not in verb_names():
        return HTTPStatus.NOT_FOUND, b""
    try:
        arguments_of(getattr(Verbs, name), parse_qs(query, keep_blank_values=True, strict_parsing=bool(query)))
    except (CoordinatorTestingError, ValueError, msgspec.ValidationError):
        return HTTPStatus.BAD_REQUEST, b""
    return HTTPStatus.OK, b""


def check(data: bytes) -> None:
    out = BytesIO()
    HttpHandler(data, out, "127.0.0.1", status, commands)
    answer = out.getvalue()
    if answer.startswith(b"HTTP/"):
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        assert 200 <= int(lines[0].split()[1]) < 600
        lengths = [int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")]
        if lengths and body:  # HEAD has none
            assert lengths == [len(body)]


def seeds() -> list[bytes]:
    gets = [f"GET {path} HTTP/1.1\r\nHost: h\r\nAccept: text/plain\r\n\r\n".encode() for path in PATHS]
    return [
        *gets,
        b"HEAD / HTTP/1.0\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        *(_post(name, "") for name in verb_names()[::5]),
    ]


def _post(name: str, query: str) -> bytes:
    return f"POST {PREFIX}{name}?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.6:
        query = "&".join(chance.choice(QUERIES) for _ in range(chance.randint(0, 3)))
        data = _post(chance.choice(verb_names()), query)
    elif chance.random() < 0.3:
        data = chance.choice(seeds())
    return data if chance.random() < 0.4 else edited(data or b"GET", chance)
