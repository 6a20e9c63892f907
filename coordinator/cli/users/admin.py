"""The users that a verb works on: those of a server, or those in the data directory of a daemon that does not run.

In a data directory the first administrator is added, if the daemon lets in only clients with a password.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.security.scram import BY_TYPE
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)

if TYPE_CHECKING:
    from coordinator.security.credentials import Users
    from coordinator.storage.documents.store import DocumentStore


class Admin(Protocol):
    """Requests about users, and their answers (KIP-554)."""

    def describe(self, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse: ...

    def alter(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse: ...


class ServerAdmin:
    """The users of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def describe(self, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
        return self._client.any_node().call(request, DescribeUserScramCredentialsResponse)

    def alter(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        response = self._client.any_node().call(request, AlterUserScramCredentialsResponse)
        if any(each.error_code == ErrorCode.NOT_CONTROLLER for each in response.results):  # a Kafka with ZooKeeper
            response = self._client.controller().call(request, AlterUserScramCredentialsResponse)
        return response


class DirectoryAdmin:
    """The users in a data directory. There is no daemon, so its max.users does not count."""

    def __init__(self, store: DocumentStore[Users]) -> None:
        self._store = store

    def describe(self, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
        from coordinator.security.scram_changes import describe

        response = DescribeUserScramCredentialsResponse()
        for _ in describe(request, self._store.content, response):
            pass
        return response

    def alter(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        from coordinator.security.scram_changes import alter

        after, response = alter(request, sys.maxsize, self._store.content)
        self._store.write(after)
        self._store.replace(after)
        return response


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Admin]:
    """Connect to the server, or hold the daemon's lock on the data directory."""
    if arguments.data_dir is None:
        with client_of(arguments) as client:
            yield ServerAdmin(client)
    else:
        # Imported here, because a call to a server does not need it.
        from coordinator.cli.users.data_directory import stored
        from coordinator.storage.documents.users import USERS

        with stored(arguments.data_dir, USERS) as store:
            yield DirectoryAdmin(store)


def described(admin: Admin, names: list[str]) -> list[DescribeUserScramCredentialsResult]:
    """Return the answer for each of these users, or for all if none is named."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name) for name in names] or None)
    response = admin.describe(request)
    if response.error_code:
        raise CliError(f"the users cannot be listed: {explain(response.error_code, response.error_message)}", 1)
    return response.results


def description_problem(result: DescribeUserScramCredentialsResult) -> str | None:
    """Return the sentence for a user that was not described; None if it was."""
    if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
        return f"there is no user {result.user!r}; `coordinator users list` shows those there are"
    if result.error_code:
        return f"user {result.user!r} cannot be described: {explain(result.error_code, result.error_message)}"
    return None


def alteration_problem(admin: Admin, request: AlterUserScramCredentialsRequest) -> str | None:
    """Alter one user. Return the reason why that was refused; None if it was done."""
    refused = [each for each in admin.alter(request).results if each.error_code]
    return explain(refused[0].error_code, refused[0].error_message) if refused else None


def mechanism_name(number: int) -> str:
    """Return the name of a mechanism; that of a later Kafka has only a number."""
    mechanism = BY_TYPE.get(number)
    return f"SCRAM mechanism {number}" if mechanism is None else mechanism.name


def user_name(text: str) -> str:
    """Return the name of a user from the command line. ValueError: no server could read it."""
    text.encode()
    return text
