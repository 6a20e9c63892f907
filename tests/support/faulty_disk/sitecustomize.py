"""Simulates a full or failing disk for a real process: put this directory on PYTHONPATH and set FAULTY_DISK to a file.

While that file exists, each `os.pwrite` below the directory in its second line fails with the error number in its first
line. With ENOSPC only writes that extend a file fail, as on a file system that overwrites in place.
Python imports `sitecustomize` automatically, so child processes have the same faults.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

_pwrite = os.pwrite


def pwrite(fd: int, data: bytes, offset: int, /) -> int:
    try:
        number, directory = Path(os.environ["FAULTY_DISK"]).read_text(encoding="utf-8").splitlines()
    except (KeyError, FileNotFoundError):
        return _pwrite(fd, data, offset)
    if Path(f"/proc/self/fd/{fd}").readlink().is_relative_to(directory):
        grows = offset + len(data) > os.fstat(fd).st_size
        if grows or int(number) != errno.ENOSPC:
            raise OSError(int(number), os.strerror(int(number)))
    return _pwrite(fd, data, offset)


os.pwrite = pwrite
