"""The access rules of this node, in the file acls.json of its data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.security.acl.document import document_of, parse_document
from coordinator.storage.documents.store import DocumentKind, DocumentStore
from coordinator.storage.file_names import ACLS_NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordinator.security.acl.authorizer import Authorizer
    from coordinator.security.acl.model import AclBindings
    from coordinator.storage.log.fs import FileSystem

ACLS: Final[DocumentKind[AclBindings]] = DocumentKind("access rules", ACLS_NAME, {}, parse_document, document_of)


class AclStore(DocumentStore["AclBindings"]):
    """The access rules. `authorizer` decides by those of the newest change."""

    def __init__(self, fs: FileSystem, data_dir: Path, authorizer: Authorizer) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        super().__init__(fs, data_dir, ACLS)
        self.authorizer = authorizer
        self.changed: Callable[[], None]  # called after each change; set by the runtime
        authorizer.bindings = self.content

    def replace(self, content: AclBindings) -> None:
        super().replace(content)
        self.authorizer.bindings = content
        self.changed()
