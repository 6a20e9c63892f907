"""Child process that writes a snapshot while the daemon serves: `python -m coordinator.storage.snapshot.child`.

Reading a log is work for the interpreter, which runs one thread at a time: in a thread of the daemon it would be felt
by every request. The child is nice to others, gets one order on stdin and answers on stdout, and ends when the daemon
lets go of its lifeline (`child_entry.py`). It only drafts: the daemon makes the draft the snapshot, if the log is still
what was read.
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
    """One order, one answer: `drafted` with the facts, or `trouble` in words."""
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
