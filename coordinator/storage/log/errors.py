"""Errors of a log: refused operations and damaged files. Errors of the disk stay OSError."""

from __future__ import annotations

from pathlib import Path


class LogError(Exception):
    """A log cannot do what was asked."""


class OffsetOutOfRangeError(LogError):
    """The offset is below the start of the log or beyond its end."""

    def __init__(self, offset: int, start: int, end: int) -> None:
        super().__init__(f"offset {offset} is outside {start}..{end}")
        self.offset = offset


class CorruptLogError(LogError):
    """Bytes that were durable are damaged or gone, so the log must not be opened without them.

    The position is -1 if the whole file is meant.
    """

    def __init__(self, path: Path, position: int, reason: str) -> None:
        super().__init__(f"{path}: at byte {position}: {reason}" if position >= 0 else f"{path}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason
