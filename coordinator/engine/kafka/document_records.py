"""The changes of shared documents, from the records of the topic `<name>-nodes` in their order.

- `draft/<document>/<change>`: the parts of a change are about to be written.
- `document/<document>/<change>`: they are there. Of the changes that make one revision, the first such record counts.

Each change has keys of its own, so a compaction never lets one hide another. A change that does not count, or counts no
more, is deleted by the next writer: its revision is not above the newest one, so it can never count again. A reader who
comes later may find a change that came second, but then also the later one for which the first was deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

DRAFT: Final = "draft"
DOCUMENT: Final = "document"
KINDS: Final = frozenset({DRAFT, DOCUMENT})


class StoredChange(NamedTuple):
    """A change of a document, and where its parts are."""

    identity: str
    revision: int  # that it makes
    parts: int
    first_offset: int = -1  # of its first part, in the partition of the parts; -1: it is a draft

    @property
    def content(self) -> dict[str, Any]:
        """Content of its records."""
        content = self._asdict()
        del content["identity"]  # part of the key
        return content


def record_key(kind: str, name: str, change: StoredChange) -> str:
    return f"{kind}/{name}/{change.identity}"


class DocumentRecords:
    """The changes after the records so far."""

    def __init__(self) -> None:
        self.newest: dict[str, StoredChange] = {}  # by document: the change that counts
        self.awaited: dict[str, bool | None] = {}  # by change that is being written: whether it has counted
        self.has_changed = False  # since a reader set it to False
        self._known: dict[str, dict[str, StoredChange]] = {}  # by document and change, drafts included

    def apply(self, kind: str, name: str, identity: str, content: Mapping[str, Any]) -> None:
        """Apply the next record."""
        change = StoredChange(identity, **content)
        known = self._known.setdefault(name, {})
        if kind == DRAFT:
            known.setdefault(identity, change)
            return
        known[identity] = change
        counts = change.revision > self.revision(name)
        if counts:
            self.newest[name] = change
            self.has_changed = True
        if self.awaited.get(identity, False) is None:
            self.awaited[identity] = counts

    def forget(self, name: str, identity: str) -> None:
        """Apply the deletion of a record."""
        self._known.get(name, {}).pop(identity, None)

    def revision(self, name: str) -> int:
        """Return the newest revision of a document; 0 if there is none."""
        newest = self.newest.get(name)
        return 0 if newest is None else newest.revision

    def stale(self, name: str) -> list[StoredChange]:
        """Return the changes of a document that can never count, or count no more."""
        newest = self.newest.get(name)
        if newest is None:
            return []
        known = self._known.get(name, {}).values()
        return [each for each in known if each.revision <= newest.revision and each.identity != newest.identity]
