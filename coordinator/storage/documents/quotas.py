"""The client quotas; the file quotas.json of a data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.security.quotas.document import document_of, parse_document
from coordinator.security.quotas.model import NO_QUOTAS, QuotaMap
from coordinator.storage.documents.store import DocumentKind, DocumentStore
from coordinator.storage.file_names import QUOTAS_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.security.quotas.enforcement import Quotas
    from coordinator.storage.log.fs import FileSystem

QUOTAS: Final[DocumentKind[QuotaMap]] = DocumentKind("quotas", QUOTAS_NAME, NO_QUOTAS, parse_document, document_of)


class QuotaStore(DocumentStore[QuotaMap]):
    """The quotas. `quotas` enforces those of the newest change."""

    def __init__(self, fs: FileSystem, data_dir: Path, quotas: Quotas, *, is_written: bool = True) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        super().__init__(fs, data_dir, QUOTAS, is_written=is_written)
        self.quotas = quotas
        quotas.update(self.content)

    def replace(self, content: QuotaMap) -> None:
        super().replace(content)
        self.quotas.update(content)
