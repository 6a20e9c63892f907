"""The file layer of the log: the file operations that durability needs, behind an interface that tests replace.

POSIX guarantees little. Written bytes are durable after `fdatasync` of their file; a created, renamed or removed name
is durable after `fsync` of its directory; a failed `fdatasync` may have dropped the dirty pages, and the next one
reports success. The log therefore asks for each sync explicitly. Tests use a file system that keeps exactly what was
guaranteed and loses the rest (`coordinator/simulation/disk.py`), so a missing sync fails a test.

Handles are objects, not descriptor numbers: a reader that holds a deleted segment reads the old file, never a new file
that got the same number.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class File(Protocol):
    """An open file. Reads may run in any thread, concurrently with the one thread that writes."""

    def pread(self, size: int, position: int) -> bytes:
        """Return up to `size` bytes from `position`; fewer only at the end of the file."""

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`, or raise OSError with the file in an unknown state from `position` on."""

    def truncate(self, size: int) -> None:
        """Cut (or extend with zeros) to `size` bytes; durable after `fsync`."""

    def fdatasync(self) -> None:
        """Return when every byte written, and the size they need, is on the device."""

    def fsync(self) -> None:
        """`fdatasync` plus metadata: used after a truncation."""

    def size(self) -> int:
        """Return the number of bytes in the file."""

    def close(self) -> None:
        """Close; a second call does nothing."""


class FileSystem(Protocol):
    """Interface of a file system, as the log uses it. Every method may raise OSError."""

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open for reading and writing; with `create`, make it if absent (its name is durable after `fsync_dir`)."""

    def exists(self, path: Path) -> bool: ...

    def is_dir(self, path: Path) -> bool: ...

    def listdir(self, path: Path) -> list[str]:
        """Return the names in a directory, sorted."""

    def mkdir(self, path: Path) -> None:
        """Make one directory; its name is durable after `fsync_dir` of its parent."""

    def rename(self, old: Path, new: Path) -> None:
        """Rename, replacing `new` in one step; durable after `fsync_dir`."""

    def link(self, old: Path, new: Path) -> None:
        """Give a file a second name in another directory; durable after `fsync_dir` of that."""

    def unlink(self, path: Path) -> None: ...

    def rmdir(self, path: Path) -> None: ...

    def fsync_dir(self, path: Path) -> None:
        """Return when every creation, renaming and removal in this directory is on the device."""

    def free_bytes(self, path: Path) -> int:
        """Return the bytes that an ordinary user may still write to the file system that holds `path`."""

    def total_bytes(self, path: Path) -> int:
        """Return the size of the file system that holds `path`."""

    def lock(self, path: Path) -> File:
        """Lock `path` (made if absent) until the handle is closed; BlockingIOError if another process holds it."""


class RealFile:
    """`File` over a descriptor, which is closed at the latest when the last reference goes."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def pread(self, size: int, position: int) -> bytes:
        data = os.pread(self._fd, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]  # a signal or a network file system may cause short reads
        got = len(data)
        while got < size and (more := os.pread(self._fd, size - got, position + got)):
            parts.append(more)
            got += len(more)
        return b"".join(parts)

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        written = os.pwrite(self._fd, data, position)
        if written == len(data):
            return
        with memoryview(data) as view:
            while written < len(view):
                written += os.pwrite(self._fd, view[written:], position + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def fdatasync(self) -> None:
        _fdatasync(self._fd)

    def fsync(self) -> None:
        _fsync(self._fd)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        fd, self._fd = self._fd, -1  # -1: every later call is EBADF, never an operation on an unrelated file
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


class RealFileSystem:
    """`FileSystem` of the operating system."""

    file_type = RealFile

    def open(self, path: Path, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return self.file_type(os.open(path, flags, 0o644))

    def exists(self, path: Path) -> bool:
        return path.exists()

    def is_dir(self, path: Path) -> bool:
        return path.is_dir()

    def listdir(self, path: Path) -> list[str]:
        return sorted(entry.name for entry in path.iterdir())

    def mkdir(self, path: Path) -> None:
        path.mkdir()

    def rename(self, old: Path, new: Path) -> None:
        old.replace(new)

    def link(self, old: Path, new: Path) -> None:
        new.hardlink_to(old)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def rmdir(self, path: Path) -> None:
        path.rmdir()

    def fsync_dir(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self, path: Path) -> int:
        facts = os.statvfs(path)
        return facts.f_bavail * facts.f_frsize

    def total_bytes(self, path: Path) -> int:
        facts = os.statvfs(path)
        return facts.f_blocks * facts.f_frsize

    def lock(self, path: Path) -> File:
        return _locked(self.file_type(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)))


def _locked(file: RealFile) -> RealFile:
    try:
        fcntl.flock(file._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


class ReadOnlyFileSystem(RealFileSystem):
    """`FileSystem` of the operating system for a reader: files cannot be written or made."""

    def open(self, path: Path, *, create: bool = False) -> File:
        return self.file_type(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def lock(self, path: Path) -> File:
        return _locked(self.file_type(os.open(path, os.O_RDONLY | os.O_CLOEXEC)))


class UnsyncedFile(RealFile):
    """A file that is never forced to disk."""

    __slots__ = ()

    def fdatasync(self) -> None:
        pass

    def fsync(self) -> None:
        pass


class UnsyncedFileSystem(RealFileSystem):
    """`FileSystem` of the operating system, which writes to the disk when it likes."""

    file_type = UnsyncedFile

    def fsync_dir(self, path: Path) -> None:
        pass


def _fsync(fd: int) -> None:
    if sys.platform == "darwin":  # fsync on macOS only hands the bytes to the drive's cache
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # not supported by every file system: the plain call is the strongest one left
    os.fsync(fd)


def _fdatasync(fd: int) -> None:
    if sys.platform == "linux":
        os.fdatasync(fd)
    else:
        _fsync(fd)


def write_atomically(fs: FileSystem, path: Path, data: bytes, temporary_suffix: str = ".tmp") -> None:
    """Replace a file. After a crash it holds either the old bytes or the new ones; after return the new ones."""
    temporary = path.with_name(path.name + temporary_suffix)
    file = fs.open(temporary, create=True)
    try:
        file.truncate(0)  # a leftover of an earlier crash
        file.pwrite(data, 0)
        file.fsync()
    finally:
        file.close()
    fs.rename(temporary, path)
    fs.fsync_dir(path.parent)


def file_size(fs: FileSystem, path: Path) -> int:
    """Return the number of bytes in a file."""
    file = fs.open(path)
    try:
        return file.size()
    finally:
        file.close()


def read_whole(fs: FileSystem, path: Path) -> bytes:
    """Return the bytes of a small file."""
    file = fs.open(path)
    try:
        return file.pread(file.size(), 0)
    finally:
        file.close()


def remove_directory(fs: FileSystem, path: Path) -> None:
    """Remove a directory and its content. A directory to which another process is adding files stays."""
    if not fs.is_dir(path):
        return
    for name in fs.listdir(path):
        if fs.is_dir(path / name):
            remove_directory(fs, path / name)
        else:
            with suppress(FileNotFoundError):
                fs.unlink(path / name)
    with suppress(OSError):
        fs.rmdir(path)
