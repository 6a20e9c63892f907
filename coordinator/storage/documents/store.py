"""A value that is one document: users, access rules, quotas. It is kept in a file of the data directory.

In a cluster the controller has the document, and the other nodes follow it. With a store that nodes share it is kept
there, and any node changes it.
A change is answered when the new text is durable. Changes are made one after the other, each from the outcome of the
one before, and a bounded number of them waits. They are decided beside the event loop, because that may take long.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from coordinator.core.topics.feed import SharedText
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.core.effects import Ticket
    from coordinator.storage.documents.shared import SharedDocuments

LOG: Final = logging.getLogger("coordinator.documents")

MOST_WAITING: Final = 100
MOST_TRIES: Final = 10  # to change a document that other nodes change at the same time
NO_TEXT: Final = SharedText(b"", b"")
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

    The content is replaced, never changed. `is_written`: False if another process writes the file.
    """

    def __init__(self, fs: FileSystem, data_dir: Path, document: DocumentKind[T], *, is_written: bool = True) -> None:
        """Read the file, if there is one. Raises DocumentStoreError, OSError."""
        self._fs = fs
        self._document = document
        self._is_written = is_written
        self.path = data_dir / document.file_name
        self.text = NO_TEXT  # of the content; not known to a program that only calls `write`
        self.content = self._read()
        self._waiting: deque[DocumentChange[T]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._shared: SharedDocuments | None = None
        self._revision = 0  # in the shared store
        self.answer: Callable[[Ticket, Any], None]  # set by the runtime
        self.changed: Callable[[], None] = lambda: None  # called after each change
        self.why_fixed = ""  # why nothing can be changed; empty: it can
        self.is_followed = False  # the controller has the document, and makes the changes

    @property
    def name(self) -> str:
        """The name among the documents of a cluster."""
        return self._document.file_name

    def _read(self) -> T:
        if not self._fs.exists(self.path):
            return self._document.empty
        data = read_whole(self._fs, self.path)
        content, self.text = self._parse(data, f"the file of {self._document.what} {self.path}")
        return content

    def _parse(self, data: bytes, source: str) -> tuple[T, SharedText]:
        """Return the content of a text, and its digest. Raises DocumentStoreError."""
        try:
            return self._document.parse(data.decode()), _shared_text(data)
        except ValueError as error:
            raise DocumentStoreError(
                f"{source} cannot be used: {error}; restore it from a copy, or remove it and add the "
                f"{self._document.what} again"
            ) from None

    # -- changes -------------------------------------------------------------------------------------------------

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
        try:
            for _ in range(MOST_TRIES):
                before, revision = self.content, self._revision
                after, response, text = await self._beside(self._decide, change, before)
                if after is before:
                    return response
                if await self._keep(text, revision):
                    if self._revision == revision:  # else what came behind it in the shared store is in use already
                        self._revision += self._shared is not None
                        self._use(after, text)
                    LOG.info("%s changed by=%s", what, change.ticket.session.principal)
                    return response
                await self.refresh()
        except OSError as error:
            LOG.error("%s not written path=%s reason=%s", what, self.path, error.strerror or error)
            return change.refused(f"the file of {what} could not be written; the log of the server says why")
        except (LogStoreError, DocumentStoreError) as error:
            LOG.error("%s not kept in the shared store reason=%s", what, error)
            return change.refused(f"the {what} could not be kept in the shared store; the log of the server says why")
        except Exception:
            LOG.exception("%s not changed, by a defect; please report this", what)
            return change.refused("the server has failed; its log says why")
        return change.refused(f"other nodes change the {what} at the same time; try again")

    def _decide(self, change: DocumentChange[T], before: T) -> tuple[T, Any, SharedText]:
        after, response = change.decide(before)
        return after, response, NO_TEXT if after is before else self._text_of(after)

    def _text_of(self, content: T) -> SharedText:
        return _shared_text(self._document.text_of(content).encode())

    async def _keep(self, text: SharedText, revision: int) -> bool:
        """Make a text durable. False: another node has replaced that revision."""
        if self._shared is not None:
            return await self._shared.replace(self.name, await self._beside(text.text.decode), revision)
        await self._beside(self._write, text.text)
        return True

    def _use(self, content: T, text: SharedText) -> None:
        self.text = text
        self.replace(content)
        self.changed()

    def replace(self, content: T) -> None:
        """Use this content from now on. It is durable already."""
        self.content = content

    def write(self, content: T) -> None:
        """Replace the file, durably. Blocks. Raises OSError."""
        self._write(self._document.text_of(content).encode())

    def _write(self, data: bytes) -> None:
        if isinstance(self._fs, RealFileSystem):  # other users of the machine may not read it
            private = self.path.with_name(self.path.name + PRIVATE_SUFFIX)
            os.close(os.open(private, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        write_atomically(self._fs, self.path, data, PRIVATE_SUFFIX)

    async def _beside(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)

    # -- the document of another node ----------------------------------------------------------------------------

    async def follow(self, data: bytes) -> None:
        """Use the text of the controller, and keep it for the next start. Raises DocumentStoreError, OSError."""
        content, text = self._document.empty, NO_TEXT
        if data:
            content, text = await self._beside(self._parse, data, f"the {self._document.what} of the controller")
        if self._is_written:
            await self._beside(self._write, data or self._document.text_of(content).encode())
        self._use(content, text)

    # -- the document in a shared store --------------------------------------------------------------------------

    async def share(self, shared: SharedDocuments) -> None:
        """Keep the document in a shared store from now on, which takes it over if it has none.

        Raises LogStoreError, DocumentStoreError.
        """
        self._shared = shared
        if self.text.text and await shared.replace(self.name, self.text.text.decode(), 0):
            LOG.info("%s taken over into the shared store path=%s", self._document.what, self.path)
            self._revision = 1
            return
        await self.refresh()

    async def refresh(self) -> None:
        """Use the newest text in the shared store. Raises LogStoreError, DocumentStoreError."""
        assert self._shared is not None
        stored = await self._shared.read(self.name, self._revision)
        if stored is not None and stored.revision > self._revision:
            data = await self._beside(stored.text.encode)
            source = f"the {self._document.what} in the shared store"
            content, text = await self._beside(self._parse, data, source)
            if stored.revision > self._revision:  # else a change came before it meanwhile
                self._revision = stored.revision
                self._use(content, text)


def _shared_text(data: bytes) -> SharedText:
    return SharedText(hashlib.sha256(data).digest(), data)
