"""The first code of the single-file executable.

PyInstaller's executable unpacks itself into a temporary directory, then starts itself again as a child, which runs this
file. The first process waits, hands signals on, and removes the directory. Four things are added:

* SIGKILL for the first process kills the child, too. Otherwise it would keep the port and the data directory.
* A start removes the directories of executables that were killed.
* `-m MODULE` runs a module, so that `sys.executable` serves as a Python for the daemon's own processes. They use the
  directory of the process that starts them.
* Other programs that are started get LD_LIBRARY_PATH as it was, and so the libraries of the machine.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import runpy
import shutil
import signal
import sys
from contextlib import suppress
from multiprocessing import freeze_support
from pathlib import Path
from typing import Final

LOCK: Final = "in-use"  # a file in the unpacked directory, which each process that uses the directory locks
PR_SET_PDEATHSIG: Final = 1  # from linux/prctl.h


def restore_library_path() -> None:
    was = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if was is not None:
        os.environ["LD_LIBRARY_PATH"] = was


def end_with_the_first_process() -> None:
    first = os.getppid()
    with suppress(OSError):
        if Path(f"/proc/{first}/exe").samefile(sys.executable):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != first:
                os.kill(os.getpid(), signal.SIGKILL)


def lock(directory: Path) -> None:
    """Lock the directory until this process ends. The descriptor stays open, and no other program inherits it."""
    path = directory / LOCK
    new = path.with_name(f"{LOCK}-{os.getpid()}")
    if path.exists():
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH)
        return
    fcntl.flock(os.open(new, os.O_CREAT | os.O_RDONLY, 0o600), fcntl.LOCK_SH)
    new.rename(path)  # locked already when it gets the name that `remove_what_was_left` looks for


def remove_what_was_left(directories: Path) -> None:
    for path in directories.glob(f"_MEI*/{LOCK}"):
        with suppress(OSError):  # it is in use
            if path.parent.lstat().st_uid != os.getuid():
                continue
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)


freeze_support()  # a process of `multiprocessing` goes no further
unpacked = Path(sys._MEIPASS)  # type: ignore[attr-defined]
restore_library_path()
lock(unpacked)
if sys.argv[1:2] == ["-m"]:
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    sys.exit()
end_with_the_first_process()
remove_what_was_left(unpacked.parent)

from coordinator.__main__ import main  # noqa: E402 - after what must be done first

sys.exit(main())
