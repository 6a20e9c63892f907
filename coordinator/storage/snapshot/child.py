"""Child process that writes a snapshot while the daemon serves: `python -m coordinator.storage.snapshot.child`.

Reading a log needs the interpreter, which runs one thread at a time: a thread of the daemon would delay requests. The
child has low priority, reads one order from stdin, answers on stdout, and ends when the daemon closes its lifeline
(`child_entry.py`). It writes a draft only: the daemon promotes it if the log has not changed meanwhile.
"""

from __future__ import annotations

import gc
import sys

from coordinator.processes import child_entry, frames
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.snapshot.file import SnapshotError
from coordinator.storage.snapshot.folding import SnapshotOrder, draft
from protocol.errors import ProtocolError


def main() -> int:
    """Read one order and write one answer: `drafted` with the result, or `trouble` with the reason."""
    stdin, stdout = child_entry.begin()
    gc.disable()
    order = SnapshotOrder.from_wire(frames.read(stdin))
    try:
        frames.write(stdout, {"drafted": draft(RealFileSystem(), order)._asdict()})
    except (OSError, LogError, ProtocolError, SnapshotError) as error:
        frames.write(stdout, {"trouble": str(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
