"""The data directory of a daemon that does not run, and the documents in it. The daemon's lock is held meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from coordinator.cli.compact.daemon_lock import lock_of
from coordinator.cli.errors import CliError
from coordinator.storage.documents.store import DocumentKind, DocumentStore, DocumentStoreError
from coordinator.storage.log.fs import RealFileSystem

T = TypeVar("T")


@contextmanager
def stored(data_dir: Path, document: DocumentKind[T]) -> Iterator[DocumentStore[T]]:
    """Open one document. Errors of files become CliErrors."""
    fs = RealFileSystem()
    if not fs.is_dir(data_dir):
        raise CliError(f"there is no directory {data_dir}; name the data directory of the daemon, or make it first")
    try:
        lock = lock_of(fs, data_dir)
    except BlockingIOError:
        raise CliError(
            f"a daemon serves {data_dir}: name it with --bootstrap-server in place of --data-dir, or stop it first"
        ) from None
    try:
        yield DocumentStore(fs, data_dir, document)
    except DocumentStoreError as error:
        raise CliError(str(error)) from None
    except OSError as error:
        raise CliError(
            f"the {document.what} in {data_dir} cannot be read or written ({error.strerror or error}); run this as "
            "the owner of the directory, and make room on its disk"
        ) from None
    finally:
        lock.close()
