"""Follows and writes the records of nodes, owners and documents: partition 0 of the topic `<name>-nodes`.

One task reads the partition from its start and then waits for new records by long polls. A writer waits until it has
read its own record, so it knows all that came before it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from coordinator.engine.kafka.client import EARLIEST, LATEST, TROUBLE, BrokerError, KafkaClient, TopicPlace
from coordinator.engine.kafka.cluster_state import ClusterState, encode
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log_store import LogStoreError
from protocol.error_codes import ErrorCode
from protocol.record_batch import build_batch, iter_batches, read_records

LOG: Final = logging.getLogger("coordinator.cluster")

POLL_MS: Final = 500
ANSWER_S: Final = 2.0  # for a long poll, beyond its own time
FETCH_BYTES: Final = 4 << 20
RETRY_S: Final = 0.05


class ClusterTopic:
    """The records, and the state that they lead to.

    `position`: offset below which all were applied. `gaps`: how often records were missing, which a compaction removed.
    """

    def __init__(self, client: KafkaClient, place: TopicPlace, clock: Callable[[], float] = time.monotonic) -> None:
        self.state = ClusterState()
        self.position = 0
        self.gaps = 0
        self.clock = clock
        self.changed: Callable[[], None] = lambda: None  # called when the map of nodes and owners has changed
        self.documents_changed: Callable[[], None] = lambda: None  # called when a document has changed
        self._client = client
        self._place = place
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._last_error: Exception = TimeoutError()

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def write(self, key: str, content: Mapping[str, Any] | None) -> int:
        """Write a record, None for a deletion, and wait until it was read back; returns its offset.

        Raises LogStoreError; the record may be there then.
        """
        return await self._write([(key.encode(), None if content is None else encode(content))])

    async def delete(self, keys: Sequence[str]) -> None:
        """Write the deletion of records, and wait until it was read back. Raises LogStoreError."""
        await self._write([(key.encode(), None) for key in keys])

    async def _write(self, records: Sequence[tuple[bytes, bytes | None]]) -> int:
        batch = build_batch(records, timestamp_ms=wall_ms())
        try:
            offset = await self._client.produce(self._place, batch)
        except BrokerError as error:
            raise LogStoreError(f"the topic {self._place.topic} cannot be written: {error}") from None
        await self._reach(offset + len(records))
        return offset

    async def catch_up(self) -> ClusterState:
        """Read all records that are there now, and return the state. Raises LogStoreError."""
        try:
            end_offset = await self._client.offset_at(self._place, LATEST)
        except BrokerError as error:
            raise LogStoreError(f"the topic {self._place.topic} cannot be read: {error}") from None
        await self._reach(end_offset)
        return self.state

    async def _reach(self, offset: int) -> None:
        try:
            async with asyncio.timeout(self._client.timeout_s):
                while self.position < offset:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            raise self._client.too_late(self._last_error) from None

    async def _follow(self) -> None:
        while True:
            try:
                if self.position == 0:
                    self.position = await self._client.offset_at(self._place, EARLIEST)
                within_s = POLL_MS / 1000 + ANSWER_S
                data = await self._client.fetch(
                    self._place, self.position, FETCH_BYTES, wait_ms=POLL_MS, within_s=within_s
                )
                if self._apply(data.records or b""):
                    self.changed()
                if self.state.documents.has_changed:
                    self.state.documents.has_changed = False
                    self.documents_changed()
                if not data.records and data.high_watermark > self.position:  # the cleaner has removed the last records
                    self.position = data.high_watermark
                    self.gaps += 1
                self._moved.set()
            except (*TROUBLE, BrokerError, LogStoreError) as error:
                self._last_error = error
                if isinstance(error, BrokerError) and error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                    LOG.error("the topic %s was deleted or cut; it is read again from its start", self._place.topic)
                    self.state, self.position = ClusterState(), 0
                await asyncio.sleep(RETRY_S)
            except Exception as error:  # a bug, or a record of another program: without this task the node is blind
                self._last_error = error
                LOG.exception("the topic %s cannot be read at offset %d", self._place.topic, self.position)
                await asyncio.sleep(1.0)

    def _apply(self, data: bytes) -> bool:
        received_s = self.clock()
        changed = False
        for position, header in iter_batches(data):
            if header.last_offset < self.position:
                continue
            self.gaps += header.base_offset > self.position
            for record in read_records(data, position, header):
                if record.offset >= self.position and record.key is not None:
                    changed |= self.state.apply(record.offset, record.key, record.value, received_s)
            self.position = header.last_offset + 1
        return changed
