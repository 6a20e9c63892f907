"""The access rules; the file acls.json of a data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.security.acl.document import document_of, parse_document
from coordinator.storage.documents.store import DocumentKind, DocumentStore
from coordinator.storage.file_names import ACLS_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.security.acl.authorizer import Authorizer
    from coordinator.security.acl.model import AclBindings
    from coordinator.storage.log.fs import FileSystem

ACLS: Final[DocumentKind[AclBindings]] = DocumentKind("access rules", ACLS_NAME, {}, parse_document, document_of)


class AclStore(DocumentStore["AclBindings"]):
    """The access rules. `authorizer` decides by those of the newest change."""

    def __init__(self, fs: FileSystem, data_dir: Path, authorizer: Authorizer, *, is_written: bool = True) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        super().__init__(fs, data_dir, ACLS, is_written=is_written)
        self.authorizer = authorizer
        authorizer.bindings = self.content

    def replace(self, content: AclBindings) -> None:
        super().replace(content)
        self.authorizer.bindings = content
