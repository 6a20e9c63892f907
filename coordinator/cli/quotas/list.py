"""`coordinator quotas list`: quotas, with a row for each of their keys."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import client_of
from coordinator.cli.quotas.admin import WHOM, add_whom, described, order, rows_of
from coordinator.cli.screen import tell
from coordinator.cli.table import render
from coordinator.security.quotas.model import entity_of

if TYPE_CHECKING:
    from coordinator.cli.table import Row

DESCRIPTION: Final = "List quotas: all, or those for whom is named."
COLUMNS: Final = (*WHOM, "QUOTA", "VALUE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_whom(parser)
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with client_of(arguments) as client:
        found = described(client, entity_of(arguments.whom), is_strict=False)
    rows: list[Row] = []
    for entity in sorted(found, key=order):
        values = ((key, plain(value)) for key, value in sorted(found[entity].items()))
        rows += rows_of(entity, values, "VALUE")
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    else:
        tell("no quotas")
    return 0


def plain(value: float) -> float:
    """Return a whole number without its fraction."""
    return int(value) if value.is_integer() else value
