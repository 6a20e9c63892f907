"""The process of `coordinator observe`: the observer, the questions to the live cluster, and the HTTP port."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from coordinator.config.config import Config
from coordinator.console.other_loop import OnLoop
from coordinator.console.past import Past
from coordinator.http.parts import HttpParts
from coordinator.http.port import open_http
from coordinator.metrics.health import ServerStatus
from coordinator.observe.cluster import ObservedCluster, parse_bootstrap
from coordinator.observe.event_log import ObservedEvents
from coordinator.observe.figures import ObservedFigures, figures_of, samples
from coordinator.observe.held_back import note_transactions
from coordinator.observe.live_groups import LiveGroups
from coordinator.observe.observer import Observer, ObserverSettings
from coordinator.observe.source import Observed, ObservedConsole
from coordinator.observe.state import ObservedGroups
from coordinator.storage.log.fs import RealFileSystem

LOG: Final = logging.getLogger("coordinator.observe")

FIGURES_S: Final = 5.0
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def observe(
    settings: ObserverSettings,
    config: Config,
    ready: Callable[[str], None],
    collect: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Observe until a stop signal. `ready` gets the address of the HTTP port; `collect` collects garbage meanwhile.

    Raises ObserveError, HttpPortError.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    service = _Service(settings, time.time())
    observer = service.observer
    await observer.start()
    http = None
    stopping, ended = asyncio.create_task(stop.wait()), asyncio.create_task(observer.wait())
    beside = [asyncio.create_task(each) for each in (*service.beside(), collect())]
    try:
        http = open_http(config, HttpParts(service.status, console=lambda: OnLoop(service.console, loop)))
        ready(http.bound if http is not None else "")
        await asyncio.wait((stopping, ended), return_when=asyncio.FIRST_COMPLETED)
        if ended.done() and not stop.is_set():
            ended.result()
    finally:
        if http is not None:
            await asyncio.to_thread(http.close)
        tasks = (stopping, ended, *beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        service.live.close()
        await observer.stop()
        await service.events.close()


class _Service:
    """The parts of the process."""

    def __init__(self, settings: ObserverSettings, started_at: float) -> None:
        self._started_at = started_at
        self._figures = ObservedFigures()
        self.observer = observer = Observer(settings, self._new_state(), fresh_state=self._new_state)
        self.events = ObservedEvents(
            settings.data_dir,
            RealFileSystem(),
            lambda: observer.partitions,
            lambda: not observer.replayed.is_set(),
        )
        cluster = ObservedCluster(parse_bootstrap(settings.bootstrap), settings.client)
        self.live = LiveGroups(cluster, self.state)
        observed = Observed(
            settings.bootstrap,
            self.state,
            lambda: observer.cluster_id,
            observer.progress,
            observer.log_ends.ends,
            lambda story, committed: note_transactions(cluster, story, committed),
            watch=self.live.watch,
            nodes=lambda: cluster.nodes,
        )
        self.console = ObservedConsole(observed, Past(settings.data_dir))

    def _new_state(self) -> ObservedGroups:
        state = ObservedGroups()
        state.recorder.publish = lambda event: self.events.publish(event)
        return state

    def state(self) -> ObservedGroups:
        state = self.observer.state
        assert isinstance(state, ObservedGroups)
        return state

    def beside(self) -> list[Coroutine[Any, Any, None]]:
        """Return what runs beside the observer."""
        return [self.live.run(), self.console.run(), self._keep_events(), self._gather_figures()]

    async def _keep_events(self) -> None:
        """Take over the events of earlier runs once the mirror has been read, and write new ones."""
        await self.observer.replayed.wait()
        await self.events.restore(self.state().recorder)
        await self.events.run()

    async def _gather_figures(self) -> None:
        """Gather the figures of groups again and again."""
        most = Config().metrics_groups_max
        while True:
            self._figures = figures_of(await self.console.rows(), self.state().recorder, most)
            await asyncio.sleep(FIGURES_S)

    def status(self) -> ServerStatus:
        """Return the figures of /readyz and /metrics. Called from a thread of the HTTP port; reads counters only."""
        progress = self.observer.progress
        reason = progress.problem or ("ready" if progress.caught_up else "reading the offsets log")
        figures = tuple(samples(self._figures, progress, self.observer.log_bytes, self._started_at))
        return ServerStatus(progress.caught_up and not progress.problem, reason, figures)
