"""The partitions of a coordinator's log in a data directory, and the base offsets of their segments.

`coordinator.columnar.log_reader` reads by offset, so a daemon may roll and swap segments meanwhile.
"""

from __future__ import annotations

from pathlib import Path

from coordinator.columnar.log_reader import segments
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.file_names import compacted_log


class SegmentsError(Exception):
    """The log cannot be read. The message is one sentence that says what to do."""


def partitions_in(data_dir: Path, topic: str = OFFSETS_TOPIC) -> list[int]:
    """Return the partitions of the offsets log, or of another that is compacted, in a data directory, ascending."""
    try:
        names = [path.name for path in data_dir.iterdir() if path.is_dir()]
    except OSError as error:
        raise SegmentsError(
            f"the data directory {data_dir} cannot be read ({error.strerror or error}); name another with --data-dir"
        ) from None
    return sorted(found[1] for name in names if (found := compacted_log(name)) is not None and found[0] == topic)


def segment_bases(directory: Path) -> list[int]:
    """Return the base offsets of a partition's segments, ascending; none if there is no such directory."""
    try:
        return [segment.base_offset for segment in segments(directory)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SegmentsError(f"{directory} cannot be read ({error.strerror or error}); mend its permissions") from None
