"""LogStore: the place that keeps the batches of the offsets log, if that is not the node's own disk.

A store is shared by all nodes. A node claims a partition, appends under its claim, and releases it. A claim has an
epoch; a later claim of the same partition has a higher one, and from then on every append under the former is refused.
So a node that was frozen or cut off cannot write any more, whatever it believes.

An append has one of four outcomes. `AppendUnknown` is neither success nor failure: the request or its answer was lost.
The partition then takes no append until `resolve` has told which of the two it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from coordinator.storage.log.segment import Entry


class Claim(NamedTuple):
    """The right of one node to append to a partition, until there is a later claim."""

    partition: int
    epoch: int  # higher than that of every earlier claim
    end_offset: int  # of the partition when it was claimed: behind its last record


class AppendDurable(NamedTuple):
    """The batches are durable."""

    high_watermark: int


class AppendFenced(NamedTuple):
    """The claim is lost. Batches of a first try may have been kept before that; the next owner reads them."""


class AppendFailed(NamedTuple):
    """The store refused the batches and keeps none of them."""

    error: Exception


class AppendUnknown(NamedTuple):
    """The batches were kept or not; `LogStore.resolve` tells."""

    error: Exception


AppendOutcome = AppendDurable | AppendFenced | AppendFailed | AppendUnknown


class StoredSnapshot(NamedTuple):
    """The state of a partition below an offset, in the format of `coordinator.storage.snapshot.file`."""

    next_offset: int
    data: bytes


class StoredExtent(NamedTuple):
    """The offsets of a partition that a store has, in batches or in a snapshot."""

    start_offset: int  # of the first batch; the end if all are deleted
    end_offset: int  # all below is durable
    covered_offset: int  # the newest snapshot has all below it; 0: there is none


class LogStoreError(Exception):
    """The store cannot be used. The message is one sentence that says what to do, and names no password.

    `may_pass`: a later try may succeed without a change of settings.
    """

    def __init__(self, sentence: str, *, may_pass: bool = True) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


class ClaimLostError(LogStoreError):
    """Another node has claimed the partition, or the claim does not exist any more."""


class LogStore(Protocol):
    """A shared store of the offsets log, for one node. All methods belong to one event loop."""

    @property
    def name(self) -> str:
        """The store, for the log and for errors: kind and address, without secrets."""

    @property
    def concurrent_appends(self) -> int:
        """Number of calls of `append` that may run at the same time, each for other partitions."""

    @property
    def deletes_below_snapshots(self) -> bool:
        """True if `trim` deletes batches, so that the log alone may be incomplete. False: a cleaner compacts the log,
        so that batches behind a snapshot may be missing, and all that is left is complete."""

    async def claim(self, partition: int, seen_epoch: int) -> Claim:
        """Claim a partition whose last known claim has `seen_epoch` (0: it never had one).

        The new claim has a higher epoch. When this returns, no append under an earlier claim can succeed any more, and
        `end_offset` is behind all that did. Raises ClaimLostError if another node was faster; LogStoreError.
        """

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        """Append batches to several partitions, each partition once; returns an outcome for each row.

        The batches of a row follow the end of the partition without a gap, and all of them are kept or none. Raises
        nothing but CancelledError, which stands for an unknown outcome.
        """

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Find out, or decide, what became of an append of these batches whose outcome was unknown.

        AppendDurable, AppendFailed and AppendFenced are final: a first try that is still under way changes nothing.
        AppendUnknown: the store cannot be asked now.
        """

    async def extents(self, partitions: Iterable[int]) -> Mapping[int, StoredExtent]:
        """Return the extents of partitions, whether they are claimed or not. Raises LogStoreError."""

    def batches(
        self, partition: int, from_offset: int, chunk_bytes: int = 8 << 20, *, joined: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield the durable batches from an offset on, as chunks of whole batches of about `chunk_bytes`, in order.

        Begins with the batch that holds `from_offset`, or the first one behind it. With `joined`, batches that were
        appended together may come as one, where that is how the store keeps them. Raises LogStoreError.
        """

    async def load_snapshot(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot of a partition; None if there is none. Raises LogStoreError."""

    async def save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        """Keep a snapshot in place of earlier ones. Raises ClaimLostError if there is a later claim; LogStoreError."""

    async def trim(self, claim: Claim, below: int, keep_ms: int = 0) -> int:
        """Delete batches that lie wholly below an offset and are older than `keep_ms`; returns their number.

        `below` is at most the offset of the newest snapshot: the store deletes nothing that no snapshot covers. Raises
        ClaimLostError, LogStoreError.
        """

    async def release(self, claim: Claim) -> None:
        """Give a claim up, so that another node may claim the partition at once. A claim that is lost is no error."""

    async def close(self) -> None:
        """Close the connections. Claims stay what they are."""
