"""`coordinator quotas VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "List, set and remove quotas of users, client ids and addresses, of this coordinator or any Kafka."

EPILOG: Final = """\
examples:
  coordinator quotas set --user alice request_rate=100
  coordinator quotas set --user-default --client-id etl request_percentage=20
  coordinator quotas set --ip-default connection_creation_rate=10
  coordinator quotas list
  coordinator quotas remove --user alice"""

VERBS: Final = {
    "list": Command("coordinator.cli.quotas.list", "quotas, with whom they are for"),
    "set": Command("coordinator.cli.quotas.set", "set or change quotas"),
    "remove": Command("coordinator.cli.quotas.remove", "remove quotas"),
}
