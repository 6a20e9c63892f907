"""`coordinator log VERB`: the table of its verbs. A new verb is a row here and a module beside this one."""

from __future__ import annotations

from typing import Final

from coordinator.cli.parser import Command

DESCRIPTION: Final = """\
Print, check and repair the logs on disk, of this coordinator or of a Kafka. Needs no daemon.
Copy the offsets log out of a store that several nodes share (log.engine), and into it."""

EPILOG: Final = """\
examples:
  coordinator log dump data/__consumer_offsets-3 --group orders
  coordinator log verify data
  coordinator log repair data                         what it would take out or build again
  coordinator log repair data --execute
  coordinator log export --log-engine postgresql://db/kgc --cluster-id prod copy
  coordinator log import --log-engine postgresql://db/kgc --cluster-id prod data"""

VERBS: Final = {
    "dump": Command("coordinator.cli.log.dump", "print the records of segments"),
    "verify": Command("coordinator.cli.log.verify", "check every batch, record, index, snapshot and checkpoint"),
    "repair": Command("coordinator.cli.log.repair", "take out what is damaged, so that the rest is served"),
    "export": Command("coordinator.cli.log.export", "write the offsets log of a log.engine into files"),
    "import": Command("coordinator.cli.log.import_log", "bring the offsets log of a data directory into a log.engine"),
}
