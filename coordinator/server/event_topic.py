"""Writes the events of groups to their topic, and reads the newest ones back after a start.

An event is queued where it is recorded. In the next round of the loop the queued events of each partition become one
record batch, which takes the path of a Produce request; while it is being written, later events wait for the next
batch. Nothing waits for the outcome. What cannot be written is dropped, counted, and named in a log line; the events in
memory are not affected. While there is no topic (the controller creates it) events wait in the queue, which holds
group.events.max.queued of them.

Reading begins when the node is ready, in a thread, and ends below the first event of this run.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.effects import Ticket
from coordinator.core.events.model import AnyEvent, Incident, encode
from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.server.line_limit import RARE
from coordinator.storage.event_tail import read_events
from protocol.error_codes import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from protocol.record_batch import build_batch

if TYPE_CHECKING:
    import asyncio

    from coordinator.core.topics.partition import Partition
    from coordinator.server.runtime import Runtime
    from coordinator.storage.event_tail import LogTail
    from coordinator.storage.log.log import Log

LOG: Final = logging.getLogger("coordinator.events")

BATCH_EVENTS: Final = 200
BATCH_BYTES: Final = 256 << 10
RECORD_OVERHEAD: Final = 40  # bytes of a record beside its key and value, at most
BATCH_OVERHEAD: Final = 61
CREATE_AGAIN_MS: Final = 60_000
RESTORED_AT_ONCE: Final = 200  # events taken over in one step


class _Entry(NamedTuple):
    """An event that waits to be written."""

    key: bytes
    value: bytes
    at_ms: int


class _Write:
    """A batch that is being written: the session of its request, as a connection is for a client's."""

    __slots__ = ("_events", "_number", "_topic")

    def __init__(self, topic: EventTopic, number: int, events: int) -> None:
        self._topic = topic
        self._number = number
        self._events = events

    def answer(self, ticket: Ticket, response: ProduceResponse) -> None:
        error = ErrorCode(response.responses[0].partition_responses[0].error_code)
        self._topic.written(self._number, self._events, error)


