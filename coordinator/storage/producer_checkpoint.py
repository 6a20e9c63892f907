"""Checkpoint of the state of producers and their transactions, so that a start reads less of the topic logs.

The batches themselves hold the sequence numbers, and markers end the transactions. `topic-producers.json` holds for
each partition the state of its producers and transactions at an offset. A start uses it only if the log reaches that
offset and the topic id is the same, and then reads only the batches behind the offset. Without a checkpoint it reads
all batches: losing one costs time only. So does one of a version that knew no transactions, which is not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.partition_transactions import PartitionTransactions
from coordinator.core.topics.transactional_batches import replay_batch

if TYPE_CHECKING:
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.topics import Topics
    from coordinator.storage.catalogue_store import CatalogueStore
    from coordinator.storage.log.log import Log
    from coordinator.storage.thread_pool import Executor

LOG: Final = logging.getLogger("coordinator.topics")

CHECKPOINT_BYTES: Final = 64 << 20  # appended bytes after which the state is written again
CHECKPOINT_S: Final = 30.0  # interval of that check


def replay_producers(partition: Partition, log: Log, checkpoint: Mapping[str, Any] | None, now_ms: int) -> None:
    """Restore producers and transactions from a partition's checkpoint entry, if valid, and the batches behind it.

    May run in another thread while the partition is not published yet. Raises the errors of reading a log.
    """
    from_offset = log.log_start_offset
    if checkpoint is not None and checkpoint.get("id") == partition.topic.topic_id.hex():
        offset = checkpoint.get("offset")
        if type(offset) is int and log.log_start_offset <= offset <= log.log_end_offset:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                transactions = PartitionTransactions.restored(checkpoint["transactions"], offset)
                partition.sequences.restore(checkpoint["producers"], now_ms)
                partition.transactions = transactions
                from_offset = offset
    if from_offset < log.log_end_offset:
        # The first batch may begin before the start of the log, but not before the offset of a checkpoint.
        first_offset = 0 if from_offset == log.log_start_offset else from_offset
        for header, batch in log.batches(from_offset):
            if header.base_offset >= first_offset:
                replay_batch(partition, header, batch, now_ms)
    if partition.transactions is not None:
        partition.transactions.durable_up_to(log.log_end_offset)
        partition.transactions.trimmed(log.log_start_offset)


class ProducerCheckpoint:
    """Checkpoint of one node, written regularly between `start` and `stop`; `save` writes it at once and blocks."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, store: CatalogueStore, topics: Topics, changer: Executor
    ) -> None:
        self._loop = loop
        self._store = store
        self._topics = topics
        self._changer = changer
        self._timer: asyncio.TimerHandle | None = None
        self._written_bytes = 0  # bytes produced up to the last write
        self._is_stopped = False

    def start(self) -> None:
        """Schedule the next check."""
        if not self._is_stopped:
            self._timer = self._loop.call_later(CHECKPOINT_S, self._look)

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def save(self) -> None:
        try:
            self._store.save_producers(self._content())
        except OSError as error:
            _warn(error)

    def _look(self) -> None:
        produced = self._topics.producing.bytes
        if produced - self._written_bytes < CHECKPOINT_BYTES:
            self.start()
            return
        self._written_bytes = produced
        self._changer.run(partial(self._store.save_producers, self._content()), self._saved)

    def _saved(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            _warn(error)
        self.start()

    def _content(self) -> dict[str, dict[str, Any]]:
        return {
            partition.directory: {
                "id": partition.topic.topic_id.hex(),
                "offset": partition.high_watermark,
                "producers": partition.producer_rows(),
                "transactions": partition.transaction_rows(),
            }
            for topic in self._topics.catalogue.topics.values()
            if not topic.is_internal
            for partition in topic.partitions
            if partition.high_watermark and not partition.is_offline
        }


def _warn(error: BaseException) -> None:
    LOG.warning("the producers' state was not written (%s): the next start reads more of the logs", error)
