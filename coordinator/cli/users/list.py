"""`coordinator users list`: the users with passwords, with a row for each of their mechanisms."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_place
from coordinator.cli.screen import complain, tell
from coordinator.cli.table import Row, render
from coordinator.cli.users.admin import described, description_problem, mechanism_name, opened, user_name

DESCRIPTION: Final = "List users that have passwords: all, or those named."
COLUMNS: Final = ("USER", "MECHANISM", "ITERATIONS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("users", nargs="*", metavar="USER", type=user_name)
    add_place(parser)


def run(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    rows: list[Row] = []
    with opened(arguments) as admin:
        results = described(admin, list(dict.fromkeys(arguments.users)))
    for result in sorted(results, key=lambda each: each.user):
        problem = description_problem(result)
        if problem is not None:
            problems.append(problem)
        rows += [
            {"USER": result.user, "MECHANISM": mechanism_name(each.mechanism), "ITERATIONS": each.iterations}
            for each in sorted(result.credential_infos, key=lambda each: each.mechanism)
        ]
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    elif not problems:
        tell("no users")
    return complain(problems)
