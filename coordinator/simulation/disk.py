"""A file system in memory that keeps what was synced and loses the rest, as a power cut may.

Bytes are safe after a successful `fdatasync` or `fsync` of their file, names after `fsync_dir` of their directory. A
failed sync drops the unsynced bytes as Linux may: they stay readable, and a later sync succeeds without saving them.
`crash()` returns the file system that the next boot finds. Any sectors of the unsynced writes may be there; of the
unsynced names the first few changes, or with `reorders_names` any of them, as POSIX allows. With `rng=None` everything
unsynced is lost.

Faults: `fail` makes the n-th next call of an operation fail; `capacity` is the size of the disk; `crash_after` turns
the machine off at the n-th operation from now, even in the middle of a write. `ignored` operations do nothing and
report success. `counts` counts the calls. `rot` changes bytes that are durable, and `restore` puts them right.
"""

from __future__ import annotations

import errno
import hashlib
import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 64  # small, so that small test batches tear


class MachineOffError(OSError):
    """Raised by every call after the crash."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the machine is off")


@dataclass
class Inode:
    content: bytearray = field(default_factory=bytearray)  # content that the process sees
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)  # (position, bytes) or (size, None): cut
    right: dict[int, int] = field(default_factory=dict)  # bytes that rot has changed and nothing has replaced


@dataclass
class Directory:
    entries: dict[str, Inode | Directory] = field(default_factory=dict)
    durable: dict[str, Inode | Directory] = field(default_factory=dict)
    unsynced: list[dict[str, Inode | Directory]] = field(default_factory=list)  # the entries after each change
    changes: list[dict[str, Inode | Directory | None]] = field(default_factory=list)  # each change by itself

    def change(self, **names: Inode | Directory | None) -> None:
        """Change names in one step; None removes a name."""
        for name, node in names.items():
            if node is None:
                del self.entries[name]
            else:
                self.entries[name] = node
        self.unsynced.append(dict(self.entries))
        self.changes.append(names)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.unsynced.clear()
        self.changes.clear()


@dataclass
class DiskFault:
    operation: str
    error: int
    skip: int
    times: int
    name: str


def _write(buffer: bytearray, position: int, data: bytes | None) -> None:
    if data is None:
        del buffer[position:]
        buffer.extend(bytes(position - len(buffer)))
        return
    buffer.extend(bytes(max(0, position - len(buffer))))
    buffer[position : position + len(data)] = data


class LossyFileSystem:
    """Implements `coordinator.storage.log.fs.FileSystem`. Thread-safe."""

    def __init__(self, *, seed: int = 0, reorders_names: bool = False) -> None:
        self.reorders_names = reorders_names
        self.root = Directory()
        self.counts: Counter[str] = Counter()
        self.errors = 0  # raised so far, by faults and a full disk
        self.ignored: set[str] = set()
        self.capacity: int | None = None
        self.is_off = False
        self._rng = random.Random(seed)
        self._faults: list[DiskFault] = []
        self._crash_in: int | None = None
        self._crash_on = ""
        self._lock = threading.RLock()
        self._held: set[Path] = set()

    # faults

    def fail(self, operation: str, error: int = errno.EIO, *, skip: int = 0, times: int = 1, name: str = "") -> None:
        """Make calls of `operation` fail after `skip` good ones, on files whose path contains `name`."""
        self._faults.append(DiskFault(operation, error, skip, times, name))

    def heal(self) -> None:
        """Remove all faults and the limit of capacity."""
        self._faults.clear()
        self.capacity = None

    def crash_after(self, operations: int, *, name: str = "") -> None:
        """Turn the machine off after some more operations on files whose path contains `name`."""
        self._crash_in, self._crash_on = operations, name

    def crash(self, rng: random.Random | None = None) -> LossyFileSystem:
        """Return the file system that the next boot finds. This instance is off afterwards."""
        with self._lock:
            self.is_off = True
            survivor = LossyFileSystem(seed=self._rng.randrange(1 << 30), reorders_names=self.reorders_names)
            survivor.root = _survivor(self.root, rng, {}, self.reorders_names)
            return survivor

    def killed(self) -> LossyFileSystem:
        """Return the file system that the next process finds after a SIGKILL: all bytes, synced or not, are there.

        This instance is off afterwards.
        """
        with self._lock:
            self.is_off = True
            survivor = LossyFileSystem(seed=self._rng.randrange(1 << 30), reorders_names=self.reorders_names)
            survivor.root = self.root
            return survivor

    def digest(self) -> bytes:
        """Return a digest of all names and bytes as the process sees them, and of which names are one file."""
        with self._lock:
            digest = hashlib.sha256()
            _add_to_digest(digest, self.root, {})
            return digest.digest()

    # bit rot

    def durable(self) -> LossyFileSystem:
        """Return a file system with all that is durable, and nothing else."""
        copy = LossyFileSystem()
        copy.root = _survivor(self.root, None, {}, False)
        return copy

    def durable_files(self) -> Iterator[Path]:
        """Yield the files whose names and bytes are all durable."""
        return _durable_files(self.root, Path("/"))

    def rot(self, path: Path, position: int, mask: int) -> None:
        """Change bits of a durable byte."""
        inode = self._inode(path)
        inode.right[position] = inode.content[position]
        inode.content[position] ^= mask
        inode.durable[position] ^= mask

    def restore(self) -> int:
        """Put the bytes right that rot has changed and that are still there; return their number."""
        return sum(_restored(inode) for inode in _inodes(self.root))

    # the file system

    def open(self, path: Path, *, create: bool = False) -> LossyFile:
        with self._lock:
            self._enter("open", path)
            directory = self._directory(path.parent)
            inode = directory.entries.get(path.name)
            if inode is None:
                if not create:
                    raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
                inode = Inode()
                directory.change(**{path.name: inode})
            if isinstance(inode, Directory):
                raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
            return LossyFile(self, path, inode)

    def exists(self, path: Path) -> bool:
        with self._lock:
            self._check_on()
            return self._find(path) is not None

    def is_dir(self, path: Path) -> bool:
        with self._lock:
            self._check_on()
            return isinstance(self._find(path), Directory)

    def listdir(self, path: Path) -> list[str]:
        with self._lock:
            self._enter("listdir", path)
            return sorted(self._directory(path).entries)

    def mkdir(self, path: Path) -> None:
        with self._lock:
            self._enter("mkdir", path)
            parent = self._directory(path.parent)
            if path.name in parent.entries:
                raise FileExistsError(errno.EEXIST, "exists", str(path))
            parent.change(**{path.name: Directory()})

    def rename(self, old: Path, new: Path) -> None:
        with self._lock:
            self._enter("rename", old)
            assert old.parent == new.parent, "the log renames within a directory only"
            directory = self._directory(old.parent)
            if old.name not in directory.entries:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(old))
            directory.change(**{old.name: None, new.name: directory.entries[old.name]})

    def link(self, old: Path, new: Path) -> None:
        with self._lock:
            self._enter("link", new)
            inode, directory = self._inode(old), self._directory(new.parent)
            if new.name in directory.entries:
                raise FileExistsError(errno.EEXIST, "exists", str(new))
            directory.change(**{new.name: inode})

    def unlink(self, path: Path) -> None:
        with self._lock:
            self._enter("unlink", path)
            directory = self._directory(path.parent)
            if not isinstance(directory.entries.get(path.name), Inode):
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            directory.change(**{path.name: None})

    def rmdir(self, path: Path) -> None:
        with self._lock:
            self._enter("rmdir", path)
            if self._directory(path).entries:
                raise OSError(errno.ENOTEMPTY, "not empty", str(path))
            parent = self._directory(path.parent)
            parent.change(**{path.name: None})

    def fsync_dir(self, path: Path) -> None:
        with self._lock:
            self._enter("fsync_dir", path)
            if "fsync_dir" not in self.ignored:
                self._directory(path).sync()

    def free_bytes(self, path: Path) -> int:
        return 1 << 40 if self.capacity is None else self.capacity - _bytes_in(self.root)

    def total_bytes(self, path: Path) -> int:
        return 1 << 40 if self.capacity is None else self.capacity

    def lock(self, path: Path) -> LossyFile:
        with self._lock:
            if path in self._held:
                raise BlockingIOError(errno.EAGAIN, "held", str(path))
            file = self.open(path, create=True)
            self._held.add(path)
            return file

    # inside

    def _check_on(self) -> None:
        if self.is_off:
            raise MachineOffError

    def _enter(self, operation: str, path: Path) -> None:
        self._check_on()
        self.counts[operation] += 1
        if self._crash_in is not None and self._crash_on in str(path):
            self._crash_in -= 1
            if self._crash_in < 0:
                self.is_off = True
                raise MachineOffError
        for fault in self._faults:
            if fault.operation == operation and fault.name in str(path):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
                self.errors += 1
                raise OSError(fault.error, f"{operation} fails", str(path))

    def _find(self, path: Path) -> Inode | Directory | None:
        node: Inode | Directory | None = self.root
        for part in path.parts[1:] if path.is_absolute() else path.parts:
            if not isinstance(node, Directory):
                return None
            node = node.entries.get(part)
        return node

    def _directory(self, path: Path) -> Directory:
        node = self._find(path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(errno.ENOTDIR, "no such directory", str(path))
        return node

    def _inode(self, path: Path) -> Inode:
        node = self._find(path)
        assert isinstance(node, Inode)
        return node


class LossyFile:
    """Implements `coordinator.storage.log.fs.File`."""

    def __init__(self, fs: LossyFileSystem, path: Path, inode: Inode) -> None:
        self._fs = fs
        self._path = path
        self._inode = inode
        self._is_open = True

    def _enter(self, operation: str) -> None:
        if not self._is_open:
            raise OSError(errno.EBADF, "closed", str(self._path))
        self._fs._enter(operation, self._path)

    def pread(self, size: int, position: int) -> bytes:
        with self._fs._lock:
            self._enter("pread")
            return bytes(self._inode.content[position : position + size])

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        with self._fs._lock:
            content = bytes(data)
            self._fs._check_on()
            try:
                self._enter("pwrite")
                capacity = self._fs.capacity
                grows = position + len(content) - len(self._inode.content)  # existing bytes are overwritten in place
                if capacity is not None and grows > 0 and _bytes_in(self._fs.root) + grows > capacity:
                    self._fs.errors += 1
                    raise OSError(errno.ENOSPC, "no space left", str(self._path))
            except OSError:
                part = content[: self._fs._rng.randrange(len(content) + 1)]  # a failed write may have written a part
                self._put(position, part)
                raise
            self._put(position, content)

    def _put(self, position: int, data: bytes | None) -> None:
        if self._inode.right:
            _keep_rot(self._inode, position, data)
        _write(self._inode.content, position, data)
        self._inode.unsynced.append((position, data))

    def truncate(self, size: int) -> None:
        with self._fs._lock:
            self._enter("truncate")
            if "truncate" not in self._fs.ignored:
                self._put(size, None)

    def fdatasync(self) -> None:
        self._sync("fdatasync")

    def fsync(self) -> None:
        self._sync("fsync")

    def _sync(self, operation: str) -> None:
        with self._fs._lock:
            inode = self._inode
            try:
                self._enter(operation)
            except MachineOffError:
                raise
            except OSError:
                inode.unsynced.clear()  # the kernel marks the pages clean: no later sync writes them
                raise
            if operation not in self._fs.ignored:
                for position, data in inode.unsynced:
                    _write(inode.durable, position, data)
                if len(inode.durable) != len(inode.content):
                    _write(inode.durable, len(inode.content), None)
                inode.unsynced.clear()

    def size(self) -> int:
        with self._fs._lock:
            self._enter("size")
            return len(self._inode.content)

    def close(self) -> None:
        self._is_open = False
        self._fs._held.discard(self._path)


def _keep_rot(inode: Inode, position: int, data: bytes | None) -> None:
    """Forget the rotten bytes that a write replaces, or a cut removes. A copy of a rotten byte is rotten."""
    for at in list(inode.right):
        if at >= position and (
            data is None or (at < position + len(data) and data[at - position] != inode.content[at])
        ):
            del inode.right[at]


def _restored(inode: Inode) -> int:
    for position, byte in inode.right.items():
        inode.content[position] = byte
        if position < len(inode.durable):
            inode.durable[position] = byte
    count = len(inode.right)
    inode.right.clear()
    return count


def _durable_files(directory: Directory, path: Path) -> Iterator[Path]:
    for name, node in directory.durable.items():
        if directory.entries.get(name) is not node:
            continue
        if isinstance(node, Directory):
            yield from _durable_files(node, path / name)
        elif not node.unsynced and node.content == node.durable:
            yield path / name


def _inodes(directory: Directory) -> Iterator[Inode]:
    """Yield each file that has a name, durable or not; one with several names several times."""
    for node in (*directory.entries.values(), *directory.durable.values()):
        if isinstance(node, Directory):
            yield from _inodes(node)
        else:
            yield node


def _bytes_in(directory: Directory, seen: set[int] | None = None) -> int:
    """Return the bytes of all files, counting a file with several names once."""
    seen = set() if seen is None else seen
    total = 0
    for node in directory.entries.values():
        if isinstance(node, Directory):
            total += _bytes_in(node, seen)
        elif id(node) not in seen:
            seen.add(id(node))
            total += len(node.content)
    return total


def _add_to_digest(digest: hashlib._Hash, directory: Directory, seen: dict[int, int]) -> None:
    for name, node in sorted(directory.entries.items()):
        if isinstance(node, Directory):
            digest.update(f"directory {name}\n".encode())
            _add_to_digest(digest, node, seen)
        elif id(node) in seen:
            digest.update(f"link {name} {seen[id(node)]}\n".encode())
        else:
            seen[id(node)] = len(seen)
            digest.update(f"file {name} {len(node.content)}\n".encode() + node.content)
    digest.update(b"end\n")


def _survivor(directory: Directory, rng: random.Random | None, made: dict[int, Inode], reorders: bool) -> Directory:
    """Return a directory after the crash; an inode with several names stays one inode."""
    entries = directory.durable
    if rng is not None and directory.unsynced and rng.random() < 0.6:
        entries = _some_changes(directory, rng) if reorders else rng.choice(directory.unsynced)
    kept: dict[str, Inode | Directory] = {}
    for name, node in entries.items():
        if isinstance(node, Directory):
            kept[name] = _survivor(node, rng, made, reorders)
        else:
            if id(node) not in made:
                content = _survivor_content(node, rng)
                made[id(node)] = Inode(bytearray(content), bytearray(content), right=dict(node.right))
            kept[name] = made[id(node)]
    return Directory(dict(kept), dict(kept))


def _some_changes(directory: Directory, rng: random.Random) -> dict[str, Inode | Directory]:
    entries = dict(directory.durable)
    for change in directory.changes:
        if rng.random() < 0.5:
            for name, node in change.items():
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
    return entries


def _survivor_content(inode: Inode, rng: random.Random | None) -> bytearray:
    content = bytearray(inode.durable)
    if rng is None or not inode.unsynced:
        return content
    fate = rng.choice(("lost", "kept", "first ones", "some sectors"))
    if fate == "lost":
        return content
    writes = inode.unsynced
    if fate == "first ones":
        writes = writes[: rng.randrange(len(writes) + 1)]
    for position, data in writes:
        if data is None or fate != "some sectors":
            _write(content, position, data)
            continue
        for start in range(0, len(data), SECTOR):
            if rng.random() < 0.5:
                _write(content, position + start, data[start : start + SECTOR])
    return content
