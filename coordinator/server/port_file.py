"""The file that says which port was bound, for a program that started the daemon with port 0."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, port: int) -> None:
    """Write the port atomically: a reader who sees the file sees the whole number. May raise OSError.

    The directory may be one where others can create names, /tmp for instance. The number goes into a new file of a
    random name, so that a symbolic link that stands there is not followed, and a link at `path` itself is replaced.
    """
    partial = path.with_name(f"{path.name}.{os.urandom(8).hex()}.partial")
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(file, "w", encoding="ascii") as opened:
            opened.write(f"{port}\n")
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise
