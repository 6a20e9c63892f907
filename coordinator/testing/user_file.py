"""The users of a test, written into the data directory of a server before it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from coordinator.security.scram import BY_NAME, MIN_ITERATIONS, credential_of
from coordinator.storage.documents.store import DocumentStore
from coordinator.storage.documents.users import USERS

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.storage.log.fs import FileSystem

SALT_BYTES: Final = 16


def add_users(fs: FileSystem, data_dir: Path, users: Mapping[str, str]) -> None:
    """Give each user a password for all mechanisms. Users that are there already stay.

    Raises:
        DocumentStoreError: the file of users is there and cannot be used
        OSError: it cannot be read or written
    """
    _make(fs, data_dir)
    store = DocumentStore(fs, data_dir, USERS)
    added = {
        user: {row: credential_of(row, password, os.urandom(SALT_BYTES), MIN_ITERATIONS) for row in BY_NAME.values()}
        for user, password in users.items()
    }
    store.write({**store.content, **added})


def _make(fs: FileSystem, path: Path) -> None:
    if fs.is_dir(path):
        return
    if path.parent != path:
        _make(fs, path.parent)
    fs.mkdir(path)
