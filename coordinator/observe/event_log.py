"""The events that an observer derives, kept beside the mirror in the form of the topic `__group_events`.

So history, extraction and a page at a past moment find them as they find a daemon's own. An event is written about a
second after it was derived; those of a crash's last second are missing in the past, not in the live state, which comes
from the mirror. What the mirror gives at a start is not written again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from coordinator.core.events.model import AnyEvent, Incident, encode
from coordinator.core.events.recorder import FlightRecorder
from coordinator.core.shard import partition_for
from coordinator.core.topics.names import EVENTS_TOPIC, partition_directory
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.event_tail import LogTail, read_events
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch

LOG: Final = logging.getLogger("coordinator.observe")

SEGMENT_BYTES: Final = 4 << 20
SEGMENT_MS: Final = 86_400_000
MOST_SEGMENTS: Final = 16  # of one partition; older ones are removed
MOST_QUEUED: Final = 10_000
WRITE_S: Final = 1.0
RESTORED: Final = 50_000


class ObservedEvents:
    """The events on disk. `publish` and `run` belong to the event loop; files are touched in one other thread."""

    def __init__(
        self, data_dir: Path, fs: FileSystem, partitions: Callable[[], int], is_replaying: Callable[[], bool]
    ) -> None:
        self._data_dir = data_dir
        self._fs = fs
        self._partitions = partitions  # of the observed topic; 0 until it is known
        self._is_replaying = is_replaying
        self._logs: dict[int, Log] = {}
        self._queued: list[AnyEvent] = []
        self.dropped = 0

    def publish(self, event: AnyEvent) -> None:
        """Have an event written within a second."""
        if self._is_replaying():
            return
        if len(self._queued) >= MOST_QUEUED:
            self.dropped += 1
            return
        self._queued.append(event)

    async def run(self) -> None:
        """Write what was published, until cancelled."""
        while True:
            await asyncio.sleep(WRITE_S)
            await self.write()

    async def write(self) -> None:
        """Write what was published. What the disk refuses is written with the next call."""
        if not self._queued or not self._partitions():
            return
        taken, self._queued = self._queued, []
        left = await asyncio.to_thread(self._write, taken)
        self._queued[:0] = left

    async def restore(self, recorder: FlightRecorder) -> None:
        """Give the newest events of earlier runs to a recorder, but for those that it has from the mirror."""
        tail = await asyncio.to_thread(self._tail)
        for sentence in tail.failed:
            LOG.warning("events of an earlier run cannot be read: %s", sentence)
        oldest = {group: record.events[0].at_ms for group, record in recorder.groups.items() if record.events}
        now_ms = wall_ms()
        recorder.restore([event for event in tail.events if event.at_ms < oldest.get(event.group, now_ms)])

    async def close(self) -> None:
        """Write what is left, and close the files."""
        await self.write()
        await asyncio.to_thread(self._close)

    # -- in the other thread -------------------------------------------------------------------------------------

    def _write(self, events: list[AnyEvent]) -> list[AnyEvent]:
        """Write events; returns those that could not be written."""
        by_partition: dict[int, list[AnyEvent]] = {}
        for event in events:
            by_partition.setdefault(partition_for(event.group, self._partitions()), []).append(event)
        left: list[AnyEvent] = []
        for partition, some in by_partition.items():
            try:
                self._append(self._log(partition), some)
            except (OSError, LogError) as error:
                LOG.warning("events of groups cannot be written (%s); trying again", error)
                if (log := self._logs.pop(partition, None)) is not None:
                    log.abandon()  # it is checked and cut when it is opened again
                left += some
        return left

    def _append(self, log: Log, events: list[AnyEvent]) -> None:
        records = [(event.group.encode(), encode(event)) for event in events]
        newest_ms = max(_written_ms(event) for event in events)
        batch = build_batch(records, base_offset=log.log_end_offset, timestamp_ms=newest_ms)
        log.append(batch, log.log_end_offset + len(records) - 1, newest_ms)
        log.flush()
        log.high_watermark = log.log_end_offset
        if len(log.segments) > MOST_SEGMENTS:
            log.delete_up_to(log.segments[-MOST_SEGMENTS].base_offset)

    def _tail(self) -> LogTail:
        directories = [partition_directory(EVENTS_TOPIC, number) for number in range(self._partitions())]
        there = [number for number, name in enumerate(directories) if self._fs.is_dir(self._data_dir / name)]
        logs = [self._log(number) for number in there]
        return read_events([(log, log.log_end_offset) for log in logs], RESTORED)

    def _log(self, partition: int) -> Log:
        log = self._logs.get(partition)
        if log is None:
            directory = self._data_dir / partition_directory(EVENTS_TOPIC, partition)
            log = self._logs[partition] = Log.open(directory, LogConfig(SEGMENT_BYTES, SEGMENT_MS), self._fs)
        return log

    def _close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs.clear()


def _written_ms(event: AnyEvent) -> int:
    return (event.last_ms or event.at_ms) if isinstance(event, Incident) else event.at_ms
