"""`LogStore` on Kafka: partition p of the topic of the offsets log, with a transactional id for each partition.

A claim takes the next epoch of the transactional id and appends a claim record under it. Its offset is where the former
claim ends: from then on the broker refuses the former epoch. The epoch of a claim is the offset behind its record.
Batches are appended under the same producer and outside of transactions. If the broker does not know the former
producer any more (its state expires, and ids are replaced), offsets decide: see `log_reader`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from coordinator.core.live_cluster import NO_NODE
from coordinator.engine.kafka.batches import ClaimRecord, claim_batch, read_claim
from coordinator.engine.kafka.client import EARLIEST, LATEST, BrokerError, KafkaClient, ProducerIdentity, TopicPlace
from coordinator.engine.kafka.cluster_state import Owner, owner_key
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.log_reader import LogReader, raw_batches
from coordinator.engine.kafka.row_append import FENCED, ClaimedPartition, RowAppend, RowAppender
from coordinator.engine.kafka.snapshots import SnapshotTopic
from coordinator.engine.kafka.topics import EngineTopics
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStoreError,
    StoredExtent,
    StoredSnapshot,
)
from protocol.errors import ProtocolError
from protocol.record_batch import BatchHeader, read_header

T = TypeVar("T")

SCAN_BYTES: Final = 8 << 20


class KafkaLogStore:
    """`LogStore` of one node. `incarnation` is set when the node is announced."""

    concurrent_appends = 4
    deletes_below_snapshots = True

    def __init__(
        self,
        client: KafkaClient,
        topics: EngineTopics,
        cluster: ClusterTopic,
        node_id: int,
    ) -> None:
        self.name = f"kafka {client.address}/{topics.offsets}"
        self.incarnation = ""
        self._client = client
        self._topics = topics
        self._cluster = cluster
        self._node_id = node_id
        self._snapshots = SnapshotTopic(client, topics, cluster)
        self._appender = RowAppender(client, self._was_kept)
        self._claimed: dict[int, ClaimedPartition] = {}

    # -- claims --------------------------------------------------------------------------------------------------

    async def claim(self, partition: int, seen_epoch: int) -> Claim:
        """Claim a partition as `LogStore.claim` says.

        The epoch of the producer tells whether another node has begun a claim since the one that was seen. Only then
        the log behind that claim is searched for a claim record whose owner record was not written.
        """
        return await self._as_store_error(self._claim(partition, seen_epoch))

    async def _claim(self, partition: int, seen_epoch: int) -> Claim:
        seen = await self._check_free(partition, seen_epoch)
        place = self._topics.log(partition)
        producer = await self._client.init_producer(f"{self._topics.offsets}-{partition}")
        is_next = seen is not None and producer == (seen.producer.id, seen.producer.epoch + 1)
        searched = seen_epoch
        if not is_next:
            searched = await self._client.offset_at(place, LATEST)
            await self._check_no_claim(partition, seen, seen_epoch, searched)
        try:
            record = claim_batch(producer, ClaimRecord(self._node_id, self.incarnation), wall_ms())
            offset = await self._client.produce(place, record)
        except BrokerError as error:
            if error.code in FENCED:
                raise _lost(partition) from None
            raise
        if not is_next:  # two nodes may have found nothing: the first claim record decides
            await self._check_no_claim(partition, seen, searched, offset)
        end_offset = await self._end_before(partition, seen, offset)
        owner = Owner(offset + 1, self._node_id, self.incarnation, end_offset, producer)
        await self._tell_owner(partition, owner)
        claim = Claim(partition, owner.epoch, end_offset)
        self._claimed[partition] = ClaimedPartition(
            claim, producer, offset, end_offset, offset + 1 - end_offset, is_empty=not end_offset
        )
        if seen is not None:
            await self._cluster.write(owner_key(partition, seen.epoch), None)
        return claim

    async def _check_no_claim(self, partition: int, seen: Owner | None, from_offset: int, end_offset: int) -> None:
        """Raise ClaimLostError if there is a claim record, after its owner was told. Offsets are those of the topic."""
        place = self._topics.log(partition)
        found: tuple[BatchHeader, ClaimRecord] | None = None
        start_offset = max(from_offset, await self._client.offset_at(place, EARLIEST))
        async for batch, header in raw_batches(self._client, place, start_offset, end_offset, SCAN_BYTES):
            if (record := read_claim(batch, header)) is not None:
                found = header, record
        if found is not None:
            header, record = found
            claimed_at = header.base_offset
            end = await self._end_before(partition, seen, claimed_at)
            producer = ProducerIdentity(header.producer_id, header.producer_epoch)
            await self._tell_owner(partition, Owner(claimed_at + 1, *record, end, producer))
            raise _lost(partition)

    async def _end_before(self, partition: int, seen: Owner | None, claimed_at: int) -> int:
        """Return the end of the log at a claim record. `seen`: an earlier claim."""
        snapshot = self._cluster.state.snapshots.get(partition)
        known_at, known_end = (seen.epoch - 1, seen.end_offset) if seen is not None else (-1, 0)
        if snapshot is not None:  # all batches may have been deleted since
            known_end = max(known_end, snapshot.next_offset)
        reader = await LogReader.open(self._client, self._topics.log(partition))
        return await reader.end_before(claimed_at, known_at, known_end)

    async def _check_free(self, partition: int, seen_epoch: int) -> Owner | None:
        """Return the last claim of a partition. Raises ClaimLostError unless this node may claim it after that."""
        state = await self._cluster.catch_up()
        view = state.map(heard_after_s=0.0)
        me = view.nodes.get(self._node_id)
        if me is None or me.incarnation != self.incarnation or not me.may_own:
            raise ClaimLostError(f"node {self._node_id} has no entry in the store; announce it again")
        owner = state.owners.get(partition)
        if (owner.epoch if owner is not None else 0) != seen_epoch or view.owner(partition) is not None:
            raise _lost(partition)
        return owner

    async def _tell_owner(self, partition: int, owner: Owner) -> None:
        content = owner._asdict()
        del content["epoch"]  # part of the key
        await self._cluster.write(owner_key(partition, owner.epoch), content)

    async def release(self, claim: Claim) -> None:
        """Give a claim up as `LogStore.release` says."""
        claimed = self._claimed.get(claim.partition)
        if claimed is not None and claimed.claim == claim:
            claimed.unknown = None  # it is of no use any more
        owner = (await self._cluster.catch_up()).owners.get(claim.partition)
        if owner is not None and owner.epoch == claim.epoch and owner.node != NO_NODE:
            await self._tell_owner(claim.partition, owner._replace(node=NO_NODE, incarnation=""))

    # -- appends -------------------------------------------------------------------------------------------------

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        """Append batches as `LogStore.append` says."""
        prepared = [self._prepare(claim, entries) for claim, entries in rows]
        await self._appender.run([row for row in prepared if isinstance(row, RowAppend)])
        return [_outcome(row) if isinstance(row, RowAppend) else row for row in prepared]

    def _prepare(self, claim: Claim, entries: Sequence[Entry]) -> RowAppend | AppendOutcome:
        claimed = self._valid(claim)
        if claimed is None:
            return AppendFenced()
        base_offset = read_header(entries[0].batch).base_offset
        if claimed.is_empty:
            claimed.shift -= base_offset - claimed.end_offset
            claimed.end_offset = base_offset
        if base_offset != claimed.end_offset and not claimed.is_fenced:
            return AppendFailed(LogStoreError(f"offset {claimed.end_offset} is due, not {base_offset}"))
        return self._row(claimed, entries, is_new=True)

    def _valid(self, claim: Claim) -> ClaimedPartition | None:
        claimed = self._claimed.get(claim.partition)
        return claimed if claimed is not None and claimed.claim == claim and not claimed.is_broken else None

    def _row(self, claimed: ClaimedPartition, entries: Sequence[Entry], *, is_new: bool) -> RowAppend:
        place = self._topics.log(claimed.claim.partition)
        return RowAppend(place, claimed, entries, self._topics.max_batch_bytes, is_new=is_new)

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Send the batches again with the same sequence numbers: the broker keeps them once."""
        claimed = self._valid(claim)
        if claimed is not None:
            row = self._unknown_row(claimed, entries)
            await self._appender.run([row])
            return _outcome(row)
        try:
            is_there = await self._was_kept(self._topics.log(claim.partition), entries)
        except (BrokerError, LogStoreError, ProtocolError) as error:
            return AppendUnknown(error)
        return AppendDurable(entries[-1].last_offset + 1) if is_there else AppendFenced()

    def _unknown_row(self, claimed: ClaimedPartition, entries: Sequence[Entry]) -> RowAppend:
        row = claimed.unknown
        if row is not None and row.entries is entries:
            return row.again()
        return self._row(claimed, entries, is_new=False)

    async def _was_kept(self, place: TopicPlace, entries: Sequence[Entry]) -> bool:
        wanted = b"".join(bytes(entry.batch) for entry in entries)
        found = b""
        reader = await LogReader.open(self._client, place)
        async for chunk in reader.chunks(read_header(entries[0].batch).base_offset, SCAN_BYTES):
            found += chunk
            if len(found) >= len(wanted):
                break
        return found[: len(wanted)] == wanted

    # -- reading, snapshots, deletion ----------------------------------------------------------------------------

    async def extents(self, partitions: Iterable[int]) -> Mapping[int, StoredExtent]:
        """Return the extents of partitions. Raises LogStoreError."""
        return await self._as_store_error(self._extents(partitions))

    async def _extents(self, partitions: Iterable[int]) -> dict[int, StoredExtent]:
        snapshots = (await self._cluster.catch_up()).snapshots
        found = {}
        for partition in partitions:
            snapshot = snapshots.get(partition)
            covered = snapshot.next_offset if snapshot is not None else 0
            reader = await LogReader.open(self._client, self._topics.log(partition))
            end = await reader.end_before(reader.end_offset, -1, covered)
            start = await reader.first_offset()
            found[partition] = StoredExtent(end if start is None else start, end, covered)
        return found

    async def batches(
        self, partition: int, from_offset: int, chunk_bytes: int = 8 << 20, *, joined: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield batches as `LogStore.batches` does."""
        try:
            reader = await LogReader.open(self._client, self._topics.log(partition))
            async for chunk in reader.chunks(from_offset, chunk_bytes, joined=joined):
                yield chunk
        except (BrokerError, ProtocolError) as error:
            raise LogStoreError(f"{self.name} partition {partition} cannot be read: {error}") from None

    async def load_snapshot(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot of a partition; None if there is none. Raises LogStoreError."""
        return await self._as_store_error(self._snapshots.load(partition))

    async def save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        """Keep a snapshot as `LogStore.save_snapshot` says."""
        await self._as_store_error(self._save_snapshot(claim, next_offset, pieces))

    async def _save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        await self._check_newest(claim)
        place = await self._snapshots.write(claim, next_offset, pieces)
        await self._check_newest(claim)
        await self._snapshots.publish(claim.partition, place)

    async def trim(self, claim: Claim, below: int, keep_ms: int = 0) -> int:
        """Delete batches as `LogStore.trim` says. They are read once for that."""
        return await self._as_store_error(self._trim(claim, below, keep_ms))

    async def _trim(self, claim: Claim, below: int, keep_ms: int) -> int:
        await self._check_newest(claim)
        snapshot = self._cluster.state.snapshots.get(claim.partition)
        below = min(below, snapshot.next_offset if snapshot is not None else 0)
        place = self._topics.log(claim.partition)
        reader = await LogReader.open(self._client, place)
        newest_ms = wall_ms() - keep_ms
        count, cut = 0, reader.start_offset
        async for counted in reader.rows(0, SCAN_BYTES):
            ends = [end for end in counted.piece.ends(counted.header) if end + counted.shift > reader.start_offset]
            old = [end for end in ends if end <= below and counted.piece.appended_ms <= newest_ms]
            if old:
                count, cut = count + len(old), old[-1] + counted.shift
            if len(old) < len(ends):
                break
        if count:
            await self._client.delete_records(place, cut)
        return count

    async def _check_newest(self, claim: Claim) -> None:
        owner = (await self._cluster.catch_up()).owners.get(claim.partition)
        if owner is None or owner.epoch != claim.epoch:
            raise _lost(claim.partition)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _as_store_error(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except (BrokerError, ProtocolError) as error:
            raise LogStoreError(f"{self.name} refused a request: {error}") from None


def _outcome(row: RowAppend) -> AppendOutcome:
    assert row.outcome is not None
    return row.outcome


def _lost(partition: int) -> ClaimLostError:
    return ClaimLostError(f"partition {partition} has another owner or epoch; look at the newest map")
