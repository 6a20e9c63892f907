"""`coordinator transactions VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "List, describe and abort transactions, of this coordinator or of any Kafka."

EPILOG: Final = """\
examples:
  coordinator transactions list
  coordinator transactions list --state Ongoing --duration-filter 60000
  coordinator transactions describe payments-1
  coordinator transactions abort payments-1"""

VERBS: Final = {
    "list": Command("coordinator.cli.transactions.list", "the transactional ids, with their states"),
    "describe": Command("coordinator.cli.transactions.describe", "producer, age and partitions of transactions"),
    "abort": Command("coordinator.cli.transactions.abort", "abort an open transaction, and fence its producer"),
}
