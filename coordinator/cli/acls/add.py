"""`coordinator acls add`: adds access rules. One that there is already is no error."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.acls.admin import COLUMNS, opened, row_of, sentence_of
from coordinator.cli.acls.arguments import PATTERN_TYPES, add_rules, bindings_of
from coordinator.cli.client import explain
from coordinator.cli.errors import CliError
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.security.acl.model import PatternType
from protocol.messages.create_acls import AclCreation, CreateAclsRequest

DESCRIPTION: Final = "Add access rules. What is denied stays denied, whatever else is allowed."

EPILOG: Final = """\
examples:
  coordinator acls add --allow-principal User:alice --producer --topic orders
  coordinator acls add --allow-principal User:bob --consumer --topic orders --group billing
  coordinator acls add --deny-principal User:* --deny-host 10.0.0.0/8 --operation Delete --topic '*'
  coordinator acls add --allow-principal User:ops --topic team- --resource-pattern-type prefixed"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)


def run(arguments: argparse.Namespace) -> int:
    if PATTERN_TYPES[arguments.resource_pattern_type] < PatternType.LITERAL:
        raise CliError("a rule is for a name or a prefix; write --resource-pattern-type literal or prefixed")
    bindings = bindings_of(arguments)
    if not bindings:
        raise CliError("say for whom: --allow-principal or --deny-principal, as User:alice")
    problems: list[str] = []
    rows: list[Row] = []
    with opened(arguments) as admin:
        results = admin.create(CreateAclsRequest([AclCreation(*each) for each in bindings])).results
    for binding, result in zip(bindings, results, strict=True):
        if result.error_code:
            problem = explain(result.error_code, result.error_message)
            problems.append(f"{sentence_of(binding)} was not added: {problem}")
        else:
            rows.append(row_of(binding))
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)
