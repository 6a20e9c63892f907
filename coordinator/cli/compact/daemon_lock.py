"""The daemon that serves a data directory, and errors of files as sentences.

A daemon serves the directory while it holds the lock in it. It writes facts about itself to a file there.
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
    """Return whether history is kept: as told by the daemon that serves the directory, else as configured."""
    facts = facts_of(data_dir) if is_served(fs, data_dir) else None
    return config.history_enable if facts is None else facts.history_enable


def is_served(fs: FileSystem, data_dir: Path) -> bool:
    """Return whether a daemon holds its lock on the directory."""
    if not fs.exists(data_dir / LOCK_NAME):
        return False
    try:
        lock_of(fs, data_dir).close()
    except BlockingIOError:
        return True
    return False


def lock_of(fs: FileSystem, data_dir: Path) -> File:
    """Take the daemon's own lock. BlockingIOError: a daemon holds it."""
    try:
        return fs.lock(data_dir / LOCK_NAME)
    except BlockingIOError:
        raise
    except OSError as error:
        raise CliError(
            f"the data directory {data_dir} cannot be used ({error.strerror}); run this as its owner"
        ) from None


def daemon_of(data_dir: Path, *, has_settings: bool) -> DaemonFacts:
    """Return the facts of the serving daemon. CliError: it cannot be asked yet, or `has_settings` conflicts with it."""
    facts = facts_of(data_dir)
    if facts is None:
        raise CliError(
            f"the daemon that serves {data_dir} cannot be asked for a compaction yet: it has just been started and "
            "opens its logs, so run this again in a moment; if this repeats, it is too old for that: stop it first"
        )
    if has_settings:
        raise CliError(
            "a daemon serves this directory and has settings of its own: leave out --config, --override and "
            "--delete-retention-ms, or stop it first"
        )
    return facts


def facts_of(data_dir: Path) -> DaemonFacts | None:
    """Return the facts of the last daemon of the directory; None: there was none that supports compaction."""
    with sentences():
        return daemon_facts(data_dir)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn errors of files and of the daemon's answers into CliErrors of one sentence."""
    try:
        yield
    except (LogError, MarksError, PlanError, PlanningError, RequestError) as error:
        raise CliError(str(error)) from None
    except OSError as error:
        raise CliError(f"the disk refused ({error}); no segment was swapped, run this again when it works") from None
