"""The small documents in a store that several nodes share: the port, and the coding of their texts.

A change names the revision that it replaces. Of several changes of one revision the store keeps one, so a node that
was not told of the newest document cannot overwrite it.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from coordinator.storage.log_store import LogStoreError

MOST_BYTES: Final = 16 << 20  # of a document
INLINE: Final = 256 << 10  # characters or bytes that are coded on the event loop: less than 1 ms
_STEP: Final = 256 << 10  # coded at once in a thread, which holds the lock of the interpreter meanwhile


class StoredDocument(NamedTuple):
    """A document as the store has it."""

    revision: int  # counted up by one with each change; the first is 1
    text: str


class SharedDocuments(Protocol):
    """The documents in a shared store, for one node. Methods belong to one event loop and raise LogStoreError."""

    async def read(self, name: str, known: int = 0) -> StoredDocument | None:
        """Return the newest document; None if there is none, or if its revision is `known`."""

    async def replace(self, name: str, text: str, revision: int) -> bool:
        """Replace revision `revision` (0: there is none yet) by this text, durably. False: another one came first.

        LogStoreError may also mean that the outcome is not known: then the text is there, or it may come later, or it
        never will. A text over MOST_BYTES is refused.
        """

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` soon after another node has replaced a document.

        It may be called too often, and a call may be missed after a lost connection.
        """

    async def close(self) -> None:
        """Call no watcher any more."""


async def encode_text(name: str, text: str) -> bytes:
    """Return the text as bytes, encoded in a thread if it is large. Raises LogStoreError if it cannot be kept."""
    if len(text) > MOST_BYTES:
        raise _too_large(name)
    try:
        if len(text) <= INLINE:
            data = text.encode()
        else:
            data = await asyncio.get_running_loop().run_in_executor(None, _encoded, text)
    except UnicodeEncodeError:
        raise LogStoreError(
            f"the document {name} has characters that are no text; remove them", may_pass=False
        ) from None
    if len(data) > MOST_BYTES:
        raise _too_large(name)
    return data


async def decode_text(name: str, pieces: Iterable[bytes]) -> str:
    """Return bytes as the text that they encode, decoded in a thread if they are many. Raises LogStoreError."""
    kept = list(pieces)
    try:
        if sum(map(len, kept)) <= INLINE:
            return b"".join(kept).decode()
        return await asyncio.get_running_loop().run_in_executor(None, _decoded, kept)
    except UnicodeDecodeError:
        raise LogStoreError(
            f"the document {name} in the store is damaged; restore the store from a backup", may_pass=False
        ) from None


def _encoded(text: str) -> bytes:
    return b"".join(text[start : start + _STEP].encode() for start in range(0, len(text), _STEP))


def _decoded(pieces: list[bytes]) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    parts = []
    for piece in pieces:
        view = memoryview(piece)
        parts += [decoder.decode(view[start : start + _STEP]) for start in range(0, len(piece), _STEP)]
    parts.append(decoder.decode(b"", final=True))
    return "".join(parts)


def _too_large(name: str) -> LogStoreError:
    return LogStoreError(
        f"the document {name} is larger than {MOST_BYTES >> 20} MiB, which the store does not keep; "
        "remove entries that are not needed",
        may_pass=False,
    )
