"""The claims of this node: takes partitions, hands them over and gives them up, each partition in a task of its own.

At most one task works for a partition, and the next one begins when it has ended. Errors of the store or of the daemon
end a task, never the node: the partition is tried again after a pause that doubles.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Set
from typing import Any, Final

from coordinator.membership.counters import MembershipCounters
from coordinator.membership.partition_host import PartitionHost
from coordinator.storage.log_store import Claim, ClaimLostError, LogStore, LogStoreError

LOG: Final = logging.getLogger("coordinator.cluster")

MOST_TAKEN_AT_ONCE: Final = 4
FIRST_RETRY_S: Final = 0.2  # after a partition could not be taken; doubles up to LAST_RETRY_S
LAST_RETRY_S: Final = 10.0
LOST_RACE_S: Final = 0.05  # until a newer map shows which node was faster


class PartitionClaims:
    """Claims that this node holds, and the tasks that change them.

    `changed` is called when a task has ended.
    """

    def __init__(
        self,
        store: LogStore,
        host: PartitionHost,
        clock: Callable[[], float],
        counters: MembershipCounters,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._host = host
        self._clock = clock
        self._counters = counters
        self._changed = changed
        self._held: dict[int, Claim] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by partition
        self._taking: set[int] = set()
        self._retries: dict[int, tuple[float, float]] = {}  # pause and end of it, by partition that could not be taken

    @property
    def epochs(self) -> dict[int, int]:
        """Epochs of the claims that are held, by partition."""
        return {partition: claim.epoch for partition, claim in self._held.items()}

    @property
    def is_busy(self) -> bool:
        """True while a claim is being changed."""
        return bool(self._tasks)

    @property
    def failing(self) -> Set[int]:
        """Partitions that could not be taken at the last try."""
        return self._retries.keys()

    def take(self, free: Mapping[int, int]) -> None:
        """Claim and load free partitions, a few at a time. The values are the epochs of their last claims."""
        now_s = self._clock()
        for partition, seen_epoch in free.items():
            if len(self._taking) >= MOST_TAKEN_AT_ONCE:
                return
            _, until_s = self._retries.get(partition, (0.0, now_s))
            if partition not in self._tasks and until_s <= now_s:
                self._taking.add(partition)
                self._begin(partition, self._take(partition, seen_epoch))

    def release(self, left_over: Mapping[int, int]) -> None:
        """Release claims of this run, by their epochs, that are not held."""
        for partition, epoch in left_over.items():
            if partition not in self._tasks:
                self._begin(partition, self._release(Claim(partition, epoch, 0)))

    async def hand_over(self, partition: int, to: int) -> None:
        """Drain and release a partition, after the task that works for it. Nothing happens if it is lost meanwhile."""
        while (task := self._tasks.get(partition)) is not None:
            await asyncio.wait((task,))
        if partition in self._held:
            await asyncio.wait((self._begin(partition, self._hand_over(self._held[partition], to)),))

    def give_up(self, partitions: Iterable[int], reason: str) -> None:
        """Stop serving partitions at once. Their claims are lost already, or will be.

        A partition that the host cannot give up stays held, so that it is given up with the next map.
        """
        given_up = [partition for partition in partitions if partition in self._held and self._gave_up(partition)]
        if given_up:
            LOG.warning("partitions given up partitions=%s reason=%s", ",".join(map(str, given_up)), reason)

    def _gave_up(self, partition: int) -> bool:
        claim = self._held.pop(partition)
        if (task := self._tasks.get(partition)) is not None:
            task.cancel()
        try:
            self._host.give_up(partition)
        except Exception:  # a bug there must not keep the others served
            LOG.exception("partition=%d could not be given up, this is tried again; please report this", partition)
            self._held[partition] = claim
            return False
        self._counters.lost += 1
        return True

    def give_up_all(self, reason: str) -> None:
        """Stop serving all partitions, and all tasks."""
        self.give_up(sorted(self._held), reason)
        for task in self._tasks.values():
            task.cancel()

    def stop_taking(self) -> None:
        """Give up partitions that are being loaded."""
        taking = sorted(self._taking)
        self.give_up(taking, "the node stops")
        for partition in taking:
            self._tasks[partition].cancel()

    async def wait(self) -> None:
        """Wait for all tasks."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _begin(self, partition: int, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks[partition] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._ended(partition, task))
        return task

    def _ended(self, partition: int, task: asyncio.Task[None]) -> None:
        del self._tasks[partition]
        self._taking.discard(partition)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("partition=%d: a change of its claim failed", partition, exc_info=error)
        self._changed()

    async def _take(self, partition: int, seen_epoch: int) -> None:
        began_s = self._clock()
        try:
            claim = await self._store.claim(partition, seen_epoch)
        except ClaimLostError:
            self._retries[partition] = LOST_RACE_S, self._clock() + LOST_RACE_S
            return
        except Exception as error:
            self._retry_later(partition, "claimed", error)
            return
        self._held[partition] = claim
        self._counters.claims += 1
        try:
            await self._host.take(claim)
        except Exception as error:  # of any kind: a damaged batch, or a bug, must not stop the other partitions
            self._retry_later(partition, "loaded", error)
            self._held.pop(partition, None)
            await self._release(claim)
            return
        self._retries.pop(partition, None)
        ms = (self._clock() - began_s) * 1000
        LOG.info("partition claimed partition=%d epoch=%d ms=%d", partition, claim.epoch, ms)

    def _retry_later(self, partition: int, act: str, error: Exception) -> None:
        last_s, _ = self._retries.get(partition, (0.0, 0.0))
        pause_s = min(max(last_s * 2, FIRST_RETRY_S), LAST_RETRY_S)
        self._retries[partition] = pause_s, self._clock() + pause_s
        is_known = isinstance(error, LogStoreError)
        LOG.warning(
            "partition=%d could not be %s, the next try is in %.1f s: %s",
            partition, act, pause_s, error if is_known else repr(error), exc_info=None if is_known else error,
        )  # fmt: skip

    async def _hand_over(self, claim: Claim, to: int) -> None:
        partition, began_s = claim.partition, self._clock()
        try:
            await self._host.drain(partition)
        except Exception as error:  # its appends in flight are forgotten; the next owner reads what became durable
            LOG.error("partition=%d could not be drained", partition, exc_info=error)
            self._host.give_up(partition)
        self._held.pop(partition, None)
        await self._release(claim)
        self._counters.handed_over += 1
        ms = (self._clock() - began_s) * 1000
        LOG.info("partition handed over partition=%d to=%d ms=%d", partition, to, ms)

    async def _release(self, claim: Claim) -> None:
        try:
            await self._store.release(claim)
        except LogStoreError as error:
            LOG.warning("partition=%d could not be released, this is tried again: %s", claim.partition, error)
