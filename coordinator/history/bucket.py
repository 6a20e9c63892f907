"""A history in a bucket: any file system of pyarrow or fsspec, with a copy in a directory of this machine.

All work is done in the copy. `pull` makes it what the bucket has, and `push` the reverse; each moves only files that
changed. A push first says in the marks what will be left out, then brings tables, lists and the new marks, and removes
files at last. So the bucket is whole at each step, and the next run completes a push that was interrupted. One program
at a time may push.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, Self

import pyarrow as pa
from pyarrow import fs as arrow_fs

from coordinator.history import file_list
from coordinator.history.file_list import FILES_DIR, ExtractedSegment
from coordinator.history.layout import TEMPORARY
from coordinator.storage.file_names import LAKE_NAME, LOCK_NAME, MARKS_NAME
from coordinator.storage.history_marks import Marks, encode_marks, read_marks
from coordinator.storage.log.fs import RealFileSystem

PULLED_NAME: Final = "pulled.json"  # in the copy: the version of each file in the bucket, and in the copy
_TRIES: Final = 3
WRITER_LOCK_NAME: Final = "writer.lock"
PULL_LOCK_NAME: Final = "pull.lock"
_OWN: Final = (LOCK_NAME, PULLED_NAME, WRITER_LOCK_NAME, PULL_LOCK_NAME)

Version = list[int | None]  # of a file in the bucket: size, time in ns; in the copy: size, time in ns


class BucketError(Exception):
    """The bucket cannot be used. The message is one sentence that says what to do."""


def shown(url: str) -> str:
    """Return a URL without the credentials and options in it."""
    return re.sub(r"//.*@", "//", url).partition("?")[0]


@dataclass(slots=True)
class Bucket:
    """A directory in a bucket, and its copy."""

    url: str
    copy: Path
    _fs: arrow_fs.FileSystem
    _root: str
    _versions: dict[str, Version] = field(default_factory=dict)
    _marks: Marks | None = None  # in the bucket, as far as known

    @classmethod
    def of(cls, url: str, use: str = "reader") -> Self:
        """Open `s3://bucket/path`, `gs://…` or another URL. Raises BucketError.

        The copy is in the user's cache. A writer has another one than the readers on its machine (`use`).
        """
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        copy = caches / "kafka-group-coordinator" / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{use}"
        try:
            fs, root = _open(url)
        except (pa.ArrowException, OSError, ValueError, ImportError) as error:
            reason = _first_line(error).replace(url, shown(url))
            raise BucketError(f"{shown(url)} cannot be used ({reason}); check the address") from None
        return cls(url, copy, fs, root.rstrip("/"))

    def pull(self) -> int:
        """Make the copy what the bucket has, and return the bytes that came. Raises BucketError, OSError."""
        self.copy.mkdir(parents=True, exist_ok=True)
        moved = 0
        with (self.copy / PULL_LOCK_NAME).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed; another question may be pulling
            self._versions = self._read_versions()
            for _ in range(_TRIES):
                try:
                    came, is_steady = self._pull()
                except FileNotFoundError:  # removed meanwhile: files were joined
                    continue
                moved += came
                if is_steady:
                    return moved
        raise BucketError(f"{shown(self.url)} changes faster than it can be read; try again")

    def _pull(self) -> tuple[int, bool]:
        """Return the bytes that came, and whether no push changed the marks meanwhile."""
        # The marks come first: what they tell of is in the bucket when its files are listed.
        moved = sum(self._fetch(name, info) for name, info in self._remote([MARKS_NAME]))
        self._marks = read_marks(self.copy)
        there = dict(self._remote())
        for name in sorted(there, key=_rank):
            moved += self._fetch(name, there[name])
        for name in set(self._local()) - there.keys():
            (self.copy / name).unlink(missing_ok=True)
        self._versions = {name: version for name, version in self._versions.items() if name in there}
        self._write_versions()
        return moved, read_marks(self.copy) == self._marks

    @property
    def has_files(self) -> bool:
        return bool(self._versions)

    def push(self) -> int:
        """Make the bucket what the copy is, and return the bytes that went. Raises BucketError, OSError."""
        local = sorted(self._local(), key=_rank)
        gone = sorted(self._versions.keys() - set(local))
        marks = read_marks(self.copy)
        lists = {number: file_list.read(self.copy, number) for number in (marks.partitions if marks else ())}
        listed = {name for lines in lists.values() for line in lines for name in line.files}
        if self._versions and (not (self.copy / PULLED_NAME).exists() or MARKS_NAME in gone or listed & set(gone)):
            raise BucketError(f"files in {self.copy}, the copy of {shown(self.url)}, were removed; start this again")
        if marks is not None and self._marks not in (None, marks):
            self._marks = _bridge(self._marks, marks, lists)
            self._write(MARKS_NAME, encode_marks(self._marks))
        changed = [name for name in local if self._versions.get(name, [])[2:] != _facts(self.copy / name)]
        moved = 0
        for name in changed:
            facts, data = _facts(self.copy / name), (self.copy / name).read_bytes()
            self._write(name, data)
            self._versions[name] = [None, None, *facts]
            moved += len(data)
        self._marks = marks
        for name, info in self._remote(changed):
            self._versions[name][:2] = _version(info)
        for name in gone:
            with self._asking(), suppress(FileNotFoundError):
                self._fs.delete_file(f"{self._root}/{name}")
            del self._versions[name]
        self._write_versions()
        return moved

    def _write(self, name: str, data: bytes) -> None:
        with self._asking(), self._fs.open_output_stream(f"{self._root}/{name}") as file:
            file.write(data)

    def _remote(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, arrow_fs.FileInfo]]:
        """Yield files in the bucket: all, or those of these names that there are."""
        if names is not None and not names:
            return
        selector = arrow_fs.FileSelector(self._root, allow_not_found=True, recursive=True)
        with self._asking():
            found = self._fs.get_file_info(selector if names is None else [f"{self._root}/{name}" for name in names])
        for info in found:
            name = PurePosixPath(info.path.removeprefix(f"{self._root}/"))
            is_foreign = ".." in name.parts or name.is_absolute() or not _is_of_history(name)
            if info.type == arrow_fs.FileType.File and not is_foreign:
                yield str(name), info

    def _fetch(self, name: str, info: arrow_fs.FileInfo) -> int:
        path = self.copy / name
        version = _version(info)
        is_same = path.exists() and self._versions.get(name) == [*version, *_facts(path)]
        if is_same and name != MARKS_NAME:  # marks may have the same size, and S3 counts seconds
            return 0
        with self._asking(), self._fs.open_input_stream(f"{self._root}/{name}") as file:
            data: bytes = file.read()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._replace(path, data)
        self._versions[name] = [*version, *_facts(path)]
        return len(data)

    def _local(self) -> Iterator[str]:
        for path in self.copy.rglob("*"):
            if path.is_file() and _is_of_history(path):
                yield path.relative_to(self.copy).as_posix()

    def _read_versions(self) -> dict[str, Version]:
        """Return the versions of the last pull or push. A file that cannot be read is as none: all files come again."""
        try:
            found = json.loads((self.copy / PULLED_NAME).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_versions(self) -> None:
        self.copy.mkdir(parents=True, exist_ok=True)
        self._replace(self.copy / PULLED_NAME, json.dumps(self._versions).encode())

    def _replace(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
        temporary.write_bytes(data)
        temporary.replace(path)

    def _asking(self) -> _Asking:
        return _Asking(self.url)


@contextmanager
def writing(url: str) -> Iterator[Bucket]:
    """Open a bucket to write to, with a new copy. Raises BucketError, also if another program on this machine does."""
    bucket = Bucket.of(url, "writer")
    bucket.copy.mkdir(parents=True, exist_ok=True)
    try:
        lock = RealFileSystem().lock(bucket.copy / WRITER_LOCK_NAME)
    except BlockingIOError:
        raise BucketError(f"another program writes to {shown(url)}; wait for it to end") from None
    try:
        bucket.pull()
        yield bucket
    finally:
        lock.close()


class _Asking:
    """Turns an error of the bucket into a sentence; a file that is not there stays FileNotFoundError."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, pa.ArrowException | OSError) and not isinstance(error, FileNotFoundError):
            raise BucketError(
                f"{shown(self._url)} does not answer as it should ({_first_line(error)}); check the address, "
                "the credentials and the rights to list, read, write and delete"
            ) from None


