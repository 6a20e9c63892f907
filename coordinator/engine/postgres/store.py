"""The offsets log in PostgreSQL. Implements `coordinator.storage.log_store.LogStore`.

Claims, loads, snapshots and documents share a session that is opened when it is first needed, `work`; appends have one
of their own, so that no load delays a commit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.engine.postgres.appender import Appender
from coordinator.engine.postgres.log_end import log_end
from coordinator.engine.postgres.server_checks import check_sync
from coordinator.engine.postgres.session import DatabaseSession
from coordinator.engine.postgres.snapshots import PostgresSnapshots
from coordinator.storage.log_store import AppendOutcome, Claim, ClaimLostError, StoredExtent, StoredSnapshot

if TYPE_CHECKING:
    from coordinator.engine.postgres.claimant import Claimant
    from coordinator.engine.postgres.settings import PostgresSettings
    from coordinator.storage.log.segment import Entry

# A partition is free if it was released, or if the run that claimed it has left or was declared dead: a run that is
# dead never comes back under the same incarnation.
_CLAIM: Final = """
WITH taken AS (
    INSERT INTO owner (p, epoch, node, incarnation, released)
    SELECT $1, 1, id, incarnation, false FROM node WHERE id = $3 AND incarnation = $4 AND state <> 'expired' AND
           ($2 = 0 OR EXISTS (SELECT FROM owner WHERE p = $1))
    ON CONFLICT (p) DO UPDATE SET epoch = owner.epoch + 1, node = $3, incarnation = $4, released = false
    WHERE owner.epoch = $2 AND (owner.released OR NOT EXISTS (
        SELECT FROM node WHERE id = owner.node AND incarnation = owner.incarnation AND state <> 'expired'))
    RETURNING epoch
) SELECT epoch, pg_notify($5, $3::text) FROM taken
"""
_END: Final = f"SELECT {log_end('$1')}"
# The lock makes the transaction one that writes: its commit waits for the standby, and so for all that it has read. It
# is one that hinders neither an append nor a claim.
_EXTENTS: Final = f"""
WITH held AS (SELECT p FROM owner ORDER BY p LIMIT 1 FOR KEY SHARE)
SELECT t.p, (SELECT base FROM log WHERE log.p = t.p ORDER BY base LIMIT 1), {log_end("t.p")},
       COALESCE((SELECT next_offset FROM snapshot WHERE snapshot.p = t.p), 0), (SELECT count(*) FROM held)
FROM unnest($1::int[]) AS t(p)
"""
_RELEASE: Final = """
WITH released AS (
    UPDATE owner SET released = true
    WHERE p = $1 AND epoch = $2 AND node = $3 AND incarnation = $4 RETURNING p
) SELECT pg_notify($5, $3::text) FROM released
"""
# The sizes are known without reading the batches, so the rows that do not fit are never read.
_ROWS_AT_ONCE: Final = 2000
_BATCHES: Final = f"""
SELECT last, batch FROM (
    SELECT base, last, batch, sum(octet_length(batch)) OVER (ORDER BY base) - octet_length(batch) AS before
    FROM (SELECT base, last, batch FROM log WHERE p = $1 AND base >= COALESCE(
              (SELECT CASE WHEN last >= $2 THEN base END FROM log WHERE p = $1 AND base <= $2
               ORDER BY base DESC LIMIT 1), $2)
          ORDER BY base LIMIT {_ROWS_AT_ONCE}) AS ahead
) AS sized WHERE before < $3 ORDER BY base
"""


class PostgresLogStore:
    """The log of all partitions in one database."""

    deletes_below_snapshots: Final = True
    concurrent_appends: Final = 1  # a round of all partitions is one statement, which is faster than one for each

    def __init__(self, settings: PostgresSettings, claimant: Claimant) -> None:
        self.name: Final = settings.name
        self._settings = settings
        self._claimant = claimant
        self._appends = DatabaseSession(settings, "appends", settings.timeout_s, self._prepare_appends)
        self.work = DatabaseSession(settings, "loads", settings.long_timeout_s)
        self._appender = Appender(self._appends, claimant)
        self._snapshots = PostgresSnapshots(self.work, claimant)

    async def open(self) -> None:
        """Connect for appends. Raises LogStoreError."""
        await self._appends.fetch("SELECT")

    async def _prepare_appends(self, connection: Any) -> None:
        await check_sync(connection, self._settings)
        await self._claimant.check(connection, self._claimant.partitions)

    async def claim(self, partition: int, seen_epoch: int) -> Claim:
        """Claim a partition if it is free and its last epoch is `seen_epoch`."""
        me = self._claimant
        args = partition, seen_epoch, me.node_id, me.incarnation, self._settings.schema

        async def take(connection: Any) -> Claim:
            row = await connection.fetchrow(_CLAIM, *args)
            if row is None:
                raise ClaimLostError(f"partition {partition} is claimed by another node, or this node has no lease")
            # A statement of its own: it sees all that was appended under earlier claims.
            end = await connection.fetchval(_END, partition)
            await me.check(connection, [partition])
            return Claim(partition, row["epoch"], end)

        claim = await self.work.run(take, self._settings.timeout_s)
        me.note(claim)
        return claim

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        """Append to all partitions in one statement."""
        return await self._appender.append(rows)

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Append again, or find the batches there. Never AppendFailed."""
        return await self._appender.resolve(claim, entries)

    async def extents(self, partitions: Iterable[int]) -> Mapping[int, StoredExtent]:
        """Return the extents of partitions, which are on the standby, too."""
        rows = await self.work.fetch(_EXTENTS, list(partitions))
        return {p: StoredExtent(end if start is None else start, end, covered) for p, start, end, covered, _ in rows}

    async def batches(
        self, partition: int, from_offset: int, chunk_bytes: int = 8 << 20, *, joined: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield chunks that end with the batch that fills them."""
        while rows := await self.work.fetch(_BATCHES, partition, from_offset, chunk_bytes):
            yield b"".join([batch for _, batch in rows])
            from_offset = rows[-1][0] + 1

    async def load_snapshot(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot of a partition; None if there is none."""
        return await self._snapshots.load(partition)

    async def save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        """Keep a snapshot in place of earlier ones."""
        await self._snapshots.save(claim, next_offset, pieces)

    async def trim(self, claim: Claim, below: int, keep_ms: int = 0) -> int:
        """Delete old batches that the snapshot covers."""
        return await self._snapshots.trim(claim, below, keep_ms)

    async def release(self, claim: Claim) -> None:
        """Make a partition free."""
        me = self._claimant
        args = claim.partition, claim.epoch, me.node_id, me.incarnation_of(claim), self._settings.schema
        await self.work.fetch(_RELEASE, *args)

    async def close(self) -> None:
        """Close the connections."""
        await self._appends.close()
        await self.work.close()
