"""The shared documents in PostgreSQL, in parts. Implements `coordinator.storage.documents.shared.SharedDocuments`.

The parts of a change are inserted one by one. One statement at the end checks the revision, makes them the document and
deletes all others, so no lock is held meanwhile. If its answer was lost it is sent again, and then the identity of the
change is looked for: a first try that is still under way finds another revision, and changes nothing.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.engine.postgres.directory import DOCUMENT_BY
from coordinator.engine.postgres.errors import RequestLostError
from coordinator.engine.postgres.server_checks import check_sync
from coordinator.engine.postgres.session import FIRST_PAUSE_S
from coordinator.storage.documents.shared import StoredDocument, decode_text, encode_text
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.engine.postgres.directory import PostgresDirectory
    from coordinator.engine.postgres.session import DatabaseSession
    from coordinator.engine.postgres.settings import PostgresSettings

PART_BYTES: Final = 1 << 20
_TRIES: Final = 5  # to read a document that is replaced meanwhile

_NEWEST: Final = "SELECT revision, change, parts FROM document WHERE name = $1 AND revision <> $2"
_REVISION: Final = "SELECT revision FROM document WHERE name = $1"
_PART: Final = "SELECT data FROM document_part WHERE name = $1 AND change = $2 AND part = $3"
_ADD_PART: Final = "INSERT INTO document_part (name, change, part, data) VALUES ($1, $2, $3, $4)"
_DELETE_PARTS: Final = "DELETE FROM document_part WHERE name = $1 AND change = $2"
# Parts of other changes belong to former revisions, or to changes that can be made no more.
_TOLD: Final = """
     gone AS (DELETE FROM document_part WHERE name IN (SELECT name FROM kept) AND change <> $3)
SELECT pg_notify($5, $6) FROM kept
"""
# A fail-over to a standby that was behind may have lost parts.
_WHOLE: Final = "(SELECT count(*) FROM document_part AS p WHERE p.name = $1 AND p.change = $3) = $4::int"
_ADD: Final = f"""
WITH kept AS (INSERT INTO document (name, revision, change, parts) SELECT $1, $2::bigint + 1, $3, $4::int
              WHERE {_WHOLE} ON CONFLICT (name) DO NOTHING RETURNING name),
{_TOLD}"""
# READ COMMITTED: after a wait for the row, its newest version decides.
_REPLACE: Final = f"""
WITH kept AS (UPDATE document SET revision = revision + 1, change = $3, parts = $4::int
              WHERE name = $1 AND revision = $2 AND {_WHOLE} RETURNING name),
{_TOLD}"""
# The lock makes the transaction one that writes: its commit waits for the standby, and so for what it has read.
_LOOK: Final = "SELECT revision, change FROM document WHERE name = $1 FOR SHARE"


class _Change(NamedTuple):
    """A change of a document."""

    name: str
    revision: int  # that it replaces
    identity: str
    parts: int


class PostgresDocuments:
    """The documents, on the session for long work. Notifications come on the one of the directory."""

    def __init__(self, settings: PostgresSettings, session: DatabaseSession, directory: PostgresDirectory) -> None:
        self._settings = settings
        self._session = session
        self._directory = directory

    async def read(self, name: str, known: int = 0) -> StoredDocument | None:
        """Return the newest document; None if there is none, or if its revision is `known`."""
        for _ in range(_TRIES):
            rows = await self._session.fetch(_NEWEST, name, known)
            if not rows:
                return None
            ((revision, identity, count),) = rows
            parts: list[bytes] = []
            for number in range(count):
                parts += [data for (data,) in await self._session.fetch(_PART, name, identity, number)]
            if len(parts) == count:
                return StoredDocument(revision, await decode_text(name, parts))
        raise LogStoreError(f"the document {name} is replaced again and again; try again")

    async def replace(self, name: str, text: str, revision: int) -> bool:
        """Replace a revision, durably. False: another change came first."""
        data = await encode_text(name, text)
        if await self._session.run(lambda connection: _revision(connection, name)) != revision:
            return False
        change = _Change(name, revision, uuid.uuid4().hex, -(-len(data) // PART_BYTES))
        for number in range(change.parts):
            part = data[number * PART_BYTES : (number + 1) * PART_BYTES]
            await self._session.fetch(_ADD_PART, name, change.identity, number, part)
        try:
            is_made = await self._try(change)
        except RequestLostError as error:
            is_made = await self._resolved(change, error)
        if not is_made:
            with suppress(LogStoreError):  # the next change does it
                await self._session.fetch(_DELETE_PARTS, name, change.identity)
        return is_made

    async def _try(self, change: _Change) -> bool:
        async def make(connection: Any) -> bool:
            await check_sync(connection, self._settings)
            query = _REPLACE if change.revision else _ADD
            sender = f"{DOCUMENT_BY}{self._settings.node_id}"
            if await connection.fetch(query, *change, self._settings.schema, sender):
                return True
            if await _revision(connection, change.name) == change.revision:
                raise LogStoreError(
                    f"{self._settings.name} has lost parts of a change of the document {change.name}; change it again"
                )
            return False

        return await self._session.run(make, self._settings.timeout_s)

    async def _resolved(self, change: _Change, lost: LogStoreError) -> bool:
        """Find out, or decide, what became of a change whose answer was lost."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.timeout_s
        while True:
            try:
                if await self._try(change):
                    return True
                rows = await self._session.fetch(_LOOK, change.name)
                break
            except LogStoreError:  # nothing is decided: the first try may still be carried out
                if loop.time() >= deadline:
                    raise lost from None
            await asyncio.sleep(FIRST_PAUSE_S)
        revision, identity = tuple(rows[0]) if rows else (0, "")
        if revision != change.revision + 1:
            raise LogStoreError(
                f"{self._settings.name}: whether the document {change.name} was changed is not known, as it has "
                f"revision {revision} now; look at it, and change it again if that is needed"
            )
        return bool(identity == change.identity)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` at each notification of another node, and after each new connection."""
        self._directory.documents_changed = changed

    async def close(self) -> None:
        """Call no watcher any more. The session is closed with the store."""
        self._directory.documents_changed = lambda: None


async def _revision(connection: Any, name: str) -> int:
    """Return the newest revision of a document; 0 if there is none."""
    return await connection.fetchval(_REVISION, name) or 0