def _open(url: str) -> tuple[arrow_fs.FileSystem, str]:
    try:
        fs, root = arrow_fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid as error:
        try:
            import fsspec  # for the systems that pyarrow does not have

            inner, root = fsspec.core.url_to_fs(url)
        except ImportError:
            raise error from None
        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(inner)), root
    return fs, root


def _bridge(before: Marks, after: Marks, lists: Mapping[int, Sequence[ExtractedSegment]]) -> Marks:
    """Return marks that hold while the files of others are replaced: as far as before, and as thin as after."""
    found = before
    for number, mark in before.partitions.items():
        listed = sum(line.start < mark.next_offset for line in lists.get(number, ()))
        thin = after.of(number)
        found = found.with_mark(
            number,
            replace(
                mark,
                segments=min(mark.segments, listed),
                compacted_to=max(mark.compacted_to, thin.compacted_to),
                whole_since_ms=max(mark.whole_since_ms, thin.whole_since_ms),
            ),
        )
    return found


def _is_of_history(path: PurePath) -> bool:
    return path.name not in _OWN and not path.name.endswith(TEMPORARY)


def _rank(name: str) -> tuple[int, str]:
    """Return the place of a file in the order in which files are moved: tables, their lists, the marks, lake.json."""
    last = {MARKS_NAME: 2, LAKE_NAME: 3}  # what is to be appended is in the bucket before it is
    return (last.get(name, int(name.startswith(f"{FILES_DIR}/"))), name)


def _version(info: arrow_fs.FileInfo) -> Version:
    return [info.size, info.mtime_ns]


def _facts(path: Path) -> Version:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns]


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
