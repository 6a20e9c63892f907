"""The way of fetched batches into the mirror and into the state.

One thread writes and decodes, so that the event loop can serve meanwhile. The state belongs to the event loop: it gets
commits and records in slices of a few milliseconds. `take` returns when all of that is done for its batches, and the
next request to a node is sent only then, so nothing piles up before the disk.

The order for the state: within one answer all commits, then all other records, each in log order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from coordinator.observe.decode import Decoded, Decoder, ObservedState
from coordinator.observe.fetching import FetchedPart
from coordinator.observe.mirror import Mirror, Taken
from coordinator.observe.progress import FollowProgress, PartitionProgress
from coordinator.processes.wall_clock import wall_ms

LOG: Final = logging.getLogger("coordinator.observe")

SLICE_S: Final = 0.01  # of the event loop, at once
SLICE_COMMITS: Final = 2_000
SLICE_RECORDS: Final = 50  # between two looks at the clock
SYNC_S: Final = 1.0
CHECKPOINT_S: Final = 60.0

T = TypeVar("T")


class Pipeline:
    """The mirror, the decoder and the state, with the thread that writes. Methods run on the event loop."""

    def __init__(self, mirror: Mirror, state: ObservedState, progress: FollowProgress) -> None:
        self.mirror = mirror
        self._state = state
        self._progress = progress
        self._decoder = Decoder()
        self._is_unflushed = False  # the last flush failed
        self._writer = ThreadPoolExecutor(1, "observe-writer")
        for partition in mirror.logs:
            self._of(partition)

    async def on_writer(self, act: Callable[[], T]) -> T:
        """Run `act` in the writer thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, act)

    def call_on_writer(self, act: Callable[[], Any]) -> Any:
        """Run `act` in the writer thread, and wait; for other threads than that of the event loop."""
        return self._writer.submit(act).result()

    def position(self, partition: int) -> int:
        """Return the offset to fetch next."""
        return self.mirror.next_offset(partition)

    async def replay(self) -> None:
        """Build the state from the mirror."""
        progress = self._progress
        progress.is_replaying = True
        try:
            slices = self.mirror.replay(self._decoder)
            while (decoded := await self.on_writer(lambda: next(slices, None))) is not None:
                progress.replayed_records += decoded.count
                await self._apply(decoded)
        finally:
            progress.is_replaying = False

    async def take(self, parts: Sequence[FetchedPart]) -> None:
        """Append an answer to the mirror, and give it to the state.

        OSError: the disk refused a part; it has been cut back, or will be by `repair`. ClusterProblem: bytes arrived
        damaged. LogRecreatedError as `Mirror.take`. What came before is kept; the rest is fetched again.
        """
        self._progress.heard_ms = wall_ms()
        if not any(part.data for part in parts):
            self._count(Taken(), parts)
            return
        taken, decoded = await self.on_writer(lambda: self._take(parts))
        await self._apply(decoded)
        self._count(taken, parts)
        if taken.error is not None:
            raise taken.error
        if taken.problem is not None:
            raise taken.problem

    def _take(self, parts: Sequence[FetchedPart]) -> tuple[Taken, Decoded]:
        taken = self.mirror.take(parts)
        return taken, self._decoder.decode(taken.to_decode)

    def _count(self, taken: Taken, parts: Sequence[FetchedPart]) -> None:
        """Note the new positions, and the high watermarks that belong to them."""
        progress = self._progress
        for each in parts:
            own = self._of(each.partition)
            own.high_watermark = each.high_watermark
            if own.start_high_watermark < 0:
                own.start_high_watermark = each.high_watermark
        for part in taken.parts:
            own = self._of(part.partition)
            own.next_offset = part.next_offset
            own.newest_ms = part.newest_ms
            progress.records += part.records
            progress.bytes += part.size_bytes
            progress.last_record_ms = max(progress.last_record_ms, part.newest_ms)
        self._note_caught_up()

    def _of(self, partition: int) -> PartitionProgress:
        own = self._progress.partitions.get(partition)
        if own is None:
            own = self._progress.partitions[partition] = PartitionProgress(self.mirror.next_offset(partition))
        return own

    async def _apply(self, decoded: Decoded) -> None:
        """Give the content to the state, in slices."""
        state = self._state
        self._progress.undecodable += decoded.undecodable
        until = time.perf_counter() + SLICE_S
        for first in range(0, len(decoded.groups), SLICE_COMMITS):
            some = slice(first, first + SLICE_COMMITS)
            state.commits(
                decoded.groups[some],
                decoded.topics[some],
                decoded.partitions[some],
                decoded.offsets[some],
                decoded.at_ms[some],
            )
            if time.perf_counter() > until:
                await asyncio.sleep(0)
                until = time.perf_counter() + SLICE_S
        for number, (_, at_ms, key, value) in enumerate(decoded.records):
            state.record(at_ms, key, value)
            if number % SLICE_RECORDS == 0 and time.perf_counter() > until:
                await asyncio.sleep(0)
                until = time.perf_counter() + SLICE_S

    def _note_caught_up(self) -> None:
        progress = self._progress
        if not progress.caught_up and all(
            0 <= each.start_high_watermark <= each.next_offset for each in progress.partitions.values()
        ):
            progress.caught_up = True
            self._state.caught_up()

    async def skip_to(self, partition: int, offset: int) -> None:
        """Leave a gap up to an offset."""
        await self.on_writer(lambda: self.mirror.skip_to(partition, offset))
        self._progress.gaps += 1
        self._of(partition).next_offset = offset

    async def repair(self) -> None:
        """Make the mirror writable again after a failed write. OSError: the disk still fails."""
        await self.on_writer(self.mirror.repair)
        for partition in self.mirror.logs:
            self._of(partition).next_offset = self.mirror.next_offset(partition)

    async def sync_forever(self) -> None:
        """Flush about once a second."""
        loop = asyncio.get_running_loop()
        checkpoint_at = loop.time() + CHECKPOINT_S
        while True:
            await asyncio.sleep(SYNC_S)
            try:
                await self.on_writer(self.mirror.sync)
                if loop.time() >= checkpoint_at:
                    checkpoint_at = loop.time() + CHECKPOINT_S
                    await self.on_writer(self.mirror.save_checkpoints)
                self._mended()
            except OSError as error:
                self._is_unflushed = True
                self.note(
                    f"the mirror in {self.mirror.path} cannot be flushed ({error.strerror or error}); trying again"
                )
                try:
                    await self.repair()
                except OSError:
                    continue

    def _mended(self) -> None:
        if self._is_unflushed:
            self._is_unflushed = False
            self._progress.clear_problem()

    def note(self, sentence: str) -> None:
        """Note a problem, and log it once."""
        if self._progress.note_problem(sentence, wall_ms()):
            LOG.warning("%s", sentence)

    async def close(self) -> None:
        """Flush and close the mirror."""
        try:
            await self.on_writer(self.mirror.close)
        except OSError as error:
            LOG.warning("the mirror could not be closed in order: %s; the next start checks its end", error)
        finally:
            self._writer.shutdown(wait=False)
