"""Who serves a data directory that is to be compacted, and what goes wrong with files, as sentences.

The lock in the directory says whether a daemon is there; what it says of itself lies in a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.compaction.plan import PlanError
from coordinator.compaction.planning import PlanningError
from coordinator.compaction.request import DaemonFacts, RequestError, daemon_facts
from coordinator.config.config import Config
from coordinator.storage.file_names import LOCK_NAME
from coordinator.storage.history_marks import MarksError
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import File, FileSystem

NO_HISTORY: Final = (
    "history.enable is false: what this compaction removes is lost to `undo`, `restore` and `history`, unless "
    "`coordinator history extract` saved it"
)


def keeps_history(fs: FileSystem, data_dir: Path, config: Config) -> bool:
    """Whether what is compacted is saved before: as the daemon says that serves the directory, else as configured."""
    facts = facts_of(data_dir) if is_served(fs, data_dir) else None
    return config.history_enable if facts is None else facts.history_enable


def is_served(fs: FileSystem, data_dir: Path) -> bool:
    """Whether a daemon holds its lock on the directory."""
    if not fs.exists(data_dir / LOCK_NAME):
        return False
    try:
        lock_of(fs, data_dir).close()
    except BlockingIOError:
        return True
    return False


def lock_of(fs: FileSystem, data_dir: Path) -> File:
    """The daemon's own lock. BlockingIOError: it has it."""
    try:
        return fs.lock(data_dir / LOCK_NAME)
    except BlockingIOError:
        raise
    except OSError as error:
        raise CliError(
            f"the data directory {data_dir} cannot be used ({error.strerror}); run this as its owner"
        ) from None


def daemon_of(data_dir: Path, *, has_settings: bool) -> DaemonFacts:
    """What the daemon that serves the directory says of itself. CliError: it cannot be asked, or not with settings."""
    facts = facts_of(data_dir)
    if facts is None:
        raise CliError(
            f"the daemon that serves {data_dir} cannot be asked for a compaction yet: it has just been started and "
            "opens its logs, so run this again in a moment; if this goes on, it is a version that cannot: stop it first"
        )
    if has_settings:
        raise CliError(
            "a daemon serves this directory and has settings of its own: leave out --config, --override and "
            "--delete-retention-ms, or stop it first"
        )
    return facts


def facts_of(data_dir: Path) -> DaemonFacts | None:
    """What the last daemon of the directory has said of itself; None: there was none that knows compaction."""
    with sentences():
        return daemon_facts(data_dir)


@contextmanager
def sentences() -> Iterator[None]:
    """What can be wrong with files and their owners, as one sentence each."""
    try:
        yield
    except (LogError, MarksError, PlanError, PlanningError, RequestError) as error:
        raise CliError(str(error)) from None
    except OSError as error:
        raise CliError(f"the disk refused ({error}); nothing was put in place, run this again when it works") from None
