"""`coordinator quotas remove`: removes quotas of a user, a client id, both, or an address."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import client_of
from coordinator.cli.errors import CliError
from coordinator.cli.quotas.admin import WHOM, add_whom, alter, described, entity_named, rows_of, words_of
from coordinator.cli.screen import complain
from coordinator.cli.table import render

DESCRIPTION: Final = "Remove all quotas of a user, a client id, both, or an address, or only those named."
COLUMNS: Final = (*WHOM, "QUOTA", "REMOVED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("quotas", nargs="*", metavar="QUOTA")
    add_whom(parser)
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    entity = entity_named(arguments)
    with client_of(arguments) as client:
        found = described(client, entity, is_strict=True).get(entity, {})
        if not found:
            raise CliError(
                f"there are no quotas of {words_of(entity)}; `coordinator quotas list` shows those there are", 1
            )
        wanted = dict.fromkeys(arguments.quotas or sorted(found))
        there = [key for key in wanted if key in found]
        if there:
            alter(client, entity, dict.fromkeys(there))
    rows = rows_of(entity, ((key, True) for key in there), "REMOVED")
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(f"there is no quota {key!r} of {words_of(entity)}" for key in wanted if key not in found)
