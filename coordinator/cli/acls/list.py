"""`coordinator acls list`: the access rules, with a row for each."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.acls.admin import COLUMNS, found, opened, row_of
from coordinator.cli.acls.arguments import add_resources, patterns_of, principal
from coordinator.cli.screen import tell
from coordinator.cli.table import render
from coordinator.security.acl.filter import AclBindingFilter

DESCRIPTION: Final = "List access rules: all, or those of some resources or principals."

EPILOG: Final = """\
examples:
  coordinator acls list --principal User:alice
  coordinator acls list --topic orders --resource-pattern-type match    all that count for this topic"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--principal", action="append", default=[], type=principal, metavar="TYPE:NAME", help="repeatable"
    )
    add_resources(parser)


def run(arguments: argparse.Namespace) -> int:
    by_resource = [AclBindingFilter(*pattern) for pattern in patterns_of(arguments)] or [AclBindingFilter()]
    filters = [each._replace(principal=who) for each in by_resource for who in arguments.principal or [None]]
    with opened(arguments) as admin:
        bindings = {each for wanted in filters for each in found(admin, wanted)}
    if bindings or arguments.output != "table":
        print(render(arguments.output, COLUMNS, [row_of(each) for each in sorted(bindings)]))
    else:
        tell("no access rules")
    return 0
