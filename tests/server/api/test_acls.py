"""CreateAcls, DescribeAcls and DeleteAcls on a node, with the answers of Kafka 4.4."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import Ticket
from coordinator.security.acl import changes
from coordinator.security.acl.authorizer import Authorizer
from coordinator.security.acl.model import AclOperation, Resource, ResourceType
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from coordinator.storage.documents.acls import AclStore
from coordinator.storage.documents.store import DocumentStoreError
from coordinator.storage.memory_fs import MemoryFileSystem
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest

DATA = Path("/data")
CREATION = {
    "resource_type": 2,
    "resource_name": "orders",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
ANY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


class FakeNode:
    """The part of a node that these handlers use."""

    def __init__(self, *, has_authorizer: bool = True, **settings: Any) -> None:
        self.fs = MemoryFileSystem()
        self.fs.mkdir(DATA)
        self.config = Config(**settings)
        self.authorizer = Authorizer({})
        self.acls: AclStore | None = None
        self.changes = 0
        if has_authorizer:
            self.acls = AclStore(self.fs, DATA, self.authorizer)
            self.acls.answer = self.reply
            self.acls.changed = self.count
        self._answers: dict[Ticket, asyncio.Future[Any]] = {}

    def count(self) -> None:
        self.changes += 1

    def reply(self, ticket: Ticket, response: Any) -> None:
        self._answers[ticket].set_result(response)

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        self._answers[ticket].set_result(None)

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        asyncio.get_running_loop().call_soon(list, steps)

    def send(self, request: Any, version: int = 3) -> asyncio.Future[Any]:
        """Have a request handled, by way of its bytes."""
        key = codec.api_key_of(request)
        ticket = Ticket(SimpleNamespace(principal="User:admin"), api_key=int(key), version=version)
        self._answers[ticket] = asyncio.get_running_loop().create_future()
        decoded = codec.decode_request(key, version, codec.encode_request(request, version), 0)
        HANDLERS[key].handle(cast(Node, self), decoded, ticket, 0)
        return self._answers[ticket]

    async def create(self, *creations: dict[str, Any]) -> list[tuple[int, str | None]]:
        request = CreateAclsRequest([AclCreation(**(CREATION | each)) for each in creations])
        return [(each.error_code, each.error_message) for each in (await self.send(request)).results]

    async def described(self, **wanted: Any) -> list[tuple[str, str]]:
        answer = await self.send(DescribeAclsRequest(**(ANY | wanted)))
        assert (answer.error_code, answer.error_message) == (0, "")
        return [(each.resource_name, acl.principal) for each in answer.resources for acl in each.acls]

    async def delete(self, *filters: dict[str, Any]) -> list[tuple[int, str | None, list[str]]]:
        request = DeleteAclsRequest([DeleteAclsFilter(**(ANY | each)) for each in filters])
        return [
            (each.error_code, each.error_message, [acl.resource_name for acl in each.matching_acls])
            for each in (await self.send(request)).filter_results
        ]


OK = (0, "")


async def test_a_rule_is_durable_and_counts_when_the_answer_comes() -> None:
    node = FakeNode()
    assert await node.create({}) == [OK]
    assert node.authorizer.allows("User:alice", "10.0.0.1", AclOperation.READ, Resource(ResourceType.TOPIC, "orders"))
    assert node.changes == 1
    again = Authorizer({})
    assert AclStore(node.fs, DATA, again).content == again.bindings == node.authorizer.bindings != {}


@pytest.mark.parametrize(
    ("creation", "message"),
    [
        ({"resource_type": 9}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 9}, "Invalid patternType UNKNOWN"),
        ({"operation": 99}, "Invalid operation UNKNOWN"),
        ({"permission_type": 7}, "Invalid permissionType UNKNOWN"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_type": 4, "resource_name": ""}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        (
            {"principal": "alice"},
            "Could not parse principal from `alice` (no colon is present separating the principal type from the "
            "principal name)",
        ),
        ({"host": ""}, "Host pattern cannot be null or empty"),
        ({"host": "10.0.0.0/33"}, "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"),
        (
            {"principal": "User:" + "x" * 1024},
            "A name, principal or host has more than 1024 characters; use a shorter one",
        ),
    ],
)
async def test_an_invalid_rule_is_refused_alone(creation: dict[str, Any], message: str) -> None:
    node = FakeNode()
    assert await node.create(creation, {"resource_name": "good"}) == [(ErrorCode.INVALID_REQUEST, message), OK]
    assert await node.described() == [("good", "User:alice")]


@pytest.mark.parametrize(
    "creation",
    [
        {"resource_type": 1},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"permission_type": 1},
    ],
)
async def test_a_rule_with_any_refuses_the_request(creation: dict[str, Any]) -> None:
    node = FakeNode()
    assert await node.create({}, creation) == [(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * 2
    assert await node.described() == []


@pytest.mark.parametrize(
    "creation",
    [
        {"principal": ":x"},
        {"principal": "Group:"},
        {"host": "not.an.address"},
        {"host": "::/0"},
        {"operation": 9},
        {"resource_name": "a/b c!"},
        {"resource_type": 4, "resource_name": "kafka-cluster", "resource_pattern_type": 4},
    ],
)
async def test_kafka_takes_odd_rules(creation: dict[str, Any]) -> None:
    assert await FakeNode().create(creation) == [OK]


async def test_the_same_rule_twice_is_one_and_no_change() -> None:
    node = FakeNode()
    assert await node.create({}, {}) == [OK, OK]
    before = node.authorizer.bindings
    assert await node.create({}) == [OK]
    assert node.authorizer.bindings is before
    assert node.changes == 1


async def test_rules_beyond_max_acls_are_refused() -> None:
    node = FakeNode(max_acls=1)
    full = (
        ErrorCode.POLICY_VIOLATION,
        "There are 1 access rules already, and max.acls is 1; remove rules, or raise it",
    )
    assert await node.create({}, {"host": "a"}, {}) == [OK, full, OK]


async def test_nothing_is_changed_if_the_file_cannot_be_written() -> None:
    node = FakeNode()
    await node.create({})
    node.fs.capacity_bytes = 0
    text = "the file of access rules could not be written; the log of the server says why"
    assert await node.create({"host": "a"}) == [(ErrorCode.KAFKA_STORAGE_ERROR, text)]
    assert await node.delete({}) == [(ErrorCode.KAFKA_STORAGE_ERROR, text, [])]
    assert await node.described() == [("orders", "User:alice")]


async def test_each_filter_of_a_deletion_answers_with_the_rules_before_it() -> None:
    node = FakeNode()
    await node.create({}, {"resource_name": "ord", "resource_pattern_type": 4}, {"resource_name": "*"})
    exact = {f"{name}_filter": CREATION[name] for name in ("resource_type", "resource_name", "principal", "host")}
    exact |= {"pattern_type_filter": 3, "operation": 3, "permission_type": 3}
    assert await node.delete(
        {"resource_name_filter": "orders", "pattern_type_filter": 2},
        exact,
        {"resource_name_filter": "ord"},
        {"operation": 99},
        {"pattern_type_filter": 9},
        {"host_filter": "elsewhere"},
    ) == [
        (0, None, ["orders", "ord", "*"]),
        (0, None, ["orders"]),
        (0, None, ["ord"]),
        (ErrorCode.INVALID_REQUEST, "Unknown entryFilter.", []),
        (ErrorCode.INVALID_REQUEST, "Unknown patternFilter.", []),
        (0, None, []),
    ]
    assert await node.described() == []


async def test_an_answer_has_a_bounded_number_of_removed_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_DELETED", 3)
    node = FakeNode()
    await node.create({}, {"host": "a"})
    text = "Cannot remove more than 10000 acls in a single delete operation."
    assert await node.delete({}, {}) == [(ErrorCode.INVALID_REQUEST, text, [])] * 2
    assert len(await node.described()) == 2


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"resource_name_filter": "orders"}, ["orders"]),
        ({"resource_name_filter": "orders", "pattern_type_filter": 2}, ["orders", "ord"]),
        ({"resource_type_filter": 9}, []),
        ({"operation": 99}, []),
        ({"principal_filter": ""}, []),
        ({"host_filter": "*"}, ["orders", "ord"]),
    ],
)
async def test_rules_are_described_by_a_filter(
    monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], names: list[str]
) -> None:
    monkeypatch.setattr(changes, "EXAMINED_PER_STEP", 1)
    node = FakeNode()
    await node.create({}, {"resource_name": "ord", "resource_pattern_type": 4})
    assert [name for name, _ in await node.described(**wanted)] == names


async def test_rules_of_one_resource_are_described_together() -> None:
    node = FakeNode()
    await node.create({}, {"resource_name": "other"}, {"principal": "User:bob"})
    answer = await node.send(DescribeAclsRequest(**ANY), 1)
    assert [(each.resource_name, len(each.acls)) for each in answer.resources] == [("orders", 2), ("other", 1)]


ZERO_REQUESTS = [
    *(
        CreateAclsRequest([AclCreation(**(CREATION | {name: 0}))])
        for name in ("resource_type", "operation", "permission_type")
    ),
    CreateAclsRequest([AclCreation(**CREATION), AclCreation(**(CREATION | {"resource_pattern_type": 0}))]),
    DescribeAclsRequest(**(ANY | {"pattern_type_filter": 0})),
    DescribeAclsRequest(**(ANY | {"operation": 0})),
    DeleteAclsRequest([DeleteAclsFilter(**ANY), DeleteAclsFilter(**(ANY | {"resource_type_filter": 0}))]),
    DeleteAclsRequest([DeleteAclsFilter(**(ANY | {"permission_type": 0}))]),
]


@pytest.mark.parametrize("has_authorizer", [True, False])
@pytest.mark.parametrize("request_", ZERO_REQUESTS, ids=range(len(ZERO_REQUESTS)))
async def test_a_number_zero_ends_the_connection(request_: Any, has_authorizer: bool) -> None:
    assert await FakeNode(has_authorizer=has_authorizer).send(request_) is None


async def test_without_an_authorizer_security_is_disabled() -> None:
    node = FakeNode(has_authorizer=False)
    text = "No Authorizer is configured."
    assert await node.create({}, {}) == [(ErrorCode.SECURITY_DISABLED, text)] * 2
    assert await node.delete({}) == [(ErrorCode.SECURITY_DISABLED, text, [])]
    answer = await node.send(DescribeAclsRequest(**ANY))
    assert answer.error_code == ErrorCode.SECURITY_DISABLED
    assert answer.error_message == "No Authorizer is configured on the broker"


def test_a_file_that_cannot_be_used_is_named() -> None:
    node = FakeNode()
    node.fs.open(DATA / "acls.json", create=True).pwrite(b"{}", 0)
    with pytest.raises(
        DocumentStoreError, match=r"the file of access rules /data/acls\.json cannot be used: it is not"
    ):
        AclStore(node.fs, DATA, Authorizer({}))
