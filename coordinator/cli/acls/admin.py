"""The access rules that a verb works on: those of a server, or those in the data directory of a stopped daemon."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.cli.table import Row
from coordinator.security.acl.changes import create, delete, describe
from coordinator.security.acl.filter import AclBindingFilter
from coordinator.security.acl.model import AclBinding, AclOperation, PatternType, Permission, ResourceType
from protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from coordinator.security.acl.model import AclBindings
    from coordinator.storage.documents.store import DocumentStore

COLUMNS: Final = ("TYPE", "RESOURCE", "PATTERN", "PRINCIPAL", "HOST", "OPERATION", "PERMISSION")


class AclAdmin(Protocol):
    """Requests about access rules, and their answers (KIP-140)."""

    def describe(self, request: DescribeAclsRequest) -> DescribeAclsResponse: ...

    def create(self, request: CreateAclsRequest) -> CreateAclsResponse: ...

    def delete(self, request: DeleteAclsRequest) -> DeleteAclsResponse: ...


class ServerAcls:
    """The access rules of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def describe(self, request: DescribeAclsRequest) -> DescribeAclsResponse:
        return self._client.any_node().call(request, DescribeAclsResponse)

    def create(self, request: CreateAclsRequest) -> CreateAclsResponse:
        return self._client.any_node().call(request, CreateAclsResponse)

    def delete(self, request: DeleteAclsRequest) -> DeleteAclsResponse:
        return self._client.any_node().call(request, DeleteAclsResponse)


class DirectoryAcls:
    """The access rules in a data directory. There is no daemon, so its max.acls does not count."""

    def __init__(self, store: DocumentStore[AclBindings]) -> None:
        self._store = store

    def describe(self, request: DescribeAclsRequest) -> DescribeAclsResponse:
        response = DescribeAclsResponse()
        for _ in describe(request, self._store.content, response):
            pass
        return response

    def create(self, request: CreateAclsRequest) -> CreateAclsResponse:
        after, response = create(request, sys.maxsize, self._store.content)
        self._put(after)
        return response

    def delete(self, request: DeleteAclsRequest) -> DeleteAclsResponse:
        after, response = delete(request, self._store.content)
        self._put(after)
        return response

    def _put(self, after: AclBindings) -> None:
        self._store.write(after)
        self._store.replace(after)


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[AclAdmin]:
    """Connect to the server, or hold the daemon's lock on the data directory."""
    if arguments.data_dir is None:
        with client_of(arguments) as client:
            yield ServerAcls(client)
    else:
        # Imported here, because a call to a server does not need it.
        from coordinator.cli.users.data_directory import stored
        from coordinator.storage.documents.acls import ACLS

        with stored(arguments.data_dir, ACLS) as store:
            yield DirectoryAcls(store)


def found(admin: AclAdmin, wanted: AclBindingFilter) -> list[AclBinding]:
    """Return the rules that match. Raises CliError."""
    response = admin.describe(DescribeAclsRequest(*wanted))
    if response.error_code:
        raise CliError(f"the access rules cannot be listed: {explain(response.error_code, response.error_message)}", 1)
    return [
        AclBinding(
            ResourceType(resource.resource_type),
            resource.resource_name,
            PatternType(resource.pattern_type),
            each.principal,
            each.host,
            AclOperation(each.operation),
            Permission(each.permission_type),
        )
        for resource in response.resources
        for each in resource.acls
    ]


def row_of(binding: AclBinding) -> Row:
    values = (
        binding.resource_type.name,
        binding.name,
        binding.pattern_type.name,
        binding.principal,
        binding.host,
        binding.operation.name,
        binding.permission.name,
    )
    return dict(zip(COLUMNS, values, strict=True))


def sentence_of(binding: AclBinding) -> str:
    """Return a rule for a sentence about it."""
    return (
        f"{binding.permission.name} {binding.operation.name} for {binding.principal} from {binding.host} on "
        f"{binding.resource_type.name} {binding.name!r} ({binding.pattern_type.name})"
    )
