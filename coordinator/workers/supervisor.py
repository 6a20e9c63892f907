"""The supervisor of worker processes: `coordinator serve --workers N`.

N workers are N nodes of a static cluster on this machine, each with ports, a directory and a share of the partitions
(`storage/worker_dirs.py`); clients find the right one by the Kafka protocol. The supervisor binds the ports, starts the
workers and restarts one that died, whose groups are loaded from its log.

SIGTERM, SIGINT and SIGHUP stop all workers; the supervisor exits with 0 when all have ended well. If it is killed, the
workers stop at the end of their stdin. A worker with exit code 2 (wrong settings or data, which a restart does not
change) stops the daemon; one with exit code 1 (disk full or failing) is restarted.
One HTTP port shows status and metrics of all workers, with a label `node`.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from coordinator.config.config import Config
from coordinator.config.values import parse_address
from coordinator.core.cluster import ClusterNode
from coordinator.metrics.health import HistogramSample, Sample, ServerStatus
from coordinator.server.internal_listener import login_of
from coordinator.server.node_links import NodeLinks, Way
from coordinator.server.server import STOP_SIGNALS, PortFiles
from coordinator.server.startup import EXIT_MISTAKE, StartupError
from coordinator.storage.data_dir import DataDir, DataDirError, unusable
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.memory_fs import IN_MEMORY
from coordinator.storage.worker_dirs import arrange, worker_dir
from coordinator.workers.messages import READY, WorkerOrder, parse_status
from coordinator.workers.sockets import WorkerSockets

if TYPE_CHECKING:
    from coordinator.console.source import ConsoleSource

LOG: Final = logging.getLogger("coordinator.workers")

FIRST_PAUSE_S: Final = 0.2  # before a worker that died is restarted; doubled each time
LONGEST_PAUSE_S: Final = 10.0
STEADY_RUN_S: Final = 60.0  # after this run time the pause begins at its shortest again
STOP_S: Final = 25.0  # a worker stops in less; then it is killed
STATUS_S: Final = 2.0
CHECK_INTERVAL_S: Final = 0.05


class WorkerProcess:
    """The process of one worker, and its restarts."""

    def __init__(self, order: WorkerOrder) -> None:
        self.order = order
        self.node_id = order.config.node_id
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = threading.Event()
        self.restarts = 0
        self._pause_s = FIRST_PAUSE_S
        self._started_at = 0.0
        self._start_at = 0.0
        self._asking = threading.Lock()
        self._lines: _Lines | None = None

    def start(self) -> None:
        self.ready.clear()
        self._started_at = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "coordinator.workers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=self.order.descriptors,
            start_new_session=True,  # Ctrl-C reaches the supervisor, which tells the workers
        )
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):  # it may have died already, which `restart_if_dead` detects
            process.stdin.write(self.order.line())
            process.stdin.flush()
        self._lines = _Lines(process.stdout, self.ready, f"worker-{self.node_id}")
        self.process = process

    def restart_if_dead(self) -> int | None:
        """Restart the worker if it died; returns its exit code if it cannot start."""
        process = self.process
        if process is None:
            if time.monotonic() >= self._start_at:
                self.start()
            return None
        code = process.poll()
        if code is None:
            return None
        self._close_pipes(process)
        if code == EXIT_MISTAKE:
            return code
        if time.monotonic() - self._started_at > STEADY_RUN_S:
            self._pause_s = FIRST_PAUSE_S
        self.restarts += 1
        LOG.error("worker died node=%d exit_code=%d; started again in %g s", self.node_id, code, self._pause_s)
        self._start_at = time.monotonic() + self._pause_s
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        return None

    def _close_pipes(self, process: subprocess.Popen[bytes]) -> None:
        self.process = None
        self.ready.clear()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def send_signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def wait(self, deadline: float) -> int:
        """Wait for the end and return the exit code, 0 if there is no process. Kills it at the deadline."""
        process = self.process
        if process is None:
            return 0
        try:
            code = process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            LOG.error("worker did not end node=%d; killed", self.node_id)
            process.kill()
            code = process.wait()
        self._close_pipes(process)
        return code

    def status(self) -> ServerStatus:
        """Ask the worker for its status; called by the HTTP thread."""
        process, lines = self.process, self._lines
        if process is None or lines is None or process.stdin is None:
            return ServerStatus(False, f"node {self.node_id} is being started again")
        with self._asking:
            try:
                lines.discard_last()
                process.stdin.write(b"\n")
                process.stdin.flush()
                return parse_status(lines.next(STATUS_S), {"node": str(self.node_id)})
            except (OSError, ValueError):
                return ServerStatus(False, f"node {self.node_id} does not answer")


class _Lines:
    """Reads the stdout of a worker in a thread: sets `ready`, and keeps the last status line."""

    def __init__(self, pipe: IO[bytes], ready: threading.Event, name: str) -> None:
        self._pipe = pipe
        self._ready = ready
        self._news = threading.Condition()
        self._last = b""
        threading.Thread(target=self._read, name=name, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the worker is gone, and the pipe was closed
            for line in self._pipe:
                if line == READY:
                    self._ready.set()
                    continue
                with self._news:
                    self._last = line
                    self._news.notify_all()

    def discard_last(self) -> None:
        with self._news:
            self._last = b""

    def next(self, within_s: float) -> bytes:
        """Wait for the next status line; ValueError when none came in time."""
        with self._news:
            if not self._news.wait_for(lambda: self._last, within_s):
                raise ValueError("no answer")
            return self._last


class Supervisor:
    """All workers of one data directory."""

    def __init__(self, config: Config, log_level: str) -> None:
        self._config = config
        self._log_level = log_level
        self._sockets: WorkerSockets | None = None
        self.workers: list[WorkerProcess] = []
        self._stopping = threading.Event()

    def prepare(self, data_dir: DataDir) -> None:
        """Bind the ports and move every partition to the directory of its owner. Raises StartupError."""
        sockets = self._sockets = WorkerSockets(self._config)
        try:
            moved = arrange(RealFileSystem(), data_dir.path, sockets.node_ids)
        except DataDirError as error:
            raise StartupError.of(error) from None
        except OSError as error:
            raise StartupError.of(unusable(data_dir.path, error)) from None
        if moved:
            LOG.info("moved partitions=%d workers=%d", moved, len(sockets.node_ids))
        for number, node_id in enumerate(sockets.node_ids):
            own = replace(
                sockets.settings_of(number),
                cluster_id=data_dir.cluster_id,
                http_listen="off",
                log_dirs=str(worker_dir(data_dir.path, node_id)),
                offsets_topic_num_partitions=data_dir.offsets_partitions,
            )
            self.workers.append(
                WorkerProcess(
                    WorkerOrder(
                        own,
                        sockets.descriptors_of(number),
                        self._log_level,
                        str(data_dir.path.absolute()),
                        internal=sockets.internal_of(number),
                    )
                )
            )

    @property
    def addresses(self) -> list[str]:
        """The addresses on which the workers listen."""
        return [] if self._sockets is None else self._sockets.addresses

    def nodes(self) -> list[ClusterNode]:
        """Return the workers under the addresses of the first listener."""
        return [ClusterNode(each.node_id, *each.order.config.listen_address) for each in self.workers]

    def run(self, ready: Callable[[Sequence[str]], None]) -> int:
        """Run until a signal or a failure; returns the exit code. Calls `ready` once all workers are ready."""
        for number in STOP_SIGNALS:
            signal.signal(number, lambda *_: self._stopping.set())
        announced = False
        failed: int | None = None
        while not self._stopping.wait(CHECK_INTERVAL_S):
            for worker in self.workers:
                failed = worker.restart_if_dead() or failed
            if failed is not None:
                break
            if not announced and all(worker.ready.is_set() for worker in self.workers):
                announced = True
                ready(self.addresses)
        return self._stop() if failed is None else (self._stop() or failed)

    def _stop(self) -> int:
        self._stopping.set()
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        codes = [worker.wait(deadline) for worker in self.workers]
        self.close()
        return 0 if all(code == 0 for code in codes) else 1

    def console(self) -> ConsoleSource:
        """Return the console of all workers. Called once, on the loop of the HTTP port."""
        from coordinator.server.console_source import console_of  # late: see `HttpPort`

        return console_of(self._config, self.nodes, self._links())

    def _links(self) -> NodeLinks:
        """Return the links to the workers."""
        internal = self.workers[0].order.internal
        if internal is None:
            return NodeLinks()
        login = login_of(internal.secret)
        return NodeLinks(ways={node: Way(parse_address(each), login) for node, each in internal.addresses.items()})

    def close(self) -> None:
        """Close the sockets, also after a start that failed."""
        if self._sockets is not None:
            self._sockets.close()

    def status(self) -> ServerStatus:
        """Return the status of all: ready when every worker is, else the reason of the first that is not."""
        found = [worker.status() for worker in self.workers]
        metrics: list[Sample | HistogramSample] = [
            Sample(
                "coordinator_worker_restarts_total",
                "How often the supervisor has started this worker again because it had died.",
                "counter",
                worker.restarts,
                {"node": str(worker.node_id)},
            )
            for worker in self.workers
        ]
        for each in found:
            metrics += each.metrics
        waiting = [each.reason for each in found if not each.ready]
        if self._stopping.is_set():
            return ServerStatus(False, "stopping", metrics)
        return ServerStatus(not waiting, waiting[0] if waiting else f"{len(found)} workers are ready", metrics)


def _check_workers(config: Config) -> None:
    """Raise StartupError for settings that several processes cannot share."""
    if config.log_dirs == IN_MEMORY:
        raise StartupError(
            f"{config.workers} workers share a data directory, and {IN_MEMORY} is one of a single process; leave "
            "--workers out, or give a directory with --data-dir"
        )
    if config.test_verbs_enable or config.test_verbs_token:
        raise StartupError(
            f"the verbs for tests work on one process and not on {config.workers} workers; leave --workers out, or "
            "set test.verbs.enable=false and no test.verbs.token"
        )


def run(config: Config, files: PortFiles, log_level: str, ready: Callable[[Sequence[str]], None]) -> int:
    """Serve with `config.workers` processes until told to end. Raises StartupError with a sentence for the user."""
    _check_workers(config)
    try:
        data_dir = DataDir.open(Path(config.log_dirs), config)
    except DataDirError as error:
        raise StartupError.of(error) from None
    supervisor = Supervisor(config, log_level)
    http = None
    try:
        supervisor.prepare(data_dir)
        if config.http_address is not None:
            from coordinator.http.parts import HttpParts
            from coordinator.http.port import HttpPortError, open_http

            try:
                http = open_http(config, HttpParts(supervisor.status, console=supervisor.console))
            except HttpPortError as error:
                raise StartupError(str(error)) from None
        if http is not None:
            for worker in supervisor.workers:
                worker.order = replace(worker.order, http_address=http.bound)

        def announce(addresses: Sequence[str]) -> None:
            files.write(supervisor.nodes()[0].port, "" if http is None else http.bound)
            ready(addresses)

        return supervisor.run(announce)
    finally:
        supervisor.close()
        if http is not None:
            http.close()
        data_dir.close()
