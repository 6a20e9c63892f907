"""The numbered records that an application consumes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from coordinator.testing.errors import CoordinatorTestingError
from coordinator.torture.aborted import append_aborted

if TYPE_CHECKING:
    from coordinator.testing.host import ServerHost
    from coordinator.testing.verbs import Verbs
    from coordinator.torture.watch import TopicPartition

TOPIC: Final = "torture-input"
ABORTED: Final = "aborted-"  # how the values of an aborted transaction begin
ABORTED_IN_EACH: Final = 3
TRICKLE_S: Final = 0.1  # between records that arrive all the time


class InputRecords:
    """The records that were given to the topic, partition by partition. No value is given twice."""

    def __init__(self, verbs: Verbs, partitions: int) -> None:
        self._verbs = verbs
        self._produced = 0
        self.ends: dict[TopicPartition, int] = dict.fromkeys(((TOPIC, number) for number in range(partitions)), 0)

    @property
    def total(self) -> int:
        """The number of records."""
        return sum(self.ends.values())

    async def produce(self, count: int) -> None:
        """Append records to each partition."""
        for topic, partition in self.ends:
            with contextlib.suppress(CoordinatorTestingError):  # while the server is down
                values = [str(self._produced + number) for number in range(count)]
                self._produced += count  # also if it fails: no number is given twice
                await self._verbs.produce(topic, values, partition=partition)
                self.ends[topic, partition] += count

    async def produce_aborted(self, host: ServerHost) -> None:
        """Append records of a transaction to each partition, and abort it."""
        values = [f"{ABORTED}{number}" for number in range(ABORTED_IN_EACH)]
        await append_aborted(host, self.ends, values)
        for where in self.ends:
            self.ends[where] += len(values) + 1  # and the marker

    @contextlib.asynccontextmanager
    async def trickling(self) -> AsyncIterator[None]:
        """Append a record to each partition again and again."""
        trickle = asyncio.create_task(self._trickle())
        try:
            yield
        finally:
            trickle.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await trickle

    async def _trickle(self) -> None:
        while True:
            await asyncio.sleep(TRICKLE_S)
            await self.produce(1)
