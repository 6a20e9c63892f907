"""The kept corpus: for each target one compressed file of inputs, each behind its length."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

DIRECTORY: Final = Path(__file__).parent / "corpus"
MOST_BYTES: Final = 48_000  # of a target's file; the shortest inputs are kept, because short ones are read by people


def kept_file(target: str) -> Path:
    return DIRECTORY / f"{target}.bin"


def pack(inputs: Iterable[bytes]) -> bytes:
    """Return the content of a file with these inputs, the shortest first, as far as there is room."""
    in_order = sorted(set(inputs), key=lambda each: (len(each), each))
    chosen = [len(data).to_bytes(4, "big") + data for data in in_order]
    packed = zlib.compress(b"".join(chosen), 9)
    while len(packed) > MOST_BYTES:
        chosen = chosen[: len(chosen) * 9 // 10]
        packed = zlib.compress(b"".join(chosen), 9)
    return packed


def unpack(packed: bytes) -> list[bytes]:
    data, found, position = zlib.decompress(packed), [], 0
    while position < len(data):
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        found.append(data[position + 4 : end])
        position = end
    return found


def kept(target: str) -> list[bytes]:
    """Return the kept inputs of a target; none if it has no file yet."""
    path = kept_file(target)
    return unpack(path.read_bytes()) if path.exists() else []


def keep(target: str, inputs: Iterable[bytes]) -> int:
    """Replace the kept inputs of a target; returns how many bytes the file has."""
    DIRECTORY.mkdir(exist_ok=True)
    packed = pack(inputs)
    kept_file(target).write_bytes(packed)
    return len(packed)


def lay_out(directory: Path, inputs: Iterable[bytes]) -> None:
    """Write each input into a file of its own, as libFuzzer reads and writes them."""
    directory.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def laid_out(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(directory.iterdir())]
