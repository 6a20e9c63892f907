"""This run of the node: its claims, and the last batch of each partition that the database acknowledged to it.

The last batch is compared after each new connection and before each claim. If it is not there any more, the database
has lost commits that clients were told of: an old backup was restored, or a standby promoted that was behind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from coordinator.engine.postgres.log_end import log_end
from coordinator.storage.log_store import Claim

LOG: Final = logging.getLogger("coordinator.cluster")

# A batch that is gone may have been deleted by a later owner; then the log goes on behind it.
_LOST: Final = f"""
SELECT * FROM (
    SELECT t.p, t.ends, log.crc IS DISTINCT FROM t.crc AND log.p IS NOT NULL AS differs,
           {log_end("t.p")} AS log_end
    FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) AS t(p, base, ends, crc)
    LEFT JOIN log ON log.p = t.p AND log.base = t.base
) AS compared WHERE differs OR log_end < ends
"""


class AcknowledgedBatch(NamedTuple):
    """The last batch of a partition that was acknowledged."""

    base_offset: int
    end_offset: int
    crc: int


class _Claimed(NamedTuple):
    """The newest claim of a partition by this node."""

    epoch: int
    incarnation: str


class Claimant:
    """The id and incarnation of this run, the claims of this node, and what was acknowledged to it."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.incarnation = ""  # until the node is announced
        self._claims: dict[int, _Claimed] = {}
        self.acknowledged: dict[int, AcknowledgedBatch] = {}

    @property
    def partitions(self) -> list[int]:
        """Partitions that this node has claimed and not lost, as far as it knows."""
        return list(self._claims)

    def note(self, claim: Claim) -> None:
        """Note a claim that this run has made."""
        self._claims[claim.partition] = _Claimed(claim.epoch, self.incarnation)

    def holds(self, claim: Claim) -> bool:
        """Return whether a claim has not been lost, as far as this node knows."""
        return claim.partition in self._claims and self._claims[claim.partition].epoch == claim.epoch

    def incarnation_of(self, claim: Claim) -> str:
        """Return the incarnation under which a claim was made."""
        return self._claims[claim.partition].incarnation if self.holds(claim) else self.incarnation

    def forget(self, claim: Claim) -> None:
        """End a claim that was lost."""
        if self.holds(claim):
            del self._claims[claim.partition]

    async def check(self, connection: Any, partitions: Iterable[int]) -> None:
        """End the claims of partitions that have lost acknowledged batches, and say so."""
        known = [(p, self.acknowledged[p]) for p in partitions if p in self.acknowledged]
        if not known:
            return
        rows = await connection.fetch(
            _LOST,
            [p for p, _ in known],
            [batch.base_offset for _, batch in known],
            [batch.end_offset for _, batch in known],
            [batch.crc for _, batch in known],
        )
        for partition, ends, differs, found_end in rows:
            self._claims.pop(partition, None)
            del self.acknowledged[partition]
            LOG.error(
                "partition=%d: THE DATABASE HAS LOST ACKNOWLEDGED COMMITS: up to offset %d was acknowledged, and the "
                "log %s. The partition is loaded again as the database has it now. Was an old backup restored, or a "
                "standby promoted without synchronous replication? Compare the committed offsets with those that the "
                "applications know",
                partition, ends, "has another batch there" if differs else f"ends at {found_end}",
            )  # fmt: skip
