"""The transaction index of a segment (`.txnindex`), which only a Kafka reads: here it says that it must be built again.

Kafka lists aborted transactions in it, and keeps a snapshot of the producers of a partition. After a clean stop it
trusts both: without them its readers of committed records would see aborted and undecided ones, and its cleaner would
drop what an aborted record seems to replace. This package needs neither, because it reads both from the log.
Beside a segment with a transactional batch therefore lies an index with one entry, `TO_BE_BUILT`, whose marker would be
before the segment. Kafka finds that at a start, clean or not (`TransactionIndex.sanityCheck`), and reads the segment:
it builds the index, and a snapshot of the producers (`LogLoader.recoverSegment`).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from coordinator.storage.log.fs import FileSystem, read_whole
from protocol.record_batch import TRANSACTIONAL

SUFFIX: Final = ".txnindex"
# Version, producer id, first offset, offset of the marker, last stable offset.
TO_BE_BUILT: Final = struct.pack(">hqqqq", 0, -1, -1, -1, -1)
_ATTRIBUTES_AT: Final = 22  # position of the low byte in a batch


def is_transactional(batch: bytes | bytearray) -> bool:
    """Return True for a batch of a transaction, or its marker."""
    return bool(batch[_ATTRIBUTES_AT] & TRANSACTIONAL)


def ask_to_build(fs: FileSystem, path: Path) -> None:
    """Have a Kafka build a transaction index again; durable on return."""
    if fs.exists(path) and read_whole(fs, path) == TO_BE_BUILT:
        return
    file = fs.open(path, create=True)
    try:
        file.truncate(0)  # an index that a Kafka built, and which lacks what follows
        file.pwrite(TO_BE_BUILT, 0)
        file.fsync()
    finally:
        file.close()
    fs.fsync_dir(path.parent)
