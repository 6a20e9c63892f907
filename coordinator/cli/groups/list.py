"""`coordinator groups list`: the groups of every node of the cluster, with their types and states."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, client_of
from coordinator.cli.errors import CliError
from coordinator.cli.group_listing import every_group
from coordinator.cli.groups.state_colours import STATE_COLOURS
from coordinator.cli.screen import complain, tell
from coordinator.cli.table import Row, render

DESCRIPTION: Final = "List all groups of the cluster."

# The states of both kinds of group: org.apache.kafka.common.GroupState, without UNKNOWN, and this coordinator's own.
STATES: Final = tuple(STATE_COLOURS)
COLUMNS: Final = ("GROUP", "TYPE", "STATE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state", nargs="?", metavar="STATE,...", help=f"only groups in these states: {', '.join(STATES)}"
    )
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    missing: list[str] = []
    wanted = _states(arguments.state) if arguments.state is not None else None
    with client_of(arguments) as client:
        rows = list_groups(client, wanted, missing)
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows, {"STATE": STATE_COLOURS}))
    elif not missing:
        tell("no groups" if wanted is None else f"no groups in state {arguments.state}")
    return complain(missing)


def _states(text: str) -> frozenset[str]:
    """Return the states that `--state` names, in lower case."""
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    unknown = [name for name in names if name.lower() not in {state.lower() for state in STATES}]
    if unknown or not names:
        what = f"--state {', '.join(unknown)}: there is no such state" if unknown else "--state names no state"
        raise CliError(f"{what}; choose from {', '.join(STATES)}")
    return frozenset(name.lower() for name in names)


def list_groups(client: Client, wanted: frozenset[str] | None, missing: list[str]) -> list[Row]:
    """Return a row for each group in the wanted states. Adds a sentence to `missing` for a silent node."""
    groups = every_group(client, missing)
    # Filtered here, because brokers before 2.6 know neither the filter nor the states.
    if wanted is not None and any(not group.group_state for group in groups):
        raise CliError("these brokers do not tell the states of groups (Kafka before 2.6); leave --state out", 1)
    return [
        {
            "GROUP": group.group_id,
            "TYPE": group.group_type.capitalize() or None,  # "classic" on the wire, "Classic" in Kafka's tools
            "STATE": group.group_state or None,
        }
        for group in groups
        if wanted is None or group.group_state.lower() in wanted
    ]
