"""A disk that is full or fails, for a real process: put this directory on PYTHONPATH and name a file in FAULTY_DISK.

While that file exists, each `os.pwrite` of a file below the directory that its second line names ends with the error
number in its first line. With ENOSPC only writes that make the file longer do, as on a file system that writes in place.
Python imports `sitecustomize` by itself, so child processes have the same disk.
"""

from __future__ import annotations

import errno
import os

_pwrite = os.pwrite


def pwrite(fd: int, data: bytes, offset: int, /) -> int:
    try:
        with open(os.environ["FAULTY_DISK"], encoding="utf-8") as order:
            number, directory = order.read().splitlines()
    except (KeyError, FileNotFoundError):
        return _pwrite(fd, data, offset)
    if os.readlink(f"/proc/self/fd/{fd}").startswith(directory):
        grows = offset + len(data) > os.fstat(fd).st_size
        if grows or int(number) != errno.ENOSPC:
            raise OSError(int(number), os.strerror(int(number)))
    return _pwrite(fd, data, offset)


os.pwrite = pwrite
