"""`coordinator users remove`: removes the password of a user, for one, several or all of its mechanisms."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_place
from coordinator.cli.errors import CliError
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.cli.users.admin import (
    alteration_problem,
    described,
    description_problem,
    mechanism_name,
    opened,
    user_name,
)
from coordinator.security.scram import BY_NAME
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialDeletion

DESCRIPTION: Final = "Remove a user with all mechanisms, or only those named."
COLUMNS: Final = ("USER", "MECHANISM", "REMOVED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", type=user_name)
    parser.add_argument("--mechanism", action="append", choices=tuple(BY_NAME), help="repeatable; default: all")
    add_place(parser)


def run(arguments: argparse.Namespace) -> int:
    user = arguments.user
    problems: list[str] = []
    rows: list[Row] = []
    with opened(arguments) as admin:
        numbers = [BY_NAME[name].type for name in dict.fromkeys(arguments.mechanism or ())]
        if not numbers:
            for result in described(admin, [user]):
                problem = description_problem(result)
                if problem is not None:
                    raise CliError(problem, 1)
                numbers += [each.mechanism for each in result.credential_infos]
        for number in numbers:
            deletion = ScramCredentialDeletion(name=user, mechanism=number)
            problem = alteration_problem(admin, AlterUserScramCredentialsRequest(deletions=[deletion]))
            if problem is None:
                rows.append({"USER": user, "MECHANISM": mechanism_name(number), "REMOVED": True})
            else:
                problems.append(f"the {mechanism_name(number)} password of {user!r} was not removed: {problem}")
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)
