"""The partitions of the offsets log in a data directory, and the base offsets of their segments.

`coordinator.columnar.log_reader` reads by offset, so a daemon may roll and swap segments meanwhile.
"""

from __future__ import annotations

from pathlib import Path

from coordinator.columnar.log_reader import segments
from coordinator.storage.file_names import offsets_partition


class SegmentsError(Exception):
    """The log cannot be read. The message is one sentence that says what to do."""


def partitions_in(data_dir: Path) -> list[int]:
    """Return the partitions of the offsets log that a data directory holds, ascending."""
    try:
        names = [path.name for path in data_dir.iterdir() if path.is_dir()]
    except OSError as error:
        raise SegmentsError(
            f"the data directory {data_dir} cannot be read ({error.strerror or error}); name another with --data-dir"
        ) from None
    return sorted(found for name in names if (found := offsets_partition(name)) is not None)


def segment_bases(directory: Path) -> list[int]:
    """Return the base offsets of a partition's segments, ascending; none if there is no such directory."""
    try:
        return [segment.base_offset for segment in segments(directory)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SegmentsError(f"{directory} cannot be read ({error.strerror or error}); mend its permissions") from None
