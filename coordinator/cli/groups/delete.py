"""`coordinator groups delete`: deletes groups that have no members, with their offsets."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_groups, add_output, add_server
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError, noted
from coordinator.cli.groups.selection import groups_of, not_found
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

DESCRIPTION: Final = "Delete groups that have no members, with their offsets."
COLUMNS: Final = ("GROUP", "DELETED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_groups(parser)
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        for group_id in groups_of(client, arguments, problems):
            with noted(problems):
                _delete(client, group_id)
                rows.append({"GROUP": group_id, "DELETED": True})
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)


def _delete(client: Client, group_id: str) -> None:
    _, connection = client.coordinator(group_id)

    def ask() -> tuple[int, int]:
        request = DeleteGroupsRequest(groups_names=[group_id])
        (result,) = connection.call(request, DeleteGroupsResponse).results
        known = result.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NON_EMPTY_GROUP)
        return 0 if known else result.error_code, result.error_code

    code = client.patiently(f"deleting group {group_id!r}", ask)
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise not_found(client, group_id)
    if code:
        raise CliError(
            f"group {group_id!r} was not deleted: {explain(code)} "
            f"Stop its members, which `coordinator groups describe {group_id} --members` lists, and run this again",
            1,
        )
