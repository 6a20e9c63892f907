"""`coordinator groups VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "Explain, list, describe, reset and delete consumer groups, of this coordinator or of any Kafka."

EPILOG: Final = """\
examples:
  coordinator groups explain orders-service
  coordinator groups list --state Stable
  coordinator groups describe orders-service
  coordinator groups describe orders-service --members -o json
  coordinator groups reset-offsets orders-service -t orders --to-datetime 2026-11-20T14:05:00.000 --execute
  coordinator groups kick orders-service consumer-1-5f1c9a0e --reason 'stuck since 14:05'"""

VERBS: Final = {
    "explain": Command("coordinator.cli.groups.explain", "what a group is now and why, in one sentence"),
    "why": Command("coordinator.cli.groups.explain", "the same as explain"),
    "watch": Command("coordinator.cli.groups.watch", "explain, again each second"),
    "list": Command("coordinator.cli.groups.list", "all groups of the cluster"),
    "describe": Command("coordinator.cli.groups.describe", "offsets and lag, members or state of some groups"),
    "delete": Command("coordinator.cli.groups.delete", "delete groups that have no members"),
    "delete-offsets": Command("coordinator.cli.groups.delete_offsets", "delete a group's offsets of some topics"),
    "reset-offsets": Command("coordinator.cli.groups.reset_offsets", "set offsets of groups that have no members"),
    "kick": Command("coordinator.cli.groups.kick", "remove a member from its group"),
}
