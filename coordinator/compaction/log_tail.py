"""Reader of the live log behind the part that a plan compacts, for another process while the daemon appends to it.

Only what is durable is read, up to an offset that the daemon names. Segments that begin later are ignored. The others
are neither swapped nor removed meanwhile: a log has one plan at a time, and a plan does not touch the part behind its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.segment import fault_in_batch, whole_batches
from protocol.record_batch import BatchHeader, Record, read_header, read_records

_SEGMENT = re.compile(r"\d{20}\.log")


def read_tail(
    fs: FileSystem, directory: Path, from_offset: int, until_offset: int
) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Yield every batch from the segment that begins at `from_offset` on, up to `until_offset`, which is durable.

    CorruptLogError if one of them cannot be read.
    """
    due = from_offset
    for name in fs.listdir(directory):
        if not _SEGMENT.fullmatch(name) or not from_offset <= int(name[:20]) < until_offset:
            continue
        file = fs.open(directory / name)
        try:
            for position, buffer, at, size in whole_batches(file, 0, file.size()):
                header = read_header(buffer, at)
                if header.base_offset >= until_offset:
                    break
                if fault := fault_in_batch(buffer, at, size, due):
                    raise CorruptLogError(directory / name, position, fault)
                due = header.last_offset + 1
                yield header, read_records(buffer, at, header)
        finally:
            file.close()
    if due < until_offset:
        raise CorruptLogError(directory, 0, f"the log ends at offset {due}, and {until_offset} is said to be durable")
