"""Cut a stream of bytes into frames: an int32 length, then as many bytes. No I/O: bytes go in, frames come out.

A read that holds whole frames costs one slice for each. An incomplete frame waits in a buffer that grows only as bytes
arrive: no memory is reserved for a declared length. A length that is negative or above the limit raises FrameError,
which also rejects HTTP and TLS, because their first bytes are huge lengths.
"""

from __future__ import annotations

import struct
from typing import Final

from protocol.errors import DecodeError

_LENGTH: Final = struct.Struct(">i")


class FrameError(DecodeError):
    """A frame length outside the limits. `frames` are those that were complete before it, `start` its four bytes."""

    def __init__(self, length: int, max_size: int, frames: list[bytes]) -> None:
        super().__init__(f"a frame of {length} bytes is outside 0..{max_size}")
        self.frames = frames
        self.start = _LENGTH.pack(length)


class FrameReader:
    """The receiving half of one connection. After a FrameError it must not be fed again."""

    __slots__ = ("_buffer", "_needed", "max_size")

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size  # of one frame in bytes, without its length; may be changed between reads
        self._buffer = bytearray()  # the start of a frame that is not complete, length included
        self._needed = 0  # size of that frame, its length included, as far as known

    @property
    def buffered(self) -> int:
        """Bytes held for a frame that is not complete."""
        return len(self._buffer)

    @property
    def has_partial_frame(self) -> bool:
        return bool(self._buffer)

    def clear(self) -> None:
        """Discard the buffered bytes."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes that were read; return the frames that they complete, without their lengths."""
        frames: list[bytes] = []
        position = self._complete(data, frames) if self._buffer else 0
        size = len(data)
        while size - position >= 4:
            (length,) = _LENGTH.unpack_from(data, position)
            if not 0 <= length <= self.max_size:
                raise FrameError(length, self.max_size, frames)
            start = position + 4
            end = start + length
            if end > size:
                self._needed = 4 + length
                self._buffer += memoryview(data)[position:]
                return frames
            frames.append(data[start:end])
            position = end
        if position < size:
            self._needed = 4
            self._buffer += memoryview(data)[position:]
        return frames

    def _complete(self, data: bytes, frames: list[bytes]) -> int:
        """Append to the buffered frame the bytes it lacks; returns how many bytes of `data` were used."""
        buffer = self._buffer
        position = 0
        if len(buffer) < 4:
            position = min(4 - len(buffer), len(data))
            buffer += memoryview(data)[:position]
            if len(buffer) < 4:
                return position
            (length,) = _LENGTH.unpack_from(buffer)
            if not 0 <= length <= self.max_size:
                raise FrameError(length, self.max_size, frames)
            self._needed = 4 + length
        end = position + self._needed - len(buffer)
        buffer += memoryview(data)[position:end]
        if len(buffer) == self._needed:
            with memoryview(buffer) as view:
                frames.append(bytes(view[4:]))
            self._buffer = bytearray()
        return min(end, len(data))
