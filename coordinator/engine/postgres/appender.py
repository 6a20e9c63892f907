"""Appends to the log: all partitions of a round in one statement, and so in one commit.

The statement locks the rows of the claims (`FOR SHARE`) and inserts the batches of those that hold. A take-over updates
the same row, so it comes wholly before or wholly after. A partition that is not returned was fenced. Batches must begin
where the log ends, if it is not empty; the primary key (partition, base offset) is the second net.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.engine.postgres.claimant import AcknowledgedBatch
from coordinator.engine.postgres.errors import UNIQUE_VIOLATION, RequestLostError, StatementError
from coordinator.engine.postgres.log_end import log_end
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    LogStoreError,
)

if TYPE_CHECKING:
    from coordinator.engine.postgres.claimant import Claimant
    from coordinator.engine.postgres.session import DatabaseSession
    from coordinator.storage.log.segment import Entry

LOG: Final = logging.getLogger("coordinator.cluster")

_HEAD: Final = Struct(">q9xI")  # base offset and checksum of a record batch

# READ COMMITTED: after a wait for a row of `owner`, its newest version decides.
_APPEND: Final = f"""
WITH want AS (SELECT * FROM unnest($1::int[], $2::bigint[], $3::text[], $4::bigint[])
                   AS t(p, epoch, incarnation, first)),
     mine AS (SELECT p, epoch, incarnation FROM owner WHERE p = ANY($1::int[]) AND node = $5 ORDER BY p FOR SHARE),
     fit AS (SELECT p, epoch FROM want JOIN mine USING (p, epoch, incarnation)
             WHERE first = {log_end("want.p", if_empty="first")})
INSERT INTO log (p, base, last, epoch, crc, at, batch)
SELECT p, base, last, epoch, crc, clock_timestamp(), batch
FROM unnest($6::int[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[]) AS b(p, base, last, crc, batch)
     JOIN fit USING (p)
RETURNING p
"""
# The lock makes the transaction one that writes: its commit waits for the standby, and so for all that it has read.
_OWNER: Final = "SELECT epoch, node, incarnation FROM owner WHERE p = $1 FOR SHARE"
_KEPT: Final = "SELECT base, last, crc, epoch FROM log WHERE p = $1 AND base BETWEEN $2 AND $3 ORDER BY base"
_END: Final = f"SELECT {log_end('$1')}"


class _Row(NamedTuple):
    """The batches of one partition in a round."""

    claim: Claim
    entries: Sequence[Entry]
    heads: list[tuple[int, int]]  # base offset and checksum, for each batch

    @property
    def end_offset(self) -> int:
        return self.entries[-1].last_offset + 1


def _row(claim: Claim, entries: Sequence[Entry]) -> _Row:
    heads = [_HEAD.unpack_from(entry.batch) for entry in entries]
    for before, (base, _) in zip(entries, heads[1:], strict=False):
        if base != before.last_offset + 1:
            raise ValueError(
                f"partition {claim.partition}: no batch between {before.last_offset} and {base}; report this"
            )
    return _Row(claim, entries, heads)


class Appender:
    """Appends and resolves, on a session of its own."""

    def __init__(self, session: DatabaseSession, claimant: Claimant) -> None:
        self._session = session
        self._claimant = claimant

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> list[AppendOutcome]:
        """Append as `LogStore.append` does."""
        try:
            wanted = [_row(claim, entries) for claim, entries in rows]
        except ValueError as error:
            return [AppendFailed(error)] * len(rows)
        outcomes = await self._try_append(wanted)
        for row, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, AppendFenced) and self._claimant.holds(row.claim):
                await self._end_claim(row)
        return outcomes

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Append the batches again, unless they are there or the claim is lost.

        A first try that is still under way finds the log longer or the claim lost, and so changes nothing.
        """
        row = _row(claim, entries)
        (outcome,) = await self._try_append([row])
        if isinstance(outcome, AppendDurable | AppendUnknown):
            return outcome
        if isinstance(outcome, AppendFailed):  # nothing is decided: the first try may still be carried out
            return AppendUnknown(outcome.error)
        try:
            is_mine, is_kept = await self._session.run(lambda connection: self._look(connection, row))
        except LogStoreError as error:
            return AppendUnknown(error)
        if is_kept:
            return self._durable(row)
        if is_mine:
            await self._end_claim(row)
        self._claimant.forget(claim)
        return AppendFenced()

    async def _try_append(self, rows: list[_Row]) -> list[AppendOutcome]:
        try:
            kept = await self._session.run(lambda connection: self._insert(connection, rows))
        except RequestLostError as error:
            return [AppendUnknown(error)] * len(rows)
        except StatementError as error:
            if error.sqlstate != UNIQUE_VIOLATION:
                return [AppendFailed(error)] * len(rows)
            # Another writer was at the same offset, which the claims should make impossible.
            return [AppendFenced()] if len(rows) == 1 else [(await self._try_append([row]))[0] for row in rows]
        except LogStoreError as error:
            return [AppendFailed(error)] * len(rows)
        return [self._durable(row) if row.claim.partition in kept else AppendFenced() for row in rows]

    async def _insert(self, connection: Any, rows: list[_Row]) -> set[int]:
        """Return the partitions whose batches were inserted."""
        rows = [row for row in rows if self._claimant.holds(row.claim)]
        if not rows:
            return set()
        batches = [
            (row.claim.partition, base, entry.last_offset, crc, entry.batch)
            for row in rows
            for (base, crc), entry in zip(row.heads, row.entries, strict=True)
        ]
        found = await connection.fetch(
            _APPEND,
            [row.claim.partition for row in rows],
            [row.claim.epoch for row in rows],
            [self._claimant.incarnation_of(row.claim) for row in rows],
            [row.heads[0][0] for row in rows],
            self._claimant.node_id,
            *map(list, zip(*batches, strict=True)),
        )
        return {partition for (partition,) in found}

    async def _look(self, connection: Any, row: _Row) -> tuple[bool, bool]:
        """Return whether the claim holds, and whether the batches are in the log."""
        claim, me = row.claim, self._claimant
        async with connection.transaction():
            owner = await connection.fetchrow(_OWNER, claim.partition)
            found = await connection.fetch(_KEPT, claim.partition, row.heads[0][0], row.entries[-1].last_offset)
        is_mine = owner is not None and tuple(owner) == (claim.epoch, me.node_id, me.incarnation_of(claim))
        wanted = [
            (base, entry.last_offset, crc, claim.epoch)
            for (base, crc), entry in zip(row.heads, row.entries, strict=True)
        ]
        return is_mine, [tuple(one) for one in found] == wanted

    def _durable(self, row: _Row) -> AppendDurable:
        base, crc = row.heads[-1]
        self._claimant.acknowledged[row.claim.partition] = AcknowledgedBatch(base, row.end_offset, crc)
        return AppendDurable(row.end_offset)

    async def _end_claim(self, row: _Row) -> None:
        """End a claim that was refused, and say so if the log does not end where this node thinks."""
        partition = row.claim.partition
        self._claimant.forget(row.claim)
        try:
            ((end,),) = await self._session.fetch(_END, partition)
        except LogStoreError:  # the next request says why
            return
        if end != row.heads[0][0]:
            LOG.warning(
                "partition=%d: its log ends at offset %d in the database, and this node was about to append at %d. "
                "Another node has claimed it; this node gives it up",
                partition, end, row.heads[0][0],
            )  # fmt: skip
