"""The segments of one offsets partition as one consistent view, while a daemon may write, roll or swap them.

Files are opened before anything is read: an open file stays what it was, whatever happens to its name. A name that
vanishes between listing and opening was swapped away by a compaction, and the look begins again. In the middle of a
swap the view may hold a cleaned segment beside inputs of it that are not removed yet; that is only more of the past,
and records come out in the order of their offsets, each once.

Every segment but the newest is closed: nobody writes to it. The newest is read up to the last whole batch, which may
be a moment ahead of what its daemon has acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from coordinator.compaction.batches import Batches, CorruptBatchError, Damage, read_batches
from coordinator.compaction.kernel import Records, read_records

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRIES: Final = 100  # looks at a directory that changes beneath us: a swap renames its files within milliseconds

_SEGMENT: Final = re.compile(r"(\d{20})\.log")
_PARTITION: Final = re.compile(rf"{OFFSETS_TOPIC}-(\d{{1,9}})")


class SegmentsError(Exception):
    """The log cannot be read. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """A segment whose file is held open."""

    path: Path
    base_offset: int
    next_base: int | None  # where the next one begins; None: the newest, which may grow
    file: BinaryIO

    def read(self, *, skip_corrupt: bool = False) -> tuple[Batches, Records, list[Damage]]:
        """All of it; of the newest, what is whole. CorruptBatchError as the kernel raises it."""
        self.file.seek(0)
        data = self.file.read()
        growing = self.next_base is None
        batches, damages = read_batches(data, path=self.path, skip_corrupt=skip_corrupt, growing=growing)
        while True:
            try:
                return batches, read_records(data, batches, path=self.path), damages
            except CorruptBatchError as error:
                if not skip_corrupt:
                    raise
                bad = batches.position == error.position  # the checksum holds, the records make no sense
                damages.append(Damage(error.position, int(batches.size[bad][0]), error.reason))
                batches = batches[~bad]


def partition_dir(data_dir: Path, partition: int) -> Path:
    """Where one partition of the offsets log is kept."""
    return data_dir / f"{OFFSETS_TOPIC}-{partition}"


def partitions_in(data_dir: Path) -> list[int]:
    """The offsets partitions that a data directory holds, ascending."""
    try:
        names = [path.name for path in data_dir.iterdir() if path.is_dir()]
    except OSError as error:
        raise SegmentsError(
            f"the data directory {data_dir} cannot be read ({error.strerror or error}); name another with --data-dir"
        ) from None
    return sorted(int(found[1]) for name in names if (found := _PARTITION.fullmatch(name)))


def segment_bases(directory: Path) -> list[int]:
    """Where the segments of a partition begin, ascending; none if there is no such directory."""
    try:
        return sorted(int(found[1]) for path in directory.iterdir() if (found := _SEGMENT.fullmatch(path.name)))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SegmentsError(f"{directory} cannot be read ({error.strerror or error}); mend its permissions") from None


@contextmanager
def open_segments(directory: Path, from_offset: int = 0) -> Iterator[list[OpenSegment]]:
    """The segments that may hold records at `from_offset` or beyond, ascending, open as long as the context is.

    SegmentsError: they cannot be read.
    """
    with ExitStack() as stack:
        yield _open(directory, from_offset, stack)


def _open(directory: Path, from_offset: int, stack: ExitStack) -> list[OpenSegment]:
    for _ in range(TRIES):
        attempt = ExitStack()
        try:
            found = [
                OpenSegment(path, base, following, attempt.enter_context(path.open("rb")))
                for path, base, following in _wanted(directory, from_offset)
            ]
        except FileNotFoundError:
            attempt.close()
            continue
        except OSError as error:
            attempt.close()
            raise SegmentsError(
                f"{error.filename or directory} cannot be read ({error.strerror or error}); mend its permissions"
            ) from None
        stack.enter_context(attempt)
        return found
    raise SegmentsError(f"the segments in {directory} vanish while they are read; stop what removes them, or try again")


def _wanted(directory: Path, from_offset: int) -> Iterator[tuple[Path, int, int | None]]:
    bases = segment_bases(directory)
    following_bases: list[int | None] = [*bases[1:], None]
    for base, following in zip(bases, following_bases, strict=False):
        if following is None or following > from_offset:
            yield directory / f"{base:020d}.log", base, following
