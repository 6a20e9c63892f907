"""The HTTP port: any query of a verb or of the console, and any body, is read or refused with a sentence."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from coordinator.console.questions import group_question, kick_question, list_question
from coordinator.console.source import ConsoleError
from coordinator.testing.errors import CoordinatorTestingError
from coordinator.testing.http import arguments_of, parse_query, verb_names
from coordinator.testing.verbs import Verbs
from tests.fuzz.edits import edited

QUERIES: Final = (
    *("topic=orders", "values=a&values=b", "down=1", "down=nan", "group=g&timeout=5", "orders=3", "seconds=1e400"),
    *("api=OffsetCommit&error=NOT_COORDINATOR&times=2", "partition=-1", "offset=99999999999999999999", "times=%31"),
    *("id=g&at=5", "id=%ff&at=-1", "search=a&sort=lag&reverse=1&offset=50&limit=10", "limit=0", "a=%ff", "&&", "="),
)
BODIES: Final = (b'{"group": "g", "member_id": "m"}', b'{"group": 1}', b"[[[[", b"\xff", b'"\\ud800"')


def check(data: bytes) -> None:
    """`data` is the name of a verb, a question mark and a query; or any bytes, as a query and as a body."""
    name, _, query = data.decode("latin-1").partition("?")
    if name in verb_names():
        with contextlib.suppress(CoordinatorTestingError, ValueError, msgspec.ValidationError):
            arguments_of(getattr(Verbs, name), parse_query(query))
    asked = dict(parse_qsl(query or name, keep_blank_values=True))
    for read in (list_question, group_question):
        with contextlib.suppress(ConsoleError):
            read(asked)
    with contextlib.suppress(ConsoleError):
        kick_question(data)


def seeds() -> list[bytes]:
    return [*(f"{name}?".encode() for name in verb_names()[::5]), *(each.encode() for each in QUERIES), *BODIES]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.6:
        query = "&".join(chance.choice(QUERIES) for _ in range(chance.randint(0, 3)))
        data = f"{chance.choice(verb_names())}?{query}".encode()
    elif chance.random() < 0.3:
        data = chance.choice(seeds())
    return data if chance.random() < 0.4 else edited(data or b"?", chance)
