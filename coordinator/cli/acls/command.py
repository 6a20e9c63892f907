"""`coordinator acls VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "List, add and remove access rules (ACLs), of this coordinator or of any Kafka."

EPILOG: Final = """\
examples:
  coordinator acls add --allow-principal User:alice --consumer --topic orders --group billing
  coordinator acls list --topic orders
  coordinator acls remove --allow-principal User:alice --consumer --topic orders --group billing
  coordinator acls add --data-dir data --allow-principal User:admin --operation All --cluster"""

VERBS: Final = {
    "list": Command("coordinator.cli.acls.list", "access rules, all or those of some resources"),
    "add": Command("coordinator.cli.acls.add", "allow or deny something"),
    "remove": Command("coordinator.cli.acls.remove", "remove access rules"),
}
