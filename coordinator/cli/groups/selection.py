"""The groups that the arguments of a verb name."""

from __future__ import annotations

import argparse

from coordinator.cli.client import Client
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import GroupNotFoundError
from coordinator.cli.group_listing import every_group
from coordinator.cli.parser import similar


def groups_of(client: Client, arguments: argparse.Namespace, missing: list[str]) -> list[str]:
    """Return each group that the arguments name, once; with --all-groups, those that `every_group` finds."""
    named = list(dict.fromkeys([*arguments.groups, *arguments.group]))
    if bool(named) == arguments.all_groups:
        raise CliError("name a GROUP or several, or take every group with --all-groups")
    return named or [group.group_id for group in every_group(client, missing)]


def only_group(arguments: argparse.Namespace) -> str:
    """Return the one group that the arguments name."""
    named = list(dict.fromkeys([*arguments.groups, *arguments.group]))
    if len(named) != 1:
        raise CliError("name one GROUP")
    return str(named[0])


def not_found(client: Client, group_id: str) -> GroupNotFoundError:
    """Return the error for a missing group, with the most similar group if there is one."""
    guess = similar(group_id, [group.group_id for group in every_group(client, [])])
    return GroupNotFoundError(group_id, f"did you mean {guess!r}?") if guess else GroupNotFoundError(group_id)
