"""An observation as a whole: `start`, `stop`, what it has reached, and the one error that can end it.

The state is built from the mirror first, then from the network. If the observed topic turns out to be another one than
before (deleted and created again, or cut below what was read), the mirror is moved aside with its history, and all
begins anew, with a fresh state if a way to make one was given.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from coordinator.compaction.swap_protocol import recover
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.history.retention import DAY_MS, Limits
from coordinator.observe.client_settings import ClientSettings
from coordinator.observe.cluster import ObservedCluster, TopicLayout, parse_bootstrap
from coordinator.observe.decode import ObservedState
from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.observe.errors import ClusterProblem, LogRecreatedError, ObserveError
from coordinator.observe.follower import Follower
from coordinator.observe.housekeeping import INTERVAL_S, Housekeeper
from coordinator.observe.log_ends import LogEnds
from coordinator.observe.mirror import SEGMENT_BYTES, SEGMENT_MS, Mirror
from coordinator.observe.pipeline import Pipeline
from coordinator.observe.progress import FollowProgress
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.log.log import LogConfig

LOG: Final = logging.getLogger("coordinator.observe")


@dataclass(frozen=True, slots=True)
class ObserverSettings:
    """The settings of an observation. `housekeeping_s` 0: no history and no compaction."""

    bootstrap: str
    data_dir: Path
    client: ClientSettings = field(default_factory=ClientSettings)
    retention_days: int = 30
    history_max_bytes: int = 8 << 30
    history_thins: bool = True  # of older days one commit a minute of each partition is kept (`thinning.py`)
    housekeeping_s: float = INTERVAL_S
    segment_bytes: int = SEGMENT_BYTES  # of the raw log


class Observer:
    """Follows one cluster. All methods belong to the event loop on which it was started."""

    def __init__(
        self,
        settings: ObserverSettings,
        state: ObservedState,
        *,
        fresh_state: Callable[[], ObservedState] | None = None,
        fs: FileSystem | None = None,
    ) -> None:
        addresses = parse_bootstrap(settings.bootstrap)
        self.settings = settings
        self.state = state  # replaced by `fresh_state` if the observed log was created again
        self.progress = FollowProgress()
        self.replayed = asyncio.Event()  # the state has what the mirror had; what comes now is new
        self.log_ends = LogEnds(ObservedCluster(addresses, settings.client))
        self._fresh_state = fresh_state
        self._fs = fs or RealFileSystem()
        self._cluster = ObservedCluster(addresses, settings.client)
        self._epoch = secrets.token_hex(16)  # names this run in plans of compaction
        self._directory: ObservedDirectory | None = None
        self._pipeline: Pipeline | None = None
        self._housekeeper: Housekeeper | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._main: asyncio.Task[None] | None = None

    @property
    def cluster_id(self) -> str:
        """The id of the observed cluster; empty until it is known."""
        log = self._directory.log if self._directory is not None else None
        return self._cluster.cluster_id or (log.cluster_id if log is not None else "")

    @property
    def topic_id(self) -> str:
        """The id of the observed topic in hexadecimal digits; empty until it is known."""
        log = self._directory.log if self._directory is not None else None
        return log.topic_id.hex() if log is not None else ""

    @property
    def partitions(self) -> int:
        """Number of partitions of the observed topic; 0 until it is known."""
        return len(self._pipeline.mirror.logs) if self._pipeline is not None else 0

    @property
    def log_bytes(self) -> int:
        """Size of the raw mirrored log."""
        return self._pipeline.mirror.size_bytes if self._pipeline is not None else 0

    @property
    def is_running(self) -> bool:
        return self._main is not None and not self._main.done()

    async def start(self) -> None:
        """Open the directory, connect, and begin to follow.

        ObserveError: the directory or the login must be corrected first, or the cluster cannot be reached and there is
        no mirror to show meanwhile. A cluster that cannot be reached for now is no error if there is one.
        """
        self._directory = ObservedDirectory.open(self.settings.data_dir, self._fs)
        try:
            try:
                layouts = await self._cluster.layouts([OFFSETS_TOPIC])
                self._directory.check_cluster(self._cluster.cluster_id)
                layout = layouts.get(OFFSETS_TOPIC, TopicLayout())
            except ClusterProblem as problem:
                if self._directory.log is None or not problem.may_pass:
                    raise
                self.progress.note_problem(str(problem), wall_ms())
                LOG.warning("%s", problem)
                layout = TopicLayout()
            if self._directory.log is not None and not self._why_other(layout):
                await self._open(self._directory.log)
        except BaseException:
            await self._close()
            raise
        self._main = asyncio.create_task(self._run(), name="observe")

    async def wait(self) -> None:
        """Return when the observation was stopped; raise the ObserveError that ended it."""
        if self._main is not None:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._main)

    async def stop(self) -> None:
        """Stop following, flush, and close everything."""
        if self._main is not None:
            self._main.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._main
        await self._close()

    async def _run(self) -> None:
        """Follow until cancelled, beginning anew when the observed log is another one."""
        while True:
            follower = Follower(self._cluster, self.progress, on_layout=self._on_layout)
            try:
                if self._pipeline is not None:
                    await self._begin(self._pipeline)
                await follower.run()
            except LogRecreatedError as error:
                await self._start_over(str(error))

    async def _on_layout(self, layout: TopicLayout) -> Pipeline:
        """Check that the topic is the mirrored one, and return where it goes. Opens the mirror at first."""
        assert self._directory is not None
        self._directory.check_cluster(self._cluster.cluster_id)
        why = self._why_other(layout)
        if why:
            raise LogRecreatedError(why)
        log = self._log_of(layout)
        if self._pipeline is None:
            self._directory.belongs_to(log)
            pipeline = await self._open(log)
            await self._begin(pipeline)
            return pipeline
        pipeline = self._pipeline
        if log != self._directory.log:
            await pipeline.on_writer(lambda: pipeline.mirror.extend(log.partitions))
            self._directory.belongs_to(log)
        return pipeline

    def _log_of(self, layout: TopicLayout) -> ObservedLog:
        return ObservedLog(self._cluster.cluster_id, layout.topic_id, len(layout.leaders))

    def _why_other(self, layout: TopicLayout) -> str:
        """Return a clause that says why this is not the mirrored topic; empty if it is, or if that is not known."""
        known = self._directory.log if self._directory is not None else None
        return known.why_other(self._log_of(layout)) if known is not None and layout.leaders else ""

    async def _open(self, log: ObservedLog) -> Pipeline:
        """Open the mirror, finishing what a crash interrupted."""
        path = self.settings.data_dir
        epoch = self._epoch

        def opened() -> Mirror:
            try:
                for message in recover(self._fs, path, epoch=epoch, now_ms=wall_ms()):
                    LOG.info("%s", message)
            except (CorruptLogError, OSError) as error:
                raise ObserveError(f"the mirror in {path} cannot be opened: {error}") from None
            config = LogConfig(self.settings.segment_bytes, SEGMENT_MS)
            return Mirror.open(path, log.partitions, self._fs, config)

        mirror = await asyncio.to_thread(opened)
        for message in mirror.recovery_messages():
            LOG.info("%s", message)
        self._pipeline = Pipeline(mirror, self.state, self.progress)
        return self._pipeline

    async def _begin(self, pipeline: Pipeline) -> None:
        """Build the state from the mirror, and start what goes on beside following."""
        await pipeline.replay()
        self.replayed.set()
        work: list[Coroutine[Any, Any, None]] = [pipeline.sync_forever()]
        if self.settings.housekeeping_s:
            settings = self.settings
            limits = Limits(settings.retention_days * DAY_MS, settings.history_max_bytes, settings.history_thins)
            self._housekeeper = Housekeeper(pipeline, self.progress, self._fs, limits, epoch=self._epoch)
            work.append(self._housekeeper.run(self.settings.housekeeping_s))
        self._tasks = [asyncio.create_task(each) for each in work]

    async def _start_over(self, why: str) -> None:
        """Move the mirror aside, and begin an empty one."""
        assert self._directory is not None
        await self._close_mirror()
        try:
            aside = self._directory.set_aside(time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
        except OSError as error:
            raise ObserveError(
                f"the observed log is another one than before ({why}), and its mirror in {self.settings.data_dir} "
                f"cannot be moved aside ({error.strerror or error}); move it away, then start again"
            ) from None
        LOG.warning(
            "the observed log is another one than before: %s; the former mirror and its history are in %s, and a new "
            "one begins",
            why,
            aside,
        )
        self.replayed.clear()
        restarts = self.progress.restarts + 1
        self.progress.partitions.clear()
        self.progress.caught_up = False
        self.progress.restarts = restarts
        if self._fresh_state is not None:
            self.state = self._fresh_state()

    async def _close_mirror(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._housekeeper is not None:
            self._housekeeper.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks, self._housekeeper = [], None
        if self._pipeline is not None:
            await self._pipeline.close()
            self._pipeline = None

    async def _close(self) -> None:
        await self._close_mirror()
        self._cluster.close()
        self.log_ends.close()
        if self._directory is not None:
            self._directory.close()
