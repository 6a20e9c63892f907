"""`SharedDocuments` on Kafka: a change is written in parts, and a last record in the topic of the nodes makes it count.

The parts are in a partition of their own (`EngineTopics.parts`), which no node follows, so that a large document delays
no renewal. A node that dies in the middle of a change leaves a draft; the next change deletes its parts. A part may be
there twice, because a request was repeated, and then the cleaner keeps the later one: parts are found by their keys.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final, TypeVar

from coordinator.engine.kafka.client import LATEST, BrokerError, KafkaClient
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.document_records import DOCUMENT, DRAFT, StoredChange, record_key
from coordinator.engine.kafka.log_reader import raw_batches
from coordinator.engine.kafka.topics import EngineTopics
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.documents.shared import StoredDocument, decode_text, encode_text
from coordinator.storage.log_store import LogStoreError
from protocol.errors import ProtocolError
from protocol.record_batch import build_batch, read_records

T = TypeVar("T")

PART_BYTES: Final = 512 << 10  # brokers refuse messages over 1 MB unless they are told otherwise
READ_BYTES: Final = 1 << 20


class KafkaDocuments:
    """`SharedDocuments` of one node."""

    def __init__(self, client: KafkaClient, topics: EngineTopics, cluster: ClusterTopic) -> None:
        self._client = client
        self._topics = topics
        self._cluster = cluster

    async def read(self, name: str, known: int = 0) -> StoredDocument | None:
        """Return the newest document; None if there is none, or if its revision is `known`."""
        return await self._as_store_error(self._read(name, known))

    async def _read(self, name: str, known: int) -> StoredDocument | None:
        change = await self._newest(name)
        while change is not None and change.revision != known:
            found = await self._read_parts(name, change)
            if len(found) == change.parts:
                text = await decode_text(name, [found[number] for number in range(change.parts)])
                return StoredDocument(change.revision, text)
            read, change = change, await self._newest(name)
            if change == read:
                raise LogStoreError(
                    f"parts of the document {name} are missing in the topic {self._topics.parts.topic}; check its "
                    "settings, and restore the users, access rules and quotas from a copy",
                    may_pass=False,
                )
        return None

    async def _newest(self, name: str) -> StoredChange | None:
        return (await self._cluster.catch_up()).documents.newest.get(name)

    async def _read_parts(self, name: str, change: StoredChange) -> dict[int, bytes]:
        """Return the parts of a change by their numbers, as far as they are there."""
        found: dict[int, bytes] = {}
        if not change.parts:
            return found
        prefix = _part_key(name, change, "")
        end_offset = await self._client.offset_at(self._topics.parts, LATEST)
        batches = raw_batches(self._client, self._topics.parts, change.first_offset, end_offset, READ_BYTES)
        async with aclosing(batches):  # type: ignore[type-var]
            async for batch, header in batches:
                for record in read_records(batch, 0, header):
                    if record.key is not None and record.value is not None and record.key.startswith(prefix):
                        found[int(record.key[len(prefix) :])] = record.value
                if len(found) == change.parts:
                    break
        return found

    async def replace(self, name: str, text: str, revision: int) -> bool:
        """Replace a revision, durably. False: another change came first."""
        data = await encode_text(name, text)
        return await self._as_store_error(self._replace(name, data, revision))

    async def _replace(self, name: str, data: bytes, revision: int) -> bool:
        if (await self._cluster.catch_up()).documents.revision(name) != revision:
            return False
        gaps = self._cluster.gaps
        change = StoredChange(uuid.uuid4().hex, revision + 1, -(-len(data) // PART_BYTES))
        await self._cluster.write(record_key(DRAFT, name, change), change.content)
        first_offset = await self._write_parts(name, change, data)
        counts = first_offset is not None and await self._publish(name, change._replace(first_offset=first_offset))
        if counts and self._cluster.gaps != gaps:
            # Records were compacted before this node has read them. They may have been of a change that came first.
            raise LogStoreError(
                f"whether the document {name} was changed is not known (this node has stood still for long); look at "
                "it, and change it again if that is needed"
            )
        with suppress(LogStoreError, BrokerError):  # the next change does it
            documents = self._cluster.state.documents
            await self._delete(name, documents.stale(name) if counts else [change])
        return counts

    async def _write_parts(self, name: str, change: StoredChange, data: bytes) -> int | None:
        """Write the parts of a change; returns the offset of the first one, None if another change came first."""
        first_offset = 0
        for number in range(change.parts):
            if self._cluster.state.documents.revision(name) >= change.revision:
                return None
            key = _part_key(name, change, str(number))
            part = data[number * PART_BYTES : (number + 1) * PART_BYTES]
            offset = await self._client.produce(self._topics.parts, build_batch([(key, part)], timestamp_ms=wall_ms()))
            if number == 0:
                first_offset = offset
        return first_offset

    async def _publish(self, name: str, change: StoredChange) -> bool:
        """Write the record that makes a change count; returns whether it was the first one for its revision."""
        awaited = self._cluster.state.documents.awaited
        awaited[change.identity] = None
        reason = "the topic was cut"
        try:
            await self._cluster.write(record_key(DOCUMENT, name, change), change.content)
        except LogStoreError as error:
            reason = str(error)
        finally:
            counts = awaited.pop(change.identity)
        if counts is None:
            raise LogStoreError(
                f"whether the document {name} was changed is not known ({reason}); look at it, and change it again if "
                "that is needed"
            )
        return counts

    async def _delete(self, name: str, changes: Sequence[StoredChange]) -> None:
        """Delete changes that cannot count: first their parts, then the records by which the parts are known."""
        parts = [_part_key(name, each, str(number)) for each in changes for number in range(each.parts)]
        if parts:
            batch = build_batch([(key, None) for key in parts], timestamp_ms=wall_ms())
            await self._client.produce(self._topics.parts, batch)
        if changes:
            await self._cluster.delete([record_key(kind, name, each) for each in changes for kind in (DRAFT, DOCUMENT)])

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` when a document has changed, also by this node."""
        self._cluster.documents_changed = changed

    async def close(self) -> None:
        """Call no watcher any more. The connections are closed with the store."""
        self._cluster.documents_changed = lambda: None

    async def _as_store_error(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except (BrokerError, ProtocolError) as error:
            raise LogStoreError(
                f"Kafka at {self._client.address} refused a request for the topic {self._topics.parts.topic}: {error}"
            ) from None


def _part_key(name: str, change: StoredChange, number: str) -> bytes:
    return f"{name}/{change.identity}/{number}".encode()
