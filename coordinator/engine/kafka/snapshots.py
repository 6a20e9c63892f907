"""Snapshots in the topic `<name>-snapshots`: pieces of a limited size, one after the other.

The record that names the place of a snapshot is in the topic of the nodes and is written last. Of several snapshots the
one with the highest offset counts, also one of a former claim: it was made of durable batches. Then the older pieces
are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.engine.kafka.client import KafkaClient
from coordinator.engine.kafka.cluster_state import SnapshotPlace, snapshot_key
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.log_reader import raw_batches
from coordinator.engine.kafka.topics import EngineTopics
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log_store import Claim, LogStoreError, StoredSnapshot
from protocol.record_batch import build_batch, read_records

PIECE_BYTES: Final = 900_000
READ_BYTES: Final = 8 << 20


class SnapshotTopic:
    """The snapshots of all partitions. Methods raise BrokerError and LogStoreError."""

    def __init__(self, client: KafkaClient, topics: EngineTopics, cluster: ClusterTopic) -> None:
        self._client = client
        self._topics = topics
        self._cluster = cluster

    async def load(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot of a partition."""
        while (place := (await self._cluster.catch_up()).snapshots.get(partition)) is not None:
            topic = self._topics.snapshots(partition)
            found: dict[int, bytes] = {}
            async for batch, header in raw_batches(
                self._client, topic, place.first_offset, place.end_offset, READ_BYTES
            ):
                for record in read_records(batch, 0, header):
                    epoch, next_offset, number = map(int, (record.key or b"0/0/0").split(b"/"))
                    if (epoch, next_offset) == (place.epoch, place.next_offset):
                        found[number] = record.value or b""
            if len(found) == place.pieces:
                return StoredSnapshot(place.next_offset, b"".join(found[number] for number in range(place.pieces)))
            if (await self._cluster.catch_up()).snapshots.get(partition) == place:
                raise LogStoreError(
                    f"pieces of the snapshot of partition {partition} are missing in the topic {topic.topic}; "
                    "check its retention",
                    may_pass=False,
                )
        return None

    async def write(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> SnapshotPlace:
        """Write the pieces of a snapshot, which does not count yet."""
        offsets = []
        for number, piece in enumerate(_divided(pieces)):
            key = b"%d/%d/%d" % (claim.epoch, next_offset, number)
            batch = build_batch([(key, piece)], timestamp_ms=wall_ms())
            offsets.append(await self._client.produce(self._topics.snapshots(claim.partition), batch))
        return SnapshotPlace(next_offset, claim.epoch, offsets[0], offsets[-1] + 1, len(offsets))

    async def publish(self, partition: int, place: SnapshotPlace) -> None:
        """Let a snapshot count, and delete what is older."""
        before = self._cluster.state.snapshots.get(partition)
        content = place._asdict()
        del content["epoch"]  # part of the key
        await self._cluster.write(snapshot_key(partition, place.epoch), content)
        if self._cluster.state.snapshots[partition] != place:
            return  # another one is newer
        if before is not None and before.epoch != place.epoch:
            await self._cluster.write(snapshot_key(partition, before.epoch), None)
        await self._client.delete_records(self._topics.snapshots(partition), place.first_offset)


def _divided(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in pieces of PIECE_BYTES; at least one."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) > PIECE_BYTES:
            yield bytes(buffer[:PIECE_BYTES])
            del buffer[:PIECE_BYTES]
    yield bytes(buffer)
