"""The list of a history's files: a JSON line for each extracted segment of a partition, in log order.

    HISTORY_DIR/files/lp=3.jsonl

A line is durable before the mark of its partition moves past the segment. The mark holds the number of lines below it,
so that a missing or truncated list is detected. A history begun by a version without lists has lines for its newer
segments only; the files of the older ones are not checked.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from coordinator.history.layout import all_files
from coordinator.storage.history_marks import Mark, MarksError
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically

FILES_DIR: Final = "files"
Lost: TypeAlias = "tuple[ExtractedSegment, list[str]]"  # a segment, and the names of its missing files
_REAL: Final = RealFileSystem()


@dataclass(frozen=True, slots=True)
class ExtractedSegment:
    """An extracted segment: the log offsets it covers, its newest timestamp, and its files."""

    start: int
    end: int
    newest_ms: int  # -1: the segment had no records
    files: tuple[str, ...]  # relative to the history directory


def list_path(history_dir: Path, partition: int) -> Path:
    """Return the path of the list of a partition."""
    return history_dir / FILES_DIR / f"lp={partition}.jsonl"


def append(history_dir: Path, partition: int, listed: ExtractedSegment, fs: FileSystem = _REAL) -> None:
    """Add a segment to the list; durable on return. `cut` must have removed the lines at or beyond the mark."""
    path = list_path(history_dir, partition)
    if not fs.is_dir(path.parent):
        fs.mkdir(path.parent)
        fs.fsync_dir(history_dir)
    is_new = not fs.exists(path)
    file = fs.open(path, create=True)
    try:
        file.pwrite(_encoded(listed), file.size())
        file.fsync()
    finally:
        file.close()
    if is_new:
        fs.fsync_dir(path.parent)


def read(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[ExtractedSegment]:
    """Return the lines of a list; none if there is no list. A last line that a crash truncated is left out."""
    path = list_path(history_dir, partition)
    return _lines(read_whole(fs, path)) if fs.exists(path) else []


def cut(history_dir: Path, partition: int, next_offset: int, fs: FileSystem = _REAL) -> None:
    """Remove the lines at or beyond an offset, and a line that a crash truncated."""
    path = list_path(history_dir, partition)
    if not fs.exists(path):
        return
    data = read_whole(fs, path)
    whole = b"".join(_encoded(line) for line in _lines(data) if line.start < next_offset)
    if whole != data:
        write_atomically(fs, path, whole)


def missing(history_dir: Path, partition: int, mark: Mark) -> list[Lost]:
    """Return the segments below the mark with missing files, each with the names of those files.

    MarksError: the list itself is incomplete.
    """
    path = list_path(history_dir, partition)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise MarksError(f"{path} cannot be read ({error.strerror or error}); mend its permissions") from None
    listed = [line for line in _lines(data) if line.start < mark.next_offset]
    if len(listed) < mark.segments:
        raise MarksError(
            f"{path} lists {len(listed)} of the {mark.segments} segments that were extracted, so files "
            "of the history may be missing unnoticed; restore the file from a copy"
        )
    there = {str(file.path.relative_to(history_dir)) for file in all_files(history_dir, partition)}
    lost = ((line, [name for name in line.files if name not in there]) for line in listed)
    return [(line, names) for line, names in lost if names]


def sentence(history_dir: Path, partition: int, lost: list[Lost]) -> str:
    """Return a sentence that names the missing files."""
    names = [name for _, files in lost for name in files]
    spans = ", ".join(f"{line.start} to {line.end - 1}" for line, _ in lost[:3])
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    count = f"{len(names)} files" if len(names) != 1 else "1 file"
    return (
        f"{count} of the history in {history_dir} cannot be found, {names[0]} first: what partition {partition} of the "
        f"offsets log said at its offsets {spans}{more}"
    )


def _encoded(listed: ExtractedSegment) -> bytes:
    return json.dumps(asdict(listed)).encode() + b"\n"


def _lines(data: bytes) -> list[ExtractedSegment]:
    """Return the lines up to the first that cannot be read."""
    found: list[ExtractedSegment] = []
    for line in data.splitlines(keepends=True):
        try:
            found.append(msgspec.json.decode(line, type=ExtractedSegment))
        except ValueError:
            break
    return found
