"""Executes the effects of the embedded topics: appends, reads and changes of the catalogue, and reports the outcomes.

The event loop's thread only hands work over. Appends go to a separate flusher, whose policy (`topic.flush.policy`)
decides what a Produce response guarantees. Work that must not run beside appends to the same log (deleting records,
retention, closing) runs in the flusher's writer thread. Reads that memory could not serve run in a small pool, and one
more thread changes the catalogue, so that neither waits for the other.

Each outcome is an event: a method of `Topics` turns it into effects, and `on_effects` (the runtime) executes them, in
the end by calling `execute` here. If a log is unusable its partition is offline: clients are told that it has no
leader, and all other partitions are served.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.values import parse_topics
from coordinator.core.clock import Clock
from coordinator.core.cluster import Cluster
from coordinator.core.topics.effects import (
    NOTHING,
    ChangeCatalogue,
    Changed,
    DiskSpace,
    EnforceRetention,
    Job,
    Lookup,
    MeasureDisk,
    Opened,
    Read,
    ReadFailure,
    ReserveProducerIds,
    TopicAppend,
    TopicEffects,
    TrimLog,
)
from coordinator.core.topics.names import partition_directory
from coordinator.core.topics.topics import Topics
from coordinator.storage.catalogue_store import CatalogueStore
from coordinator.storage.log.errors import CorruptLogError, LogError
from coordinator.storage.log.flusher import Flusher
from coordinator.storage.machine import THIS_MACHINE, Machine
from coordinator.storage.producer_checkpoint import ProducerCheckpoint, replay_producers
from coordinator.storage.thread_pool import Executor, ThreadPool
from coordinator.storage.topic_log_work import batch_times, close_logs, facts_of, look_up, read_logs, retain, trim_log
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.topics.partition import InternalLog, Partition
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.log.writer import WriterQueue

LOG: Final = logging.getLogger("coordinator.topics")

READERS: Final = 2
READS_AT_ONCE: Final = 8  # reads handed to the pool; the others wait here and hold no data
CLOSERS: Final = 8  # a clean close waits for the disk several times
_INTERNAL_IDS: Final = uuid.UUID("2f0f6b5e-3f0c-5b0e-9a51-6d1d2a0f7c11")  # namespace of the ids of internal topics

OnEffects = Callable[[TopicEffects], None]


class TopicLogs:
    """Executor of the embedded topics of one node. All methods belong to the loop thread except those named `_in_*`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        data_dir: Path,
        config: Config,
        fs: FileSystem,
        *,
        on_effects: OnEffects,
        cluster: Cluster | None = None,
        internal_logs: Mapping[str, Sequence[Log | None]] | None = None,
        readers: Executor | None = None,
        changer: Executor | None = None,
        writer: WriterQueue | None = None,
        now_ms: Callable[[], int] | None = None,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self._loop = loop
        self._machine = machine
        self._now_ms = now_ms or Clock(loop).now_ms
        self._config = config
        self._on_effects = on_effects
        self._internal_logs = internal_logs or {}
        self.store = CatalogueStore(data_dir, config, fs)
        self.topics = Topics(
            config,
            cluster=cluster or Cluster.alone(config.node_id),
            new_topic_id=partial(random_topic_id, machine.new_uuid),
            now_ms=self._now_ms(),
        )
        self.flusher = Flusher(
            loop,
            self._on_durable,
            self._on_failed,
            policy=config.topic_flush_policy,
            interval_ms=config.log_flush_interval_ms,
            max_queued_bytes=config.log_max_queued_bytes,
            name="topic-writer",
            worker=writer or machine.writer("topic-writer"),
            clock=machine.monotonic,
        )
        self._logs: dict[Partition, Log] = {}
        self._readers = readers or ThreadPool(loop, READERS, "topic-reader")
        self._changer = changer or ThreadPool(loop, 1, "topic-changer")
        self.checkpoint = ProducerCheckpoint(loop, self.store, self.topics, self._changer)
        self._waiting_reads: deque[Read | Lookup] = deque()
        self._running_reads = 0
        self._last_note = ""
        self._is_closing = False

    def log(self, partition: Partition) -> Log | None:
        """Return the open log of a partition; None if it is offline or unknown."""
        return self._logs.get(partition)

    # -- start ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Read the catalogue, finish interrupted deletions, open every log. CatalogueStoreError says what to repair."""
        store, topics = self.store, self.topics
        for name, logs in self._internal_logs.items():
            views: Sequence[InternalLog | None] = logs
            for partition, log in zip(
                topics.add_internal(name, uuid.uuid5(_INTERNAL_IDS, name).bytes, views), logs, strict=True
            ):
                if log is not None:
                    partition.refresh()
                    self._logs[partition] = log
        stored = store.load_catalogue()
        first_id = topics.cluster.first_producer_id(self._machine.wall_ms() // 1000)
        topics.producer_ids.restore(max(store.load_producer_ids(), first_id))
        if (reason := topics.catalogue.configure_nodes(stored.node_configs)) is not None:
            LOG.error("settings changed at run time are ignored reason=%s", reason)
        topics.catalogue.configure_groups(stored.group_configs)
        topics.catalogue.configure_client_metrics(stored.client_metrics)
        store.finish_deletions(stored.deleted, [row.name for row in stored.topics])
        partitions = topics.restore(stored)
        is_new, wanted = topics.begin(self._config.preloaded_topics)
        self._report_other_counts()
        if is_new or stored.deleted:
            store.save_catalogue(topics.catalogue.document())
        checkpoint = store.load_producers()
        for partition in (*partitions, *wanted):
            self._open(partition, checkpoint.get(partition.directory))
        self._report_unknown()
        if checkpoint or any(partition.next_offset for partition in partitions):
            self.checkpoint.save()
        self.checkpoint.start()

    def _open(self, partition: Partition, checkpoint: Mapping[str, Any] | None) -> None:
        try:
            log = self.store.open_log(partition)
        except (OSError, LogError, ProtocolError) as error:
            self._went_offline(partition, error)
            return
        for message in log.recovery.messages():
            LOG.warning("recovered %s", message)
        self._logs[partition] = log
        partition.opened(facts_of(log))
        if partition.topic.is_internal:
            return  # no client produces to it
        try:
            replay_producers(partition, log, checkpoint, self._now_ms())
        except (CorruptLogError, ProtocolError, OSError) as error:
            self._went_offline(partition, error)

    def _went_offline(self, partition: Partition, error: Exception) -> None:
        LOG.error(
            "partition offline partition=%s error=%s; all else is served: mend its disk or its log, then start again",
            partition.directory,
            error,
        )
        self.topics.went_offline(partition)

    def _report_other_counts(self) -> None:
        """Warn of existing topics with another number of partitions than topics.preload gives."""
        for name, wanted in parse_topics(self._config.topics_preload, default_partitions=0).items():
            topic = self.topics.catalogue.topics.get(name)
            if not wanted or topic is None or len(topic.partitions) == wanted:
                continue
            LOG.warning(
                "topic %s has %d partitions and keeps them, although %d were asked for (--topic, topics.preload); %s",
                name,
                len(topic.partitions),
                wanted,
                f"add partitions with kafka-topics.sh --alter --topic {name} --partitions {wanted}"
                if wanted > len(topic.partitions)
                else "partitions cannot be removed: ask for as many as there are, or delete the topic first",
            )

    def _report_unknown(self) -> None:
        known = [partition.directory for partition in self._logs]
        known += [
            partition_directory(topic.name, partition.index)
            for topic in self.topics.catalogue.topics.values()
            for partition in topic.partitions
        ]
        unknown = self.store.unknown_directories(known)
        if unknown:
            LOG.warning("directories that belong to no topic are left alone: %s", ", ".join(unknown[:10]))

    # -- executing effects ---------------------------------------------------------------------------------------

    def execute(self, effects: TopicEffects) -> None:
        """Execute all effects of one event."""
        for ticket, response in effects.replies:
            ticket.session.answer(ticket, response)
        for ticket, reason in effects.disconnects:
            ticket.session.close(reason)
        if effects.appends:
            self._append(effects.appends)
        for read in effects.reads:
            self._waiting_reads.append(read)
            self._start_reads()
        for job in effects.jobs:
            self._start(job)
        for note in effects.notes:
            if note != self._last_note:  # a client that repeats a request causes one line only
                self._last_note = note
                LOG.warning("%s", note)

    def _append(self, appends: Sequence[TopicAppend]) -> None:
        refused: dict[Partition, tuple[int, OSError | None]] = {}
        for append in appends:
            partition = append.partition
            if partition in refused:
                continue  # its offsets would leave a gap; it fails with the refused append before it
            log = self._logs.get(partition)
            error = None
            if log is not None:
                settings = partition.topic.settings
                if partition.view is None and log.config[:2] != (settings.segment_bytes, settings.segment_ms):
                    log.config = self.store.log_config(partition)
                error = self.flusher.submit(partition, log, append.batch, append.last_offset, append.max_timestamp)
            if log is None or error is not None:
                refused[partition] = int.from_bytes(append.batch[:8], "big"), error
        for partition, (from_offset, _) in refused.items():
            self._on_effects(
                self.topics.append_failed(partition, from_offset, ErrorCode.KAFKA_STORAGE_ERROR, self._now_ms())
            )

    def _on_durable(self, durable: list[tuple[Any, int]]) -> None:
        self._on_effects(self.topics.appended(durable, self._now_ms()))

    def _on_failed(self, partition: Any, from_offset: int, error: Exception) -> None:
        self._on_effects(
            self.topics.append_failed(partition, from_offset, ErrorCode.KAFKA_STORAGE_ERROR, self._now_ms())
        )

    # -- reads ---------------------------------------------------------------------------------------------------

    def _start_reads(self) -> None:
        while self._waiting_reads and self._running_reads < READS_AT_ONCE:
            read = self._waiting_reads.popleft()
            self._running_reads += 1
            logs = [self._logs.get(item.partition) for item in read.items]
            if isinstance(read, Read):
                self._readers.run(partial(read_logs, read, logs), partial(self._read_done, read))
            else:
                self._readers.run(partial(look_up, read, logs), partial(self._look_up_done, read))

    def _read_done(self, read: Read, found: list[bytes | ReadFailure] | None, error: BaseException | None) -> None:
        self._running_reads -= 1
        if found is None:
            LOG.error("read failed error=%r", error)
            found = [ReadFailure(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(read.items)
        self._on_effects(self.topics.read_done(read, found, self._now_ms()))
        self._start_reads()

    def _look_up_done(
        self, lookup: Lookup, found: list[tuple[int, int] | ReadFailure | None] | None, error: BaseException | None
    ) -> None:
        self._running_reads -= 1
        if found is None:
            LOG.error("look-up failed error=%r", error)
            found = [ReadFailure(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(lookup.items)
        self._on_effects(self.topics.lookup_done(lookup, found, self._now_ms()))
        self._start_reads()

    def read_times(self, places: Sequence[tuple[Partition, int]], then: Callable[[list[int]], None]) -> None:
        """Read the time of the batch at each offset, -1 where it is not known. At the end nothing is read any more."""
        if self._is_closing:
            return
        logs = [(self._logs.get(partition), offset) for partition, offset in places]
        self._readers.run(partial(batch_times, logs), lambda found, error: then(found or [-1] * len(logs)))

    # -- jobs ----------------------------------------------------------------------------------------------------

    def _start(self, job: Job) -> None:
        if isinstance(job, ChangeCatalogue):
            self._changer.run(partial(self._in_changer_change, job), partial(self._changed, job))
        elif isinstance(job, ReserveProducerIds):
            self._changer.run(partial(self.store.save_producer_ids, job.up_to), partial(self._ids_reserved, job))
        elif isinstance(job, TrimLog):
            log = self._logs.get(job.partition)
            self.flusher.run(partial(trim_log, log, job.offset), partial(self._trimmed, job))
        elif isinstance(job, MeasureDisk):
            self._readers.run(self.store.disk_space, partial(self._measured, job))
        else:
            items = [(partition, self._logs.get(partition), policy) for partition, policy in job.items]
            self.flusher.run(partial(retain, items, self._machine.wall_ms), partial(self._retained, job))

    def _in_changer_change(self, job: ChangeCatalogue) -> dict[Partition, Log]:
        """Write the catalogue and create the logs; if that fails, restore the previous catalogue."""
        store = self.store
        created: dict[Partition, Log] = {}
        try:
            store.save_catalogue(job.document)
            for partition in job.create:
                log = created[partition] = store.create_log(partition, adopts=job.adopts)
                if (
                    log.log_end_offset and not partition.topic.is_internal
                ):  # moved here from another node; no other thread sees the partition yet
                    replay_producers(partition, log, None, self._now_ms())
        except Exception:
            for partition, log in created.items():
                if log.log_end_offset:
                    log.abandon()
                    continue
                with contextlib.suppress(OSError):
                    store.remove_log(partition, log)
            # Needed even if writing the document failed: its rename may have happened without its sync.
            store.save_catalogue(job.previous)
            raise
        return created

    def _changed(self, job: ChangeCatalogue, created: dict[Partition, Log] | None, error: BaseException | None) -> None:
        if created is None:
            LOG.error("the catalogue was not changed error=%s", error)
            self._on_effects(self.topics.catalogue_changed(ReadFailure(ErrorCode.KAFKA_STORAGE_ERROR), self._now_ms()))
            return
        self._logs.update(created)
        opened = {partition: facts_of(log) for partition, log in created.items()}
        if not job.remove:
            self._on_effects(self.topics.catalogue_changed(Changed(opened), self._now_ms()))
            return
        removed: list[tuple[Partition, Log | None]] = []
        for partition in job.remove:
            self.flusher.forget(partition)
            removed.append((partition, self._logs.pop(partition, None)))
        self.flusher.run(partial(self._in_writer_set_aside, removed), partial(self._set_aside, job, opened))

    def _in_writer_set_aside(self, removed: list[tuple[Partition, Log | None]]) -> tuple[list[Path], list[Partition]]:
        """Close the logs and rename their directories. An active reader keeps its open files."""
        aside: list[Path] = []
        left_over: list[Partition] = []
        for partition, log in removed:
            if log is not None:
                log.abandon()
            try:
                path = self.store.set_aside(partition.topic.name, partition.index, partition.topic.topic_id)
            except OSError as error:
                LOG.warning("%s was not renamed (%s); the next start tries again", partition.directory, error)
                left_over.append(partition)
            else:
                if path is not None:
                    aside.append(path)
        try:
            self.store.sync_names()
        except OSError as error:
            LOG.warning("the renaming of deleted partitions is not durable yet (%s)", error)
            left_over = [partition for partition, _ in removed]
        return aside, left_over

    def _set_aside(
        self,
        job: ChangeCatalogue,
        opened: Mapping[Partition, Opened],
        result: tuple[list[Path], list[Partition]] | None,
        error: Exception | None,
    ) -> None:
        if result is None:
            LOG.error("directories of deleted topics stay until the next start error=%r", error)
            result = [], list(job.remove)
        aside, left_over = result
        if aside:
            self._changer.run(partial(self.store.remove_directories, aside), _nothing)
        self._on_effects(self.topics.catalogue_changed(Changed(opened, tuple(left_over)), self._now_ms()))

    def _ids_reserved(self, job: ReserveProducerIds, _: None, error: BaseException | None) -> None:
        if error is not None:
            LOG.error("producer ids were not reserved error=%s", error)
        code = ErrorCode.NONE if error is None else ErrorCode.KAFKA_STORAGE_ERROR
        self._on_effects(self.topics.producer_ids_reserved(job.up_to, code, self._now_ms()))

    def _trimmed(self, job: TrimLog, opened: Opened | None, error: Exception | None) -> None:
        if opened is None:
            LOG.error("records were not deleted partition=%s error=%s", job.partition.directory, error)
        outcome = opened if opened is not None else ReadFailure(ErrorCode.KAFKA_STORAGE_ERROR)
        self._on_effects(self.topics.log_trimmed(job, outcome, self._now_ms()))

    def _measured(self, job: MeasureDisk, space: DiskSpace | None, error: BaseException | None) -> None:
        if error is not None:
            LOG.error("the space of the data directory is not known error=%s", error)
        job.then(space)
        self._on_effects(NOTHING)

    def _retained(
        self, job: EnforceRetention, results: list[tuple[Partition, Opened]] | None, error: Exception | None
    ) -> None:
        if results is None:
            LOG.error("retention failed error=%r", error)
        self._on_effects(self.topics.retention_enforced(results or (), self._now_ms()))

    # -- the end -------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Answer waiting fetches, finish running work, make everything durable, close the logs."""
        if self._is_closing:
            return
        self._is_closing = True
        self.checkpoint.stop()
        self._on_effects(self.topics.shutdown(self._now_ms()))
        await self._readers.drained()
        await self._changer.drained()
        self.flusher.close()
        await self._changer.drained()
        self.checkpoint.save()
        owned = [log for partition, log in self._logs.items() if partition.view is None]
        closers = ThreadPool(self._loop, CLOSERS, "topic-closer")
        for number in range(CLOSERS):
            closers.run(partial(close_logs, owned[number::CLOSERS]), _nothing)
        await closers.drained()
        for pool in (closers, self._changer, self._readers):
            pool.close()


def random_topic_id(new_uuid: Callable[[], uuid.UUID]) -> bytes:
    """Return a random uuid. Its text form has no leading dash, which tools would take for an option."""
    while True:
        topic_id = new_uuid().bytes
        if not base64.urlsafe_b64encode(topic_id).startswith(b"-"):
            return topic_id


def _nothing(result: object, error: BaseException | None) -> None:
    if error is not None:
        LOG.warning("clean-up failed error=%r", error)
