"""A value of this node that is one document in a file of its data directory: users, access rules.

A change is answered when the new file is durable. Changes are made one after the other, each from the outcome of the
one before, and a bounded number of them waits. They are decided beside the event loop, because that may take long.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.core.effects import Ticket

LOG: Final = logging.getLogger("coordinator.documents")

MOST_WAITING: Final = 100
PRIVATE_SUFFIX: Final = ".private"  # of the new file before it takes the place of the old one

T = TypeVar("T")


class DocumentStoreError(Exception):
    """The file cannot be used. The message is one sentence that says what to do."""


class DocumentKind(NamedTuple, Generic[T]):
    """One kind of document. `parse` raises ValueError with the reason."""

    what: str  # for sentences, in the plural
    file_name: str
    empty: T
    parse: Callable[[str], T]
    text_of: Callable[[T], str]


class DocumentChange(NamedTuple, Generic[T]):
    """A change that waits."""

    decide: Callable[[T], tuple[T, Any]]
    """From the content before it to the one behind it (the same object: no change), and the answer."""

    refused: Callable[[str], Any]
    """From the reason why nothing was changed to the answer."""

    ticket: Ticket


class DocumentStore(Generic[T]):
    """The content, and the changes that wait. `answer(ticket, response)` ends a change, as an event of its own.

    The content is replaced, never changed.
    """

    def __init__(self, fs: FileSystem, data_dir: Path, document: DocumentKind[T]) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        self._fs = fs
        self._document = document
        self.path = data_dir / document.file_name
        self.content = self._read()
        self._waiting: deque[DocumentChange[T]] = deque()
        self._work: asyncio.Task[None] | None = None
        self.answer: Callable[[Ticket, Any], None]  # set by the runtime
        self.why_fixed = ""  # why nothing can be changed; empty: it can

    def _read(self) -> T:
        if not self._fs.exists(self.path):
            return self._document.empty
        try:
            return self._document.parse(read_whole(self._fs, self.path).decode())
        except ValueError as error:
            what = self._document.what
            raise DocumentStoreError(
                f"the file of {what} {self.path} cannot be used: {error}; restore it from a copy, or remove it and add "
                f"the {what} again"
            ) from None

    def change(self, change: DocumentChange[T]) -> None:
        """Make a change after those that wait already."""
        if self.why_fixed:
            self.answer(change.ticket, change.refused(self.why_fixed))
            return
        if len(self._waiting) >= MOST_WAITING:
            self.answer(
                change.ticket,
                change.refused(f"too many changes of {self._document.what} wait already; try again"),
            )
            return
        self._waiting.append(change)
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._make_changes())

    async def _make_changes(self) -> None:
        while self._waiting:
            change = self._waiting.popleft()
            self.answer(change.ticket, await self._make(change))
        self._work = None

    async def _make(self, change: DocumentChange[T]) -> Any:
        what = self._document.what
        before = self.content
        try:
            after, response = await asyncio.get_running_loop().run_in_executor(None, self._decide, change, before)
        except OSError as error:
            LOG.error("%s not written path=%s reason=%s", what, self.path, error.strerror or error)
            return change.refused(f"the file of {what} could not be written; the log of the server says why")
        if after is not before:
            self.replace(after)
            LOG.info("%s changed", what)
        return response

    def _decide(self, change: DocumentChange[T], before: T) -> tuple[T, Any]:
        after, response = change.decide(before)
        if after is not before:
            self.write(after)
        return after, response

    def replace(self, content: T) -> None:
        """Use this content from now on. It is in the file already."""
        self.content = content

    def write(self, content: T) -> None:
        """Replace the file, durably. Blocks. Raises OSError."""
        if isinstance(self._fs, RealFileSystem):  # other users of the machine may not read it
            private = self.path.with_name(self.path.name + PRIVATE_SUFFIX)
            os.close(os.open(private, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        write_atomically(self._fs, self.path, self._document.text_of(content).encode(), PRIVATE_SUFFIX)
