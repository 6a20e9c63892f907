"""`coordinator topics VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "List, describe, create, alter and delete topics, of this coordinator or of any Kafka."

EPILOG: Final = """\
examples:
  coordinator topics list
  coordinator topics create orders:12 payments:3
  coordinator topics describe orders
  coordinator topics alter orders --partitions 24 --config retention.ms=3600000
  coordinator topics delete audit"""

VERBS: Final = {
    "list": Command("coordinator.cli.topics.list", "all topics of the cluster"),
    "describe": Command("coordinator.cli.topics.describe", "partitions, or settings, of topics"),
    "create": Command("coordinator.cli.topics.create", "create topics"),
    "alter": Command("coordinator.cli.topics.alter", "add partitions to topics, or change their settings"),
    "delete": Command("coordinator.cli.topics.delete", "delete topics with their records"),
}
