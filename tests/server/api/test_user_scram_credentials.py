"""DescribeUserScramCredentials and AlterUserScramCredentials on a node: from a request to its durable answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import Ticket
from coordinator.security import scram_changes
from coordinator.security.scram import SCRAM_SHA_256
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from coordinator.storage.documents import store
from coordinator.storage.documents.users import UserStore
from coordinator.storage.memory_fs import MemoryFileSystem
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

DATA = Path("/data")


class FakeNode:
    """The part of a node that these handlers use."""

    def __init__(self, **settings: Any) -> None:
        self.fs = MemoryFileSystem()
        self.fs.mkdir(DATA)
        self.config = Config(**settings)
        self.users = UserStore(self.fs, DATA)
        self.users.answer = self.reply
        self._answers: dict[Ticket, asyncio.Future[Any]] = {}

    def reply(self, ticket: Ticket, response: Any) -> None:
        self._answers[ticket].set_result(response)

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        asyncio.get_running_loop().call_soon(list, steps)

    def send(self, request: Any) -> asyncio.Future[Any]:
        """Have a request handled, by way of its bytes."""
        key = codec.api_key_of(request)
        ticket = Ticket(SimpleNamespace(principal="User:admin"), api_key=int(key))
        self._answers[ticket] = asyncio.get_running_loop().create_future()
        decoded = codec.decode_request(key, 0, codec.encode_request(request, 0), 0)
        HANDLERS[key].handle(cast(Node, self), decoded, ticket, 0)
        return self._answers[ticket]

    async def alter(self, request: AlterUserScramCredentialsRequest) -> list[tuple[str, int]]:
        return [(each.user, each.error_code) for each in (await self.send(request)).results]

    async def described(self, *names: str) -> list[tuple[str, int]]:
        request = DescribeUserScramCredentialsRequest([UserName(name) for name in names] or None)
        return [(each.user, each.error_code) for each in (await self.send(request)).results]


def add(*names: str) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name, SCRAM_SHA_256.type, 4096, b"salt", b"salted") for name in names]
    )


def remove(name: str) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name, SCRAM_SHA_256.type)])


async def test_a_user_is_durable_when_the_answer_comes() -> None:
    node = FakeNode()
    assert await node.alter(add("ann")) == [("ann", 0)]
    again = UserStore(node.fs, DATA)
    assert again.credentials.users == node.users.credentials.users
    assert again.credentials.of("ann", SCRAM_SHA_256) is not None


async def test_each_change_sees_the_one_before() -> None:
    node = FakeNode()
    answers = [node.send(each) for each in (add("ann"), remove("ann"), remove("ann"))]
    codes = [(await answer).results[0].error_code for answer in answers]
    assert codes == [0, 0, ErrorCode.RESOURCE_NOT_FOUND]
    assert await node.described("ann") == [("ann", ErrorCode.RESOURCE_NOT_FOUND)]


async def test_users_beyond_max_users_are_refused() -> None:
    node = FakeNode(max_users=2)
    assert await node.alter(add("a", "b", "c")) == [("a", 0), ("b", 0), ("c", ErrorCode.UNACCEPTABLE_CREDENTIAL)]
    assert await node.described() == [("a", 0), ("b", 0)]


async def test_nothing_is_changed_if_the_file_cannot_be_written() -> None:
    node = FakeNode()
    node.fs.capacity_bytes = 0
    assert await node.alter(add("ann", "bob")) == [(name, ErrorCode.KAFKA_STORAGE_ERROR) for name in ("ann", "bob")]
    assert await node.described() == []


async def test_as_many_changes_wait_as_allowed_and_one_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_WAITING", 2)
    node = FakeNode()
    answers = [node.send(add(name)) for name in "abc"]
    assert [(await answer).results[0].error_code for answer in answers] == [0, 0, ErrorCode.KAFKA_STORAGE_ERROR]
    assert await node.described() == [("a", 0), ("b", 0)]


async def test_many_users_are_described_between_other_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scram_changes, "DESCRIBED_PER_STEP", 2)
    node = FakeNode()
    await node.alter(add(*"abcde"))
    answer = node.send(DescribeUserScramCredentialsRequest(None))
    assert not answer.done()
    assert [each.user for each in (await answer).results] == list("abcde")
