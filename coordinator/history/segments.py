"""What of an offsets log lies where: its partitions in a data directory, and where their segments begin.

Reading itself is `coordinator.columnar.log_reader`'s: by offsets, so that it does not matter which file has them, nor
that a daemon rolls and swaps files meanwhile.
"""

from __future__ import annotations

from pathlib import Path

from coordinator.columnar.log_reader import segments
from coordinator.storage.file_names import offsets_partition


class SegmentsError(Exception):
    """The log cannot be read. One sentence that says what to do."""


def partitions_in(data_dir: Path) -> list[int]:
    """The offsets partitions that a data directory holds, ascending."""
    try:
        names = [path.name for path in data_dir.iterdir() if path.is_dir()]
    except OSError as error:
        raise SegmentsError(
            f"the data directory {data_dir} cannot be read ({error.strerror or error}); name another with --data-dir"
        ) from None
    return sorted(found for name in names if (found := offsets_partition(name)) is not None)


def segment_bases(directory: Path) -> list[int]:
    """Where the segments of a partition begin, ascending; none if there is no such directory."""
    try:
        return [segment.base_offset for segment in segments(directory)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SegmentsError(f"{directory} cannot be read ({error.strerror or error}); mend its permissions") from None
