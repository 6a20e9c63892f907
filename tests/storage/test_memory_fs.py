"""The file system in memory does what the real one does: each operation, on both, side by side."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.storage.log.fs import File, FileSystem, RealFileSystem, UnsyncedFileSystem
from coordinator.storage.memory_fs import MemoryFileSystem


@pytest.fixture(params=[RealFileSystem, UnsyncedFileSystem, MemoryFileSystem])
def fs(request: pytest.FixtureRequest) -> FileSystem:
    made: FileSystem = request.param()
    return made


@pytest.fixture
def root(fs: FileSystem, tmp_path: Path) -> Path:
    if isinstance(fs, MemoryFileSystem):
        fs.mkdir(Path("/data"))
        return Path("/data")
    return tmp_path


def written(fs: FileSystem, path: Path, data: bytes) -> File:
    file = fs.open(path, create=True)
    file.pwrite(data, 0)
    return file


def content(fs: FileSystem, path: Path) -> bytes:
    file = fs.open(path)
    try:
        return file.pread(file.size() + 10, 0)
    finally:
        file.close()


def test_bytes_are_read_where_they_were_written(fs: FileSystem, root: Path) -> None:
    file = written(fs, root / "a", b"0123456789")
    file.pwrite(memoryview(b"xy"), 4)
    file.pwrite(bytearray(b"end"), 12)
    assert file.pread(100, 0) == b"0123xy6789\0\0end"
    assert file.pread(3, 4) == b"xy6"
    assert file.pread(3, 100) == b""
    file.truncate(5)
    assert (file.size(), file.pread(100, 0)) == (5, b"0123x")
    file.truncate(7)
    assert file.pread(100, 0) == b"0123x\0\0"
    file.fdatasync()
    file.fsync()
    file.close()
    file.close()
    assert content(fs, root / "a") == b"0123x\0\0"


def test_a_closed_file_is_a_bad_descriptor(fs: FileSystem, root: Path) -> None:
    file = written(fs, root / "a", b"1")
    file.close()
    with pytest.raises(OSError) as raised:
        file.pread(1, 0)
    assert raised.value.errno == errno.EBADF


def test_an_open_file_outlives_its_name(fs: FileSystem, root: Path) -> None:
    file = written(fs, root / "a", b"old")
    fs.unlink(root / "a")
    assert not fs.exists(root / "a")
    written(fs, root / "a", b"new").close()
    assert (file.pread(9, 0), content(fs, root / "a")) == (b"old", b"new")
    file.close()


def test_a_rename_replaces(fs: FileSystem, root: Path) -> None:
    written(fs, root / "a", b"1").close()
    old = written(fs, root / "b", b"2")
    fs.rename(root / "a", root / "b")
    assert (fs.listdir(root), content(fs, root / "b"), old.pread(9, 0)) == (["b"], b"1", b"2")
    old.close()


def test_a_directory_is_renamed_with_what_is_in_it(fs: FileSystem, root: Path) -> None:
    fs.mkdir(root / "d")
    fs.mkdir(root / "d" / "e")
    written(fs, root / "d" / "e" / "f", b"1").close()
    fs.rename(root / "d", root / "g")
    assert not fs.exists(root / "d")
    assert fs.is_dir(root / "g" / "e")
    assert content(fs, root / "g" / "e" / "f") == b"1"
    with pytest.raises(OSError) as raised:
        fs.rmdir(root / "g" / "e")
    assert raised.value.errno == errno.ENOTEMPTY


def test_a_directory_replaces_an_empty_one(fs: FileSystem, root: Path) -> None:
    _tree(fs, root)
    fs.rename(root / "full", root / "empty")
    assert (fs.listdir(root), fs.listdir(root / "empty")) == (["empty", "file"], ["file"])


def test_two_names_of_one_file_are_not_renamed(fs: FileSystem, root: Path) -> None:
    file = written(fs, root / "a", b"1")
    fs.link(root / "a", root / "b")
    fs.rename(root / "a", root / "b")
    assert fs.listdir(root) == ["a", "b"]
    file.close()


def test_a_write_of_nothing_leaves_the_size(fs: FileSystem, root: Path) -> None:
    file = written(fs, root / "a", b"1")
    file.pwrite(b"", 100)
    assert file.size() == 1
    file.close()


def test_a_link_is_a_second_name_of_the_same_file(fs: FileSystem, root: Path) -> None:
    fs.mkdir(root / "d")
    file = written(fs, root / "a", b"1")
    fs.link(root / "a", root / "d" / "b")
    file.pwrite(b"2", 0)
    file.close()
    fs.unlink(root / "a")
    assert content(fs, root / "d" / "b") == b"2"


def _tree(fs: FileSystem, root: Path) -> Path:
    """Make a file, an empty directory, and one with a file."""
    for name in ("empty", "full"):
        fs.mkdir(root / name)
    for name in ("file", "full/file"):
        written(fs, root / name, b"1").close()
    return root


def _rename(fs: FileSystem, root: Path, old: str, new: str) -> None:
    _tree(fs, root)
    try:
        fs.rename(root / old, root / new)
    finally:  # a refusal has changed nothing
        assert (fs.listdir(root), fs.listdir(root / "full")) == (["empty", "file", "full"], ["file"])


MISTAKES: dict[str, tuple[Callable[[FileSystem, Path], object], int]] = {
    "open what is not there": (lambda fs, root: fs.open(root / "x"), errno.ENOENT),
    "open in a directory that is not there": (lambda fs, root: fs.open(root / "x" / "y", create=True), errno.ENOENT),
    "list what is not there": (lambda fs, root: fs.listdir(root / "x"), errno.ENOENT),
    "make a directory twice": (lambda fs, root: (fs.mkdir(root / "d"), fs.mkdir(root / "d")), errno.EEXIST),
    "make a directory in none": (lambda fs, root: fs.mkdir(root / "x" / "y"), errno.ENOENT),
    "rename what is not there": (lambda fs, root: fs.rename(root / "x", root / "y"), errno.ENOENT),
    "remove what is not there": (lambda fs, root: fs.unlink(root / "x"), errno.ENOENT),
    "link over a name": (
        lambda fs, root: (written(fs, root / "a", b"").close(), fs.link(root / "a", root / "a")),
        errno.EEXIST,
    ),
    "rename a file over a directory": (lambda fs, root: _rename(fs, root, "file", "empty"), errno.EISDIR),
    "rename a directory over a file": (lambda fs, root: _rename(fs, root, "empty", "file"), errno.ENOTDIR),
    "rename a directory over one that holds a file": (
        lambda fs, root: _rename(fs, root, "empty", "full"),
        errno.ENOTEMPTY,
    ),
    "rename a directory into itself": (lambda fs, root: _rename(fs, root, "full", "full/x"), errno.EINVAL),
    "rename a file over its own directory": (lambda fs, root: _rename(fs, root, "full/file", "full"), errno.ENOTEMPTY),
    "rename into a file": (lambda fs, root: _rename(fs, root, "empty", "file/x"), errno.ENOTDIR),
    "open below a file": (lambda fs, root: fs.open(_tree(fs, root) / "file" / "x", create=True), errno.ENOTDIR),
    "open a directory": (lambda fs, root: fs.open(_tree(fs, root) / "empty", create=True), errno.EISDIR),
    "list a file": (lambda fs, root: fs.listdir(_tree(fs, root) / "file"), errno.ENOTDIR),
    "remove a file as a directory": (lambda fs, root: fs.rmdir(_tree(fs, root) / "file"), errno.ENOTDIR),
    "remove a directory as a file": (lambda fs, root: fs.unlink(_tree(fs, root) / "empty"), errno.EISDIR),
    "link a directory": (lambda fs, root: fs.link(_tree(fs, root) / "empty", root / "x"), errno.EPERM),
    "sync a directory that is not there": (lambda fs, root: fs.listdir(root / "x"), errno.ENOENT),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_have_the_errors_of_the_system(fs: FileSystem, root: Path, mistake: str) -> None:
    act, code = MISTAKES[mistake]
    with pytest.raises(OSError) as raised:
        act(fs, root)
    assert raised.value.errno == code


def test_a_lock_is_held_until_its_file_is_closed(fs: FileSystem, root: Path) -> None:
    held = fs.lock(root / "lock")
    with pytest.raises(BlockingIOError):
        fs.lock(root / "lock")
    held.close()
    fs.lock(root / "lock").close()


def test_memory_is_limited_and_freed() -> None:
    fs = MemoryFileSystem(capacity_bytes=100)
    file = written(fs, Path("/a"), bytes(60))
    with pytest.raises(OSError) as raised:
        written(fs, Path("/b"), bytes(41))
    assert raised.value.errno == errno.ENOSPC
    assert fs.free_bytes(Path("/")) == 40
    fs.link(Path("/a"), Path("/c"))
    fs.unlink(Path("/a"))
    file.close()
    assert fs.free_bytes(Path("/")) == 40
    fs.unlink(Path("/c"))
    assert fs.free_bytes(Path("/")) == fs.total_bytes(Path("/")) == 100


def test_a_copy_has_the_files_of_the_moment_and_no_locks() -> None:
    fs = MemoryFileSystem()
    fs.mkdir(Path("/d"))
    file = written(fs, Path("/d/a"), b"before")
    fs.link(Path("/d/a"), Path("/b"))
    fs.lock(Path("/lock"))
    copied = fs.copy()
    file.pwrite(b"after!", 0)
    assert content(copied, Path("/d/a")) == b"before"
    assert copied.used_bytes == fs.used_bytes == 6
    copied.lock(Path("/lock"))
    shared = copied.open(Path("/b"))
    shared.pwrite(b"B", 0)
    assert content(copied, Path("/d/a")) == b"Before"
    assert content(fs, Path("/d/a")) == b"after!"
