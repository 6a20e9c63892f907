"""DescribeClientQuotas and AlterClientQuotas on a node: from a request to its durable and enforced answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.core.effects import Ticket
from coordinator.security.quotas import changes
from coordinator.security.quotas.enforcement import Quotas
from coordinator.security.quotas.model import USER
from coordinator.server.api import alter_client_quotas
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from coordinator.storage.documents.quotas import QuotaStore
from coordinator.storage.documents.store import DocumentStoreError
from coordinator.storage.log.fs import write_atomically
from coordinator.storage.memory_fs import MemoryFileSystem
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

DATA = Path("/data")
VERSIONS = (0, 1)


class FakeNode:
    """The part of a node that these handlers use."""

    def __init__(self) -> None:
        self.fs = MemoryFileSystem()
        self.fs.mkdir(DATA)
        self.quotas = Quotas()
        self.quota_store = QuotaStore(self.fs, DATA, self.quotas)
        self.quota_store.answer = self.reply
        self.quota_store.changed = lambda: self.seen_active.append(self.quotas.is_active)
        self.seen_active: list[bool] = []
        self._answers: dict[Ticket, asyncio.Future[Any]] = {}

    def reply(self, ticket: Ticket, response: Any) -> None:
        self._answers[ticket].set_result(response)

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        asyncio.get_running_loop().call_soon(list, steps)

    async def send(self, request: Any, version: int = 1) -> Any:
        """Have a request handled, by way of its bytes, and its answer read by way of those."""
        key = codec.api_key_of(request)
        ticket = Ticket(SimpleNamespace(principal="User:admin"), api_key=int(key))
        self._answers[ticket] = asyncio.get_running_loop().create_future()
        decoded = codec.decode_request(key, version, codec.encode_request(request, version), 0)
        api = HANDLERS[key]
        api.handle(cast(Node, self), decoded, ticket, 0)
        response = await self._answers[ticket]
        if api.shape is not None:
            response = api.shape(response, version)
        return codec.decode_response(key, version, codec.encode_response(response, version), 0)

    async def described(self) -> list[str | None]:
        return [each.entity[0].entity_name for each in (await self.send(DescribeClientQuotasRequest())).entries]


def limit(*users: str, rate: float = 5.0) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        [EntryData([EntityData(USER, user)], [OpData("request_rate", rate)]) for user in users]
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_quota_is_durable_and_enforced_when_the_answer_comes(version: int) -> None:
    node = FakeNode()
    assert not node.quotas.is_active
    (result,) = (await node.send(limit("ann"), version)).entries
    assert (result.error_code, result.error_message, result.entity) == (0, None, [EntityData(USER, "ann")])
    assert node.seen_active == [True], "the runtime is told when they are enforced already"
    again = Quotas()
    assert QuotaStore(node.fs, DATA, again).content == {((USER, "ann"),): {"request_rate": 5.0}}
    for each in (node.quotas, again):
        assert each.charge("ann", "etl", requests=51, now_ms=0) == 200


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_quotas_are_described(version: int) -> None:
    node = FakeNode()
    await node.send(limit("ann", "bob", rate=0.1))
    response = await node.send(DescribeClientQuotasRequest([ComponentData(USER, 0, "bob")], True), version)
    (found,) = response.entries
    assert [(each.entity_type, each.entity_name) for each in found.entity] == [(USER, "bob")]
    assert [(each.key, each.value) for each in found.values] == [("request_rate", 0.1)]
    assert (response.error_code, response.error_message) == (0, "")


async def test_the_answer_to_a_wrong_filter_has_no_list() -> None:
    response = await FakeNode().send(DescribeClientQuotasRequest([ComponentData("group", 0, "g")]))
    assert (response.error_code, response.entries) == (ErrorCode.UNSUPPORTED_VERSION, None)


async def test_quotas_beyond_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alter_client_quotas, "MAX_ENTITIES", 1)
    node = FakeNode()
    codes = [each.error_code for each in (await node.send(limit("ann", "bob"))).entries]
    assert codes == [0, ErrorCode.POLICY_VIOLATION]
    assert await node.described() == ["ann"]


async def test_nothing_is_changed_if_the_file_cannot_be_written() -> None:
    node = FakeNode()
    node.fs.capacity_bytes = 0
    codes = [each.error_code for each in (await node.send(limit("ann", "bob"))).entries]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert await node.described() == []
    assert not node.quotas.is_active


async def test_many_quotas_are_described_between_other_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "EXAMINED_PER_STEP", 2)
    node = FakeNode()
    await node.send(limit(*"abcde"))
    assert await node.described() == [*"abcde"]


def test_a_file_that_is_no_document_is_named() -> None:
    node = FakeNode()
    write_atomically(node.fs, DATA / "quotas.json", b"{}")
    with pytest.raises(DocumentStoreError, match=r"the file of quotas /data/quotas\.json cannot be used: it is not a"):
        QuotaStore(node.fs, DATA, Quotas())
