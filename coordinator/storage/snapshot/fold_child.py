"""Child process that folds a snapshot and batches into a new snapshot, for a log in a shared store.

It touches no file and no store. From stdin it reads an order, the pieces of the last snapshot if there is one, and the
batches behind it; to stdout it writes the pieces of the new snapshot, or a text that says why there is none.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import IO

from coordinator.processes import child_entry, frames
from coordinator.storage.log.errors import LogError
from coordinator.storage.snapshot.file import Binding, SnapshotError, encode
from coordinator.storage.snapshot.loading import TailReplay
from coordinator.storage.snapshot.store_keeper import add_chunk, tail_behind
from coordinator.storage.snapshot.transaction_tail import TransactionTail


def main() -> int:
    """Read one order and write one snapshot."""
    stdin, stdout = child_entry.begin()
    gc.disable()
    order = frames.read(stdin)
    partition, end_offset = order["partition"], order["end_offset"]
    base = b"".join(_until_none(stdin)) if order["has_base"] else None
    chunks = _until_none(stdin)
    tails = TransactionTail if order["is_of_transactions"] else TailReplay
    try:
        tail = tails(None, None, is_whole=order["is_whole"]) if base is None else tail_behind(base, partition, tails)
        for chunk in chunks:
            add_chunk(tail, chunk, end_offset)
        loaded = tail.settle(end_offset)
        if loaded.last is None:
            raise SnapshotError("the log is empty")
        for piece in encode(Binding(partition, 0, end_offset, loaded.last), loaded.contents()):
            frames.write(stdout, piece)
    except (LogError, SnapshotError) as error:
        for _ in chunks:  # the daemon writes all of it before it reads
            pass
        frames.write(stdout, str(error))
        return 0
    frames.write(stdout, None)
    return 0


def _until_none(stdin: IO[bytes]) -> Iterator[bytes]:
    while (piece := frames.read(stdin)) is not None:
        yield piece


if __name__ == "__main__":
    sys.exit(main())
