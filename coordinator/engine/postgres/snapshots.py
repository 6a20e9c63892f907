"""Snapshots of partitions, in pieces, and the deletion of batches that a snapshot covers.

The pieces are inserted one by one; one statement at the end, which checks the claim, makes them the snapshot. Until
then they are not read, and the next snapshot deletes them. So no lock is held and no other request waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from coordinator.storage.log_store import Claim, ClaimLostError, LogStoreError, StoredSnapshot

if TYPE_CHECKING:
    from coordinator.engine.postgres.claimant import Claimant
    from coordinator.engine.postgres.session import DatabaseSession

PIECE_BYTES: Final = 1 << 20
_PIECES_AT_ONCE: Final = 8
_DELETED_AT_ONCE: Final = 1000
_TRIES: Final = 5  # to load a snapshot that is replaced meanwhile

_NEWEST: Final = "SELECT next_offset, epoch, pieces FROM snapshot WHERE p = $1"
_LOAD: Final = """
SELECT data FROM snapshot_piece WHERE p = $1 AND next_offset = $2 AND epoch = $3 AND piece >= $4 AND piece < $5
ORDER BY piece
"""
_SAVE_PIECE: Final = """
INSERT INTO snapshot_piece (p, next_offset, epoch, piece, data) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (p, next_offset, epoch, piece) DO UPDATE SET data = excluded.data
"""
_MINE: Final = "SELECT p FROM owner WHERE p = $1 AND epoch = $2 AND node = $3 AND incarnation = $4 FOR SHARE"
_SAVE: Final = f"""
WITH mine AS ({_MINE}),
     kept AS (INSERT INTO snapshot (p, next_offset, epoch, pieces) SELECT p, $5, $2, $6 FROM mine
              ON CONFLICT (p) DO UPDATE SET next_offset = $5, epoch = $2, pieces = $6
              WHERE snapshot.next_offset <= $5)
SELECT count(*) FROM mine
"""
# A later owner may have saved another one meanwhile: its pieces have a higher epoch.
_DELETE_PIECES: Final = """
DELETE FROM snapshot_piece USING snapshot
WHERE snapshot_piece.p = $1 AND snapshot.p = $1 AND snapshot_piece.epoch <= $2
      AND (snapshot_piece.next_offset, snapshot_piece.epoch) <> (snapshot.next_offset, snapshot.epoch)
"""
# A prefix without a hole.
_BOUNDARY: Final = """
SELECT LEAST($2, next_offset,
             (SELECT base FROM log WHERE p = $1 AND at > clock_timestamp() - $3 * interval '1 millisecond'
              ORDER BY base LIMIT 1))
FROM snapshot WHERE p = $1
"""
_DELETE: Final = f"""
WITH mine AS ({_MINE}),
     old AS (SELECT base FROM log WHERE p = $1 AND base < $5 AND last < $5 ORDER BY base LIMIT {_DELETED_AT_ONCE}),
     gone AS (DELETE FROM log WHERE p = $1 AND base <= (SELECT max(base) FROM old) AND EXISTS (SELECT FROM mine)
              RETURNING 1)
SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM gone)
"""


class PostgresSnapshots:
    """Snapshots and deletion, on the session for long work."""

    def __init__(self, session: DatabaseSession, claimant: Claimant) -> None:
        self._session = session
        self._claimant = claimant

    async def load(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot; None if there is none."""
        for _ in range(_TRIES):
            rows = await self._session.fetch(_NEWEST, partition)
            if not rows:
                return None
            next_offset, epoch, count = rows[0]
            pieces: list[bytes] = []
            for first in range(0, count, _PIECES_AT_ONCE):
                until = min(first + _PIECES_AT_ONCE, count)
                found = await self._session.fetch(_LOAD, partition, next_offset, epoch, first, until)
                pieces += [data for (data,) in found]
            if len(pieces) == count:
                return StoredSnapshot(next_offset, b"".join(pieces))
        raise LogStoreError(f"the snapshot of partition {partition} is replaced again and again; try again")

    async def save(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        """Keep a snapshot in place of earlier ones, unless it is there already."""
        found = await self._session.fetch(_NEWEST, claim.partition)
        if found and tuple(found[0])[:2] == (next_offset, claim.epoch):
            return
        count = 0
        for data in cut(pieces, PIECE_BYTES):
            await self._session.fetch(_SAVE_PIECE, claim.partition, next_offset, claim.epoch, count, data)
            count += 1
        ((mine,),) = await self._session.fetch(_SAVE, *self._claim(claim), next_offset, count)
        await self._session.fetch(_DELETE_PIECES, claim.partition, claim.epoch)
        if not mine:
            raise lost_claim(claim)

    async def trim(self, claim: Claim, below: int, keep_ms: int) -> int:
        """Delete batches below an offset that the newest snapshot covers; returns their number."""
        boundary = await self._session.fetch(_BOUNDARY, claim.partition, below, float(keep_ms))
        deleted = 0
        while True:
            ((mine, gone),) = await self._session.fetch(_DELETE, *self._claim(claim), boundary[0][0] if boundary else 0)
            if not mine:
                raise lost_claim(claim)
            deleted += int(gone)
            if gone < _DELETED_AT_ONCE:
                return deleted

    def _claim(self, claim: Claim) -> tuple[int, int, int, str]:
        return claim.partition, claim.epoch, self._claimant.node_id, self._claimant.incarnation_of(claim)


def lost_claim(claim: Claim) -> ClaimLostError:
    """Return the error for a claim that does not hold any more."""
    return ClaimLostError(f"partition {claim.partition}: another node has claimed it; this node gives it up")


def cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the same bytes in pieces of `size` bytes, the last one shorter."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)
