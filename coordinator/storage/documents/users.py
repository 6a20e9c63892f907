"""The users with passwords; the file users.json of a data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.security.credentials import Credentials, Users, document_of, parse_document
from coordinator.storage.documents.store import DocumentKind, DocumentStore
from coordinator.storage.file_names import USERS_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.storage.log.fs import FileSystem

USERS: Final[DocumentKind[Users]] = DocumentKind("users", USERS_NAME, {}, parse_document, document_of)


class UserStore(DocumentStore[Users]):
    """The users. `credentials` has those of the newest change."""

    def __init__(self, fs: FileSystem, data_dir: Path, *, is_written: bool = True) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        super().__init__(fs, data_dir, USERS, is_written=is_written)
        self.credentials = Credentials(self.content)

    def replace(self, content: Users) -> None:
        super().replace(content)
        self.credentials.users = content
