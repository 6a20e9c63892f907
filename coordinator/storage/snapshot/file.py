"""The snapshot file: the state of a partition's log up to an offset, and the identity of that log.

It moves with the directory of its partition. If it is damaged or does not match the log, `SnapshotError` says why, and
all of the log is read: it may be deleted at any time. It is replaced atomically.

    header   magic, version, partition, log start, next offset, last batch below it (base offset, checksum, leader
             epoch), counts, position of `open`, size, checksum of the rest, checksum of the header
    blocks   one for each group (`coordinator.core.offsets.packed_groups`)
    open     offsets of open transactions, as in the log: producer id, log offset, key, value; likewise records in
             quarantine (DAMAGED for a producer id, version 2), and those of KIP-848 groups (CONSUMER, version 3)

Programs that know no KIP-848 groups write version 1 or 2, even if they have counted such records as unknown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c

from coordinator.core.offsets.packed_groups import read_blocks
from coordinator.core.offsets.raw_records import RawRecord
from coordinator.core.offsets.replay import Base
from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.recovery import NO_EVIDENCE, Evidence

DRAFT_NAME: Final = SNAPSHOT_NAME + ".tmp"

_MAGIC: Final = b"KGC\x89\r\n\x1a\n"
_VERSION: Final = 1
_WITH_DAMAGED: Final = 2
_WITH_OTHERS: Final = 3
_VERSIONS: Final = (_VERSION, _WITH_DAMAGED, _WITH_OTHERS)
# magic, version, partition, log start, next offset, base offset, checksum and leader epoch of the last batch,
# unknown records, groups, offsets, position of the open transactions, size of the file, checksum of the body
_HEADER: Final = struct.Struct("<8sIiqqqIiQQQQQI")
_CRC: Final = struct.Struct("<I")
_OPEN: Final = struct.Struct("<qqII")  # producer id, log offset, bytes of the key, bytes of the value
_BODY_AT: Final = _HEADER.size + _CRC.size
_CHUNK: Final = 1 << 20
DAMAGED: Final = -2  # no producer has this id
CONSUMER: Final = -3  # nor this


class SnapshotError(Exception):
    """There is no usable snapshot. The message is one clause that says why."""


class NoSnapshotError(SnapshotError):
    """There is no snapshot."""


class OlderSnapshotError(SnapshotError):
    """An earlier program made the snapshot, and the log may have records of KIP-848 groups that it lacks."""

    def __init__(self) -> None:
        super().__init__("an earlier program made it, which did not keep records of KIP-848 groups")


class GivenUpError(Exception):
    """Work on a snapshot was stopped, because the time for it is over or the partition is unloaded."""


class LastBatch(NamedTuple):
    """Identity of the batch right below an offset, which tells one log from another of the same length."""

    base_offset: int
    crc: int
    leader_epoch: int


class Binding(NamedTuple):
    """The partition and the log that a snapshot belongs to."""

    partition: int
    log_start_offset: int
    next_offset: int  # the snapshot covers all records below it
    last: LastBatch


class Contents(NamedTuple):
    """Content of a snapshot: blocks, offsets of open transactions, records as in the log, and counts."""

    blocks: Iterable[bytes]
    open: dict[int, dict[bytes, RawRecord]]
    damaged: dict[bytes, RawRecord]
    consumer: dict[bytes, RawRecord]  # those of transactional ids in a snapshot of the transaction log
    unknown: int
    groups: int  # blocks
    offsets: int

    @property
    def version(self) -> int:
        """The earliest format that can hold it."""
        if self.consumer or self.unknown:
            return _WITH_OTHERS
        return _WITH_DAMAGED if self.damaged else _VERSION


def draft(
    fs: FileSystem,
    directory: Path,
    binding: Binding,
    contents: Contents,
    *,
    check: Callable[[], None] = lambda: None,
) -> int:
    """Write the draft that `promote` renames, and return its size in bytes. Its content is durable, its name is not.

    `check` is called periodically and may raise. After any error the previous snapshot is still there.
    """
    position = _BODY_AT
    file = fs.open(directory / DRAFT_NAME, create=True)
    try:
        file.truncate(0)
        body = _Body(contents)
        for piece in body.pieces():
            check()
            file.pwrite(piece, position)
            position += len(piece)
        file.pwrite(body.header(binding), 0)
        check()
        file.fsync()
    finally:
        file.close()
    return position


def encode(binding: Binding, contents: Contents) -> list[bytes]:
    """Return a snapshot in pieces of about 1 MiB, for a store that is no file system."""
    body = _Body(contents)
    pieces = list(body.pieces())
    return [body.header(binding), *pieces]


class _Body:
    """The blocks and open transactions of a snapshot as bytes; the header is known after all of them."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._crc = 0
        self._open_at = self._size = _BODY_AT

    def pieces(self) -> Iterator[bytes]:
        contents = self._contents
        yield from self._counted(contents.blocks)
        self._open_at = self._size
        kept = {**contents.open, DAMAGED: contents.damaged, CONSUMER: contents.consumer}
        yield from self._counted(_open_records(kept))

    def _counted(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for piece in _gathered(parts):
            self._crc = google_crc32c.extend(self._crc, piece)
            self._size += len(piece)
            yield piece

    def header(self, binding: Binding) -> bytes:
        contents = self._contents
        header = _HEADER.pack(
            _MAGIC,
            contents.version,
            binding.partition,
            binding.log_start_offset,
            binding.next_offset,
            *binding.last,
            contents.unknown,
            contents.groups,
            contents.offsets,
            self._open_at,
            self._size,
            self._crc,
        )
        return header + _CRC.pack(google_crc32c.value(header))


def promote(fs: FileSystem, directory: Path) -> None:
    """Rename the draft to the snapshot, durably."""
    fs.rename(directory / DRAFT_NAME, directory / SNAPSHOT_NAME)
    fs.fsync_dir(directory)


def remove(fs: FileSystem, directory: Path) -> None:
    """Remove the snapshot and its draft."""
    for name in (SNAPSHOT_NAME, DRAFT_NAME):
        with suppress(FileNotFoundError):
            fs.unlink(directory / name)


def read_binding(fs: FileSystem, directory: Path) -> Binding:
    """Return the binding of a snapshot; reads its header only. Raises SnapshotError, OSError."""
    return _parse(_read(fs, directory, _BODY_AT))[0]


def evidence(fs: FileSystem, directory: Path, partition: int) -> Evidence:
    """Return the offset below which all records were on disk when the snapshot was made; 0 if unknown."""
    try:
        binding = read_binding(fs, directory)
    except (SnapshotError, OSError):
        return NO_EVIDENCE
    return Evidence(binding.next_offset, SNAPSHOT_NAME) if binding.partition == partition else NO_EVIDENCE


def read(fs: FileSystem, directory: Path) -> tuple[Binding, Base]:
    """Read and verify a snapshot, without comparing it with the log. Raises SnapshotError, OSError."""
    data = _read(fs, directory)
    if lacks_consumer_groups(data):
        raise OlderSnapshotError
    return decode(data)


def decode(data: bytes) -> tuple[Binding, Base]:
    """Verify a snapshot, without comparing it with the log. Raises SnapshotError."""
    binding, (unknown, groups, offsets, open_at, size, crc) = _parse(data)
    if size != len(data) or not _BODY_AT <= open_at <= size or _crc_of(data) != crc:
        raise SnapshotError("it is damaged")
    try:
        blocks = {block.group_id: block for block in read_blocks(data, _BODY_AT, open_at)}
        transactions = _read_open(data, open_at)
    except (ValueError, struct.error) as error:
        raise SnapshotError(f"it is damaged ({error})") from None
    if len(blocks) != groups or sum(block.offsets for block in blocks.values()) != offsets:
        raise SnapshotError("it does not hold what its header says")
    damaged, consumer = transactions.pop(DAMAGED, {}), transactions.pop(CONSUMER, {})
    return binding, Base(binding.next_offset, data, blocks, transactions, unknown, damaged, consumer)


def lacks_consumer_groups(data: bytes) -> bool:
    """Return whether the log had records that the maker of a snapshot did not know, maybe of KIP-848 groups.

    `data` begins with the snapshot's header. Raises SnapshotError.
    """
    unknown = _parse(data)[1][0]
    return bool(unknown) and _version_of(data) < _WITH_OTHERS


def _read(fs: FileSystem, directory: Path, size: int | None = None) -> bytes:
    path = directory / SNAPSHOT_NAME
    if not fs.exists(path):
        raise NoSnapshotError("there is no snapshot")
    file = fs.open(path)
    try:
        return file.pread(file.size() if size is None else size, 0)
    finally:
        file.close()


def _parse(data: bytes) -> tuple[Binding, list[int]]:
    """Return the binding, and [unknown records, groups, offsets, position of open ones, size, checksum]."""
    if len(data) < _BODY_AT or data[:8] != _MAGIC:
        raise SnapshotError("the file is no snapshot")
    header = data[: _HEADER.size]
    if google_crc32c.value(header) != _CRC.unpack_from(data, _HEADER.size)[0]:
        raise SnapshotError("its header is damaged")
    _, _, partition, start, next_offset, base_offset, batch_crc, epoch, *rest = _HEADER.unpack(header)
    version = _version_of(data)
    if version not in _VERSIONS:
        raise SnapshotError(f"it has the format version {version}, this program knows {_VERSION} to {_WITH_OTHERS}")
    return Binding(partition, start, next_offset, LastBatch(base_offset, batch_crc, epoch)), rest


def _version_of(data: bytes) -> int:
    return int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 4], "little")


def _crc_of(data: bytes) -> int:
    crc = 0
    for position in range(_BODY_AT, len(data), _CHUNK):  # in chunks, so that other threads can run in between
        crc = google_crc32c.extend(crc, data[position : position + _CHUNK])
    return crc


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _open_records(transactions: dict[int, dict[bytes, RawRecord]]) -> Iterator[bytes]:
    for producer_id, offsets in transactions.items():
        for key, (value, log_offset) in offsets.items():
            yield _OPEN.pack(producer_id, log_offset, len(key), len(value)) + key + value


def _read_open(data: bytes, position: int) -> dict[int, dict[bytes, RawRecord]]:
    found: dict[int, dict[bytes, RawRecord]] = {}
    while position < len(data):
        producer_id, log_offset, key_size, value_size = _OPEN.unpack_from(data, position)
        position += _OPEN.size
        key = data[position : position + key_size]
        value = data[position + key_size : position + key_size + value_size]
        position += key_size + value_size
        if position > len(data):
            raise ValueError(f"an open offset that ends at {position}")
        found.setdefault(producer_id, {})[key] = (value, log_offset)
    return found
