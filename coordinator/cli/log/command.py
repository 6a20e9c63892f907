"""`coordinator log VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = "Print, check and repair the logs on disk, of this coordinator or of a Kafka. Needs no daemon."

EPILOG: Final = """\
examples:
  coordinator log dump data/__consumer_offsets-3 --group orders
  coordinator log verify data
  coordinator log repair data                         what it would take out or build again
  coordinator log repair data --execute"""

VERBS: Final = {
    "dump": Command("coordinator.cli.log.dump", "print the records of segments"),
    "verify": Command("coordinator.cli.log.verify", "check every batch, record, index, snapshot and checkpoint"),
    "repair": Command("coordinator.cli.log.repair", "take out what is damaged, so that the rest is served"),
}
