"""A file system in memory, for a server of a test: nothing is written to the disk, and nothing outlives the process.

`FileSystem` of `storage/log/fs.py` with the meaning that POSIX gives its operations: an open file keeps its content
when its name is removed, a rename replaces in one step. A sync does nothing. What is written counts against a
capacity; beyond it a write fails with ENOSPC, as on a full disk.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Final

IN_MEMORY: Final = ":memory:"  # as log.dirs
CAPACITY_BYTES: Final = 1 << 30


class MemoryFileSystem:
    """`FileSystem` in memory. Thread-safe."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0  # by files that have a name or are open
        self.mutex = threading.RLock()  # reentrant, because a file may be collected, and closed, at any moment
        self._names: dict[Path, dict[str, _Content | None]] = {
            Path(os.sep): {},
            Path(): {},
        }  # by directory; None: a directory
        self._locked: set[Path] = set()

    def open(self, path: Path, *, create: bool = False) -> MemoryFile:
        with self.mutex:
            names = self._directory(path.parent)
            if path.name in names:
                content = names[path.name]
                if content is None:
                    raise _error(errno.EISDIR, path)
            elif create:
                content = names[path.name] = _Content()
            else:
                raise _missing(path)
            return MemoryFile(self, content)

    def exists(self, path: Path) -> bool:
        with self.mutex:
            return path in self._names or path.name in self._names.get(path.parent, ())

    def is_dir(self, path: Path) -> bool:
        with self.mutex:
            return path in self._names

    def listdir(self, path: Path) -> list[str]:
        with self.mutex:
            return sorted(self._directory(path))

    def mkdir(self, path: Path) -> None:
        with self.mutex:
            names = self._directory(path.parent)
            if path.name in names:
                raise _error(errno.EEXIST, path)
            names[path.name] = None
            self._names[path] = {}

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file, or a directory with all that is in it."""
        with self.mutex:
            names, target = self._directory(old.parent), self._directory(new.parent)
            if old.name not in names:
                raise _missing(old)
            content, replaced = names[old.name], target.get(new.name)
            if new == old or (content is not None and replaced is content):
                return  # two names of one file stay, as POSIX has it
            self._check_rename(old, new)
            if replaced is not None:
                self._let_go(replaced)
            target[new.name] = names.pop(old.name)
            for directory in [each for each in self._names if each == old or old in each.parents]:
                self._names[new / directory.relative_to(old)] = self._names.pop(directory)

    def _check_rename(self, old: Path, new: Path) -> None:
        """Raise the error that Linux has for a rename that mixes files and directories, or loses what one holds."""
        if old in new.parents:
            raise _error(errno.EINVAL, new)
        if new in old.parents:
            raise _error(errno.ENOTEMPTY, new)
        if new in self._names:
            if old not in self._names:
                raise _error(errno.EISDIR, new)
            if self._names[new]:
                raise _error(errno.ENOTEMPTY, new)
        elif old in self._names and self._is_file(new):
            raise _error(errno.ENOTDIR, new)

    def link(self, old: Path, new: Path) -> None:
        with self.mutex:
            if old in self._names:
                raise _error(errno.EPERM, old)
            content, target = self._content(old), self._directory(new.parent)
            if new.name in target:
                raise _error(errno.EEXIST, new)
            content.uses += 1
            target[new.name] = content

    def unlink(self, path: Path) -> None:
        with self.mutex:
            if path in self._names:
                raise _error(errno.EISDIR, path)
            content = self._content(path)
            del self._names[path.parent][path.name]
            self._let_go(content)

    def rmdir(self, path: Path) -> None:
        with self.mutex:
            if self._directory(path):
                raise _error(errno.ENOTEMPTY, path)
            del self._names[path], self._names[path.parent][path.name]

    def fsync_dir(self, path: Path) -> None:
        with self.mutex:
            self._directory(path)

    def free_bytes(self, path: Path) -> int:
        return self.capacity_bytes - self.used_bytes

    def total_bytes(self, path: Path) -> int:
        return self.capacity_bytes

    def lock(self, path: Path) -> MemoryFile:
        file = self.open(path, create=True)
        with self.mutex:
            if path in self._locked:
                raise _error(errno.EAGAIN, path)
            self._locked.add(path)
        file.unlocks = path
        return file

    def copy(self) -> MemoryFileSystem:
        """Return the file system that a process finds after this one was killed: the same files, nothing open."""
        copied = MemoryFileSystem(self.capacity_bytes)
        with self.mutex:
            contents: dict[int, _Content] = {}
            for directory, names in self._names.items():
                copied._names[directory] = {}
                for name, content in names.items():
                    if content is None:
                        copied._names[directory][name] = None
                        continue
                    known = contents.get(id(content))
                    if known is None:
                        known = contents[id(content)] = _Content()
                        known.data[:] = content.data
                        copied.used_bytes += len(content.data)
                    else:
                        known.uses += 1
                    copied._names[directory][name] = known
        return copied

    # -- for open files ------------------------------------------------------------------------------------------

    def resize(self, content: _Content, size: int) -> None:
        """Cut a file or extend it with zeros. The caller holds `mutex`."""
        grown = size - len(content.data)
        if grown > self.capacity_bytes - self.used_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if grown > 0:
            content.data.extend(bytes(grown))
        else:
            del content.data[size:]
        self.used_bytes += grown

    def closed(self, file: MemoryFile, content: _Content) -> None:
        with self.mutex:
            self._let_go(content)
            if file.unlocks is not None:
                self._locked.discard(file.unlocks)

    def _let_go(self, content: _Content) -> None:
        """Free the memory of a file that has lost its last name and is open nowhere."""
        content.uses -= 1
        if not content.uses:
            self.used_bytes -= len(content.data)

    def _directory(self, path: Path) -> dict[str, _Content | None]:
        names = self._names.get(path)
        if names is None:
            is_below_file = any(self._is_file(each) for each in (path, *path.parents))
            raise _error(errno.ENOTDIR, path) if is_below_file else _missing(path)
        return names

    def _is_file(self, path: Path) -> bool:
        return self._names.get(path.parent, {}).get(path.name) is not None

    def _content(self, path: Path) -> _Content:
        content = self._directory(path.parent).get(path.name)
        if content is None:
            raise _missing(path)
        return content


class _Content:
    """The bytes of a file, and how many names and open handles it has."""

    __slots__ = ("data", "uses")

    def __init__(self) -> None:
        self.data = bytearray()
        self.uses = 1


class MemoryFile:
    """`File` of a `MemoryFileSystem`."""

    __slots__ = ("_content", "_fs", "unlocks")

    def __init__(self, fs: MemoryFileSystem, content: _Content) -> None:
        content.uses += 1
        self._fs = fs
        self._content: _Content | None = content
        self.unlocks: Path | None = None

    def pread(self, size: int, position: int) -> bytes:
        with self._fs.mutex, memoryview(self._open().data) as data:
            return bytes(data[position : position + size])

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        with self._fs.mutex:
            content = self._open()
            if not len(data):
                return
            end = position + len(data)
            if end > len(content.data):
                self._fs.resize(content, end)
            content.data[position:end] = data

    def truncate(self, size: int) -> None:
        with self._fs.mutex:
            self._fs.resize(self._open(), size)

    def fdatasync(self) -> None:
        self._open()

    def fsync(self) -> None:
        self._open()

    def size(self) -> int:
        return len(self._open().data)

    def close(self) -> None:
        content, self._content = self._content, None
        if content is not None:
            self._fs.closed(self, content)

    def __del__(self) -> None:
        self.close()

    def _open(self) -> _Content:
        if self._content is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._content


def _missing(path: Path) -> OSError:
    return _error(errno.ENOENT, path)


def _error(number: int, path: Path) -> OSError:
    """Return the error of the operating system with this number, in its own class."""
    return OSError(number, os.strerror(number), str(path))