class EventTopic:
    """The topic of events of one node. All methods belong to the loop thread."""

    def __init__(self, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        self.appended = 0  # events, since the start
        self.dropped = 0
        self.restored = 0
        self._runtime = runtime
        self._loop = loop
        self._is_on = runtime.config.group_events_topic_enable
        self._queues: dict[int, deque[_Entry]] = {}  # by partition of the offsets log
        self._most_queued = runtime.config.group_events_max_queued
        self._queued = 0  # in the queues, and being written
        self._in_flight: set[int] = set()
        self._is_scheduled = False
        self._is_preparing = False
        self._prepare_from_ms = -1  # -1: not before the node is ready
        self._ends: list[tuple[Log, int]] = []  # the local logs, with the ends that they had at the start

    # -- start ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Note where the events of earlier runs end. Nothing is written before."""
        for partition in self._local():
            log = self._runtime.topic_logs.log(partition)
            if log is not None:
                self._ends.append((log, partition.high_watermark))

    def ready(self) -> None:
        """Have the topic created if it is missing, and read the events of earlier runs."""
        self._prepare_from_ms = 0
        self._prepare()
        self._schedule()
        if self._ends:
            reading = self._loop.run_in_executor(None, read_events, self._ends, self._runtime.config.group_max_events)
            reading.add_done_callback(self._read)
            self._ends = []

    def _read(self, reading: asyncio.Future[LogTail]) -> None:
        if reading.cancelled():
            return
        if (error := reading.exception()) is not None:
            LOG.error("the events of earlier runs were not read error=%r; please report this", error)
            return
        tail = reading.result()
        if tail.failed:
            LOG.warning(
                "events of earlier runs are missing, as these logs could not be read: %s", "; ".join(tail.failed)
            )
        if tail.skipped:
            LOG.warning(
                "%d records of topic %s are damaged or no events; they were skipped", tail.skipped, EVENTS_TOPIC
            )
        self._runtime.time_slices.add(self._restore(tail.events))

    def _restore(self, events: list[AnyEvent]) -> Iterator[None]:
        recorder = self._runtime.core.recorder
        for end in range(len(events), 0, -RESTORED_AT_ONCE):
            recorder.restore(events[max(end - RESTORED_AT_ONCE, 0) : end])
            yield
        self.restored = len(events)

    def _prepare(self) -> None:
        """Create the topic, or bring its settings up to date, on the controller; at most once in CREATE_AGAIN_MS."""
        now_ms = self._runtime.now_ms()
        may_try = self._is_on and self._runtime.cluster.is_controller and not self._is_preparing
        if may_try and 0 <= self._prepare_from_ms <= now_ms:
            self._is_preparing = True
            self._prepare_from_ms = now_ms + CREATE_AGAIN_MS
            self._runtime.on_topic_effects(self._runtime.topics.prepare_events_topic(self._prepared, now_ms))

    def _prepared(self) -> None:
        self._is_preparing = False
        self._schedule()

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, event: AnyEvent) -> None:
        """Queue an event."""
        if not self._is_on:
            return
        if self._queued >= self._most_queued:
            self._drop(1, f"group.events.max.queued={self._most_queued} wait already")
            return
        at_ms = max(event.at_ms, event.last_ms) if isinstance(event, Incident) else event.at_ms
        entry = _Entry(event.group.encode(), encode(event), at_ms)
        number = self._runtime.core.partition_for(event.group)
        self._queues.setdefault(number, deque()).append(entry)
        self._queued += 1
        self._schedule()

    def finish(self) -> None:
        """Hand all queued events over to the disk, at the end of the process."""
        while self._queued and self._queues and self._partition_for(0) is not None:
            self._in_flight.clear()
            self._write_batches()

    def written(self, number: int, events: int, error: ErrorCode) -> None:
        """Take the outcome of a batch."""
        self._queued -= events
        self._in_flight.discard(number)
        if error is ErrorCode.NONE:
            self.appended += events
        else:
            self._drop(events, error.message or error.name)
        if self._queues:
            self._schedule()

    def _drop(self, events: int, reason: str) -> None:
        self.dropped += events
        LOG.warning(
            "events of groups were not written to topic %s: %s; groups are not affected, events stay in memory, and "
            "writing goes on when it is possible again (coordinator_group_events_dropped_total counts)",
            EVENTS_TOPIC, reason, extra=RARE,
        )  # fmt: skip

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        if not self._queues:
            return
        if self._partition_for(0) is None:
            self._prepare()
        else:
            self._write_batches()
        self._runtime.end_of_event()

    def _write_batches(self) -> None:
        for number in [number for number in self._queues if number not in self._in_flight]:
            partition = self._partition_for(number)
            if partition is not None:
                self._in_flight.add(number)
                self._write(number, partition, self._take(number, partition.topic.settings.max_message_bytes))

    def _take(self, number: int, max_bytes: int) -> list[_Entry]:
        """Take the events of the next batch from the queue of a partition: at least one."""
        queue = self._queues[number]
        entries = [queue.popleft()]
        room = min(BATCH_BYTES, max_bytes) - BATCH_OVERHEAD - _size(entries[0])
        while queue and len(entries) < BATCH_EVENTS and (room := room - _size(queue[0])) >= 0:
            entries.append(queue.popleft())
        if not queue:
            del self._queues[number]
        return entries

    def _write(self, number: int, partition: Partition, entries: list[_Entry]) -> None:
        first_ms = min(entry.at_ms for entry in entries)
        batch = build_batch(
            [(entry.key, entry.value) for entry in entries],
            timestamp_ms=first_ms,
            later_ms=[entry.at_ms - first_ms for entry in entries],
        )
        data = PartitionProduceData(index=partition.index, records=bytes(batch))
        request = ProduceRequest(
            acks=-1, timeout_ms=0, topic_data=[TopicProduceData(name=EVENTS_TOPIC, partition_data=[data])]
        )
        runtime = self._runtime
        ticket = Ticket(_Write(self, number, len(entries)))
        runtime.execute_topics(runtime.topics.produce_events(request, ticket, runtime.now_ms()))

    def _local(self) -> list[Partition]:
        topic = self._runtime.topics.catalogue.topics.get(EVENTS_TOPIC)
        return [] if topic is None else [partition for partition in topic.partitions if partition.is_local]

    def _partition_for(self, number: int) -> Partition | None:
        """Return the partition for events of groups in this partition of the offsets log.

        It is another local one if that is elsewhere, as for a group with a long name, which events shorten.
        """
        partition = self._runtime.topics.catalogue.partition(EVENTS_TOPIC, number)
        if partition is not None and partition.is_local:
            return partition
        return next(iter(self._local()), None)


def _size(entry: _Entry) -> int:
    return len(entry.key) + len(entry.value) + RECORD_OVERHEAD
