"""The child process that makes a snapshot while its daemon goes on serving: `python -m coordinator.snapshot.child`.

Reading a log is work for the interpreter, which runs one thread at a time: in a thread of the daemon it would be felt
by every request. The child is nice to others, gets one order on stdin and answers on stdout, and ends when the daemon
lets go of its lifeline. It only drafts: the daemon makes the draft the snapshot, if the log is still what was read.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from dataclasses import asdict
from typing import Final

from coordinator.child_process import LIFELINE_VARIABLE
from coordinator.compaction import frames
from coordinator.log.errors import LogError
from coordinator.log.fs import RealFileSystem
from coordinator.snapshot.file import SnapshotError
from coordinator.snapshot.folding import Order, draft
from protocol.errors import ProtocolError

NICENESS: Final = 10
CUT_EXIT_CODE: Final = 75


def main() -> int:
    """One order, one answer: `drafted` with the facts, or `trouble` in words."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    _watch_lifeline()
    gc.disable()
    order = Order.from_wire(frames.read(stdin))
    try:
        frames.write(stdout, {"drafted": asdict(draft(RealFileSystem(), order))})
    except (OSError, LogError, ProtocolError, SnapshotError) as error:
        frames.write(stdout, {"trouble": str(error)})
    return 0


def _watch_lifeline() -> None:
    number = os.environ.get(LIFELINE_VARIABLE, "")
    if not number:
        return

    def watch() -> None:
        while True:
            with contextlib.suppress(InterruptedError):
                if not os.read(int(number), 1):
                    break
        os._exit(CUT_EXIT_CODE)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
