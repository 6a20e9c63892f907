"""`coordinator acls remove`: removes access rules, or all rules of some resources."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.acls.admin import COLUMNS, opened, row_of
from coordinator.cli.acls.arguments import add_rules, bindings_of, needed_patterns
from coordinator.cli.client import explain
from coordinator.cli.screen import complain, tell
from coordinator.cli.table import render
from coordinator.security.acl.filter import AclBindingFilter
from coordinator.security.acl.model import AclBinding, AclOperation, PatternType, Permission, ResourceType
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

DESCRIPTION: Final = "Remove access rules. Without a principal: all rules that are for the named resources."

EPILOG: Final = """\
examples:
  coordinator acls remove --allow-principal User:alice --operation Read --topic orders
  coordinator acls remove --topic orders"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)


def run(arguments: argparse.Namespace) -> int:
    filters: list[AclBinding] | list[AclBindingFilter] = bindings_of(arguments) or [
        AclBindingFilter(*each) for each in needed_patterns(arguments)
    ]
    with opened(arguments) as admin:
        results = admin.delete(DeleteAclsRequest([DeleteAclsFilter(*each) for each in filters])).filter_results
    problems = {explain(each.error_code, each.error_message): None for each in results if each.error_code}
    removed = {
        AclBinding(
            ResourceType(each.resource_type),
            each.resource_name,
            PatternType(each.pattern_type),
            each.principal,
            each.host,
            AclOperation(each.operation),
            Permission(each.permission_type),
        )
        for result in results
        for each in result.matching_acls
        if not each.error_code
    }
    if removed or arguments.output != "table":
        print(render(arguments.output, COLUMNS, [row_of(each) for each in sorted(removed)]))
    elif not problems:
        tell("no access rules were removed, because none match")
    return complain(f"access rules were not removed: {each}" for each in problems)
