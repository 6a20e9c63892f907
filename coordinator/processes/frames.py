"""What a daemon and its child say to each other over pipes: one value after another, each with its length in front.

Both ends are the same program in the same Python, and nobody else writes into these pipes; so values go in Python's own
`marshal`, which costs the daemon's event loop a tenth of what JSON would for rows from memory. Never for files.
"""

from __future__ import annotations

import marshal
import struct
from typing import IO, Any, Final

_LENGTH: Final = struct.Struct(">I")
MAX_FRAME_BYTES: Final = 64 << 20
ALIVE: Final[dict[str, Any]] = {}
"""From a child: it has got on with its work, and the time limit of the daemon begins anew."""


def encode(value: Any) -> bytes:
    """A frame. `value` is made of tuples, lists, dicts, strings, bytes and numbers."""
    data = marshal.dumps(value)
    return _LENGTH.pack(len(data)) + data


def write(pipe: IO[bytes], value: Any) -> None:
    """Write and flush one frame. OSError if nobody reads any more."""
    pipe.write(encode(value))
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """The next value; EOFError if the other end has hung up, or says something else."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME_BYTES:
        raise EOFError
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return marshal.loads(data)
