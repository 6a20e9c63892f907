"""The daemon's life: open the data directory, bind, load, serve, drain, stop, in an order that loses no data.

Start: lock and check the data directory; bind the port, so that a port in use is found before anything else; open the
logs, and log each torn tail that is cut; listen, and answer COORDINATOR_LOAD_IN_PROGRESS while the offsets log is
replayed; write the port file when everything is ready.

Stop (SIGTERM, SIGINT): accept no connection, read no request, let the appends in flight become durable and answer them,
answer parked requests with a retriable error, flush, close, unlock, exit 0.

A node that cannot start raises `StartupError` with one sentence. The command line prints it and exits with 2 if the
user must correct something, and with 1 if a later start may succeed because a disk was full or failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from coordinator.config.listeners import PLAINTEXT
from coordinator.config.values import parse_names
from coordinator.core.clock import Clock
from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
from coordinator.core.consumer_group.assignors.known import assignors_of
from coordinator.core.consumer_group.assignors.plugin import AssignorError
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.topics.image import CatalogueImage
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.processes.wall_clock import wall_offset_ms
from coordinator.server import port_file
from coordinator.server.assignor_thread import AssignorThread
from coordinator.server.documents import Documents
from coordinator.server.listening import Listening
from coordinator.server.node_links import NodeLinks, Way, links_of
from coordinator.server.runtime import Callbacks, Runtime
from coordinator.server.startup import StartupError
from coordinator.server.stop_watchdog import watchdog
from coordinator.server.supervised import ALONE, Supervised
from coordinator.storage.catalogue_store import CatalogueStoreError
from coordinator.storage.data_dir import DataDir, DataDirError, unusable
from coordinator.storage.file_names import COMPACTION_DIR, WORKERS_DIR, compacted_log
from coordinator.storage.log import redo
from coordinator.storage.log.errors import CorruptLogError, LogError
from coordinator.storage.log.flusher import FlushPolicy
from coordinator.storage.log.fs import FileSystem, RealFileSystem, UnsyncedFileSystem
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.machine import THIS_MACHINE, Machine
from coordinator.storage.memory_fs import IN_MEMORY, MemoryFileSystem
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.ownership_check import foreign_logs
from coordinator.storage.snapshot.file import evidence
from coordinator.storage.snapshot.keeper import Snapshots
from coordinator.storage.topic_logs import TopicLogs
from coordinator.version import build

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from coordinator.compaction.daemon.compactor import Compactor
    from coordinator.config.config import Config
    from coordinator.console.source import ConsoleSource
    from coordinator.membership.directory import Engine
    from coordinator.membership.membership import Membership
    from coordinator.server.api.handler import Api
    from coordinator.server.claimed_partitions import ClaimedPartitions
    from coordinator.server.controller_link import ControllerLink
    from coordinator.server.transactions import Transactions
    from coordinator.storage.snapshot.store_keeper import StoreSnapshots

LOG = logging.getLogger("coordinator.server")

DRAIN_S: Final = 10.0  # how long a stop waits for appends in flight; offsets.commit.timeout.ms is half of it
CONNECTIONS_AT_ONCE: Final = 500  # stopped or closed before other events run
LAST_ANSWERS_S: Final = 1.0  # how long a stop waits until clients have read the last answers
# How soon the loop gets the interpreter's lock back from a thread that decodes a log or writes metrics. The loop
# releases the lock in each system call, so with Python's 5 ms each round would take as long while the thread works.
SWITCH_S: Final = 0.001
STOP_S = 45.0  # then the process exits: a hung disk must not keep it for ever
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class PortFiles(NamedTuple):
    """The files to which a daemon writes its ports once it is ready. None: it writes none."""

    kafka: Path | None = None
    http: Path | None = None

    def write(self, port: int, http_address: str) -> None:
        """Write the ports; that of HTTP first, because a reader waits for the other. Raises StartupError."""
        if self.http is not None:
            write_port_file(self.http, int(http_address.rpartition(":")[2] or 0))
        if self.kafka is not None:
            write_port_file(self.kafka, port)


NO_FILES: Final = PortFiles()


def run(config: Config, files: PortFiles = NO_FILES, *, ready: Callable[..., None] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP and return the exit code. `ready` gets the address when all is ready."""
    return run_node(Server(config), files, ready=ready)


class Runnable(Protocol):
    """Runs under `run_node`: a server, or a part that stands for one."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def http_address(self) -> str: ...

    @property
    def addresses(self) -> Sequence[str]: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


def run_node(server: Runnable, files: PortFiles = NO_FILES, *, ready: Callable[..., None] | None = None) -> int:
    """Run a node as `run` does."""
    _raise_file_limit()
    sys.setswitchinterval(SWITCH_S)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(server, files, ready))


def _raise_file_limit() -> None:
    """Allow as many open files as the system permits: each connection and each partition holds one."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_system(config: Config) -> FileSystem:
    """Return the file system for the data directory."""
    if config.log_dirs == IN_MEMORY:
        return MemoryFileSystem()
    return UnsyncedFileSystem() if config.log_flush_policy == FlushPolicy.NEVER else RealFileSystem()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's factory if it is installed; None, the standard loop, with COORDINATOR_EVENT_LOOP=asyncio."""
    if os.environ.get("COORDINATOR_EVENT_LOOP") == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(server: Runnable, files: PortFiles, ready: Callable[..., None] | None) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        if not await _started(server, stop):
            return 0
        files.write(server.port, server.http_address)
        if ready is not None:
            ready(*server.addresses)
        await stop.wait()
    finally:
        with watchdog("the stop", STOP_S):
            await server.stop()
    return 0


async def later(module: str) -> Any:
    """Import, in a thread, a module that the first answers do not need."""
    return await asyncio.get_running_loop().run_in_executor(None, import_module, module)


async def _started(server: Runnable, stop: asyncio.Event) -> bool:
    """Start; return False if a stop signal came first. Reading a big log takes long and can be cancelled any time."""
    starting, stopping = asyncio.create_task(server.start()), asyncio.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not starting.done():
        LOG.info("told to stop while starting")
        starting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await starting
        return True
    return False


def write_port_file(path: Path, port: int) -> None:
    """Write the port file. Raises StartupError with a sentence for the user."""
    try:
        port_file.write(path, port)
    except OSError as error:
        raise StartupError(
            f"the port file {path} cannot be written ({error.strerror}); choose another --port-file"
        ) from None


def _was_compacted(fs: FileSystem, path: Path) -> bool:
    """Return True if a compaction may have left work: its own directory, or new segments beside those of a log."""
    if fs.exists(path / COMPACTION_DIR):
        return True
    return any(
        compacted_log(name) is not None and fs.is_dir(path / name) and redo.is_needed(fs.listdir(path / name))
        for name in fs.listdir(path)
    )


def _refuse_local_log(fs: FileSystem, path: Path) -> None:
    """Raise StartupError if the data directory holds a log of a coordinator, which would be ignored."""
    found = [name for name in fs.listdir(path) if compacted_log(name) is not None]
    if found:
        raise StartupError(
            f"the data directory {path} holds a log of its own ({found[0]}), but log.engine is set; copy it with "
            "`coordinator log import`, or choose another directory with --data-dir"
        )


class Server:
    """One node: its data directory, runtime and sockets.

    `supervised`: what a supervisor hands to it, if it has one.
    `fs`: the file system that holds the data directory. In one that other processes cannot read, nothing is compacted.
    `skipped_ms`: how far earlier runs have put the wall clock forward, in tests. `machine`: a simulated one, or this.
    """

    def __init__(
        self,
        config: Config,
        supervised: Supervised = ALONE,
        *,
        fs: FileSystem | None = None,
        skipped_ms: int = 0,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self.config = config
        self._machine = machine
        self._skipped_ms = skipped_ms
        self._fs = fs or file_system(config)
        self._supervised = supervised
        self._links = NodeLinks()
        self.host = ""
        self.port = 0
        self._data_dir: DataDir | None = None
        self._runtime: Runtime | None = None
        self._link: ControllerLink | None = None
        self._compactor: Compactor | None = None
        self._engine: Engine | None = None  # None: the offsets log is in files
        self._membership: Membership | None = None
        self._listening: Listening | None = None
        self._documents: Documents | None = None
        self._http: Any = None
        self._ready = False
        self._stopping = False
        self._started_at = machine.wall_ms() / 1000
        # Of this run: a compaction that was planned in another run is rejected.
        self.epoch: Final = machine.random_bytes(8).hex()

    # -- start ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start all parts. Raises StartupError with a sentence for the user."""
        loop = asyncio.get_running_loop()
        if self.config.is_shared:
            await self._open_store()
        try:
            self._data_dir = data_dir = DataDir.open(
                Path(self.config.log_dirs), self.config, self._fs, self._machine.new_uuid
            )
            self._bring_partitions_home(data_dir)
        except DataDirError as error:
            raise StartupError.of(error) from None
        except OSError as error:
            raise StartupError.of(unusable(Path(self.config.log_dirs), error)) from None
        config = self.config = replace(
            self.config,
            offsets_topic_num_partitions=data_dir.offsets_partitions,
            transaction_state_log_num_partitions=data_dir.transaction_partitions,
        )
        supervised = self._supervised
        self._links = supervised.links() or links_of(config)
        listening = self._listening = Listening(config, self._machine.wall_ms, supervised)
        self.host, self.port = listening.first.address
        if config.http_address is not None:
            self._open_internal(listening)
        # Imported late: a port in use is reported before the rest is loaded.
        from coordinator.server.api.table import HANDLERS

        cluster = self._cluster(listening)
        identity = ClusterIdentity(
            data_dir.cluster_id,
            tuple(cluster.nodes.values()),
            config.offsets_topic_num_partitions,
            config.transaction_state_log_num_partitions,
        )
        link = self._link = await self._join_cluster(cluster, identity)
        claimed = self._claimed_partitions(cluster)
        runtime = self._runtime = self._build_runtime(loop, HANDLERS, data_dir.path, cluster, identity, claimed)
        await self._open_documents(runtime, data_dir.path)
        runtime.http_address = supervised.http_address
        if link is not None:
            link.attach(runtime)
            await _agreed(link.first_catalogue())
        if config.has_topics:
            self._serve_transactions(runtime, data_dir.path, claimed)
        listening.warn_of_open_ones()
        await listening.serve(runtime, runtime.users.credentials)
        # The figures of a worker, or behind the HTTP port of another part, are asked for as well.
        runtime.shows_metrics = bool(config.http_address or supervised.listeners or supervised.http_address)
        runtime.start_housekeeping()
        runtime.event_topic.start()
        if claimed is not None:
            await self._join_store(claimed, runtime)
        compactor = self._compactor = await self._make_compactor(runtime, data_dir.path.absolute(), loop)
        if compactor is not None:
            compactor.start()
        await self._start_http()
        if claimed is None:
            await runtime.load_all()
            await self._open_transactions(runtime.transactions, data_dir.path)
        else:
            await claimed.membership.settled()
        if link is not None:  # again, because two nodes that start at the same time could not answer before
            await _agreed(link.check_facts(cluster.others()))
            link.start()
        if compactor is not None:
            compactor.loaded()
        runtime.snapshots.start(loop)
        runtime.gc_policy.loaded()
        self._ready = True
        runtime.event_topic.ready()
        LOG.info(
            "ready listen=%s advertised=%s:%d data_dir=%s offsets_partitions=%d groups=%d load_ms=%d build=%r",
            ",".join(self.addresses),
            cluster.me.host,
            cluster.me.port,
            data_dir.path,
            config.offsets_topic_num_partitions,
            runtime.core.group_count,
            sum(runtime.load_ms.values()),
            build(),
        )

    def _bring_partitions_home(self, data_dir: DataDir) -> None:
        """Move partitions back that were in the directories of several workers."""
        if self._fs.is_dir(data_dir.path / WORKERS_DIR):
            from coordinator.storage.worker_dirs import arrange  # late: rarely needed

            if moved := arrange(self._fs, data_dir.path, [self.config.node_id]):
                LOG.info("moved partitions=%d workers=1", moved)

    @property
    def addresses(self) -> list[str]:
        """The addresses of all listeners, bound: that of the first alone as host:port."""
        if self._listening is None:
            return []
        first, *others = self._listening.bound
        return [str(first.address) if first.listener.protocol == PLAINTEXT else str(first), *map(str, others)]

    def _open_internal(self, listening: Listening) -> None:
        """Have the parts of this daemon reach it over a listener of their own, if the first one is not open to all."""
        listening.open_internal()
        if listening.internal is not None:
            self._links.reach(self.config.node_id, Way(listening.internal.address, listening.internal.login))

    async def _open_documents(self, runtime: Runtime, path: Path) -> None:
        """Read users, access rules and quotas, enforce them, and share them with the other nodes."""
        config, supervised = self.config, self._supervised
        has_logins = runtime.asks_nodes_for_logins = supervised.internal is not None or (
            bool(config.cluster_nodes or config.is_shared) and config.has_node_logins
        )
        documents = self._documents = Documents(
            runtime,
            self._fs,
            supervised.documents_dir or path,
            is_written=supervised.documents_dir is None or runtime.cluster.is_controller,
        )
        if self._engine is not None:
            await documents.keep_in(self._engine.documents)
        elif not runtime.cluster.is_alone:
            documents.exchange(self._link, has_logins=has_logins)

    def _cluster(self, listening: Listening) -> Cluster:
        """Return the nodes of the cluster, and the address of this one for clients."""
        config = self.config
        if nodes := config.node_addresses:
            cluster = Cluster.of(nodes, config.node_id)
        else:
            cluster = Cluster.alone(config.node_id, *listening.first.advertised)
        if self._engine is None:
            return cluster
        from coordinator.server import shared_store

        return shared_store.living(cluster, config)

    async def _open_store(self) -> None:
        """Open the shared store of the offsets log, and take over the facts that all nodes share."""
        from coordinator.server import shared_store  # late: a log in files needs none of it

        try:
            self._engine, self.config = await shared_store.open_store(self.config)
        except LogStoreError as error:
            raise StartupError.of(error) from None

    def _claimed_partitions(self, cluster: Cluster) -> ClaimedPartitions | None:
        """Return the partitions in the shared store; None if the offsets log is in files."""
        if self._engine is None:
            return None
        from coordinator.server import shared_store

        return shared_store.claimed_partitions(self.config, self._engine, cluster, self._machine)

    async def _join_store(self, claimed: ClaimedPartitions, runtime: Runtime) -> None:
        from coordinator.server import shared_store

        assert self._engine is not None
        try:
            self._membership = await shared_store.join(self.config, self._engine, claimed, runtime, self._links)
        except LogStoreError as error:
            raise StartupError.of(error) from None

    async def _join_cluster(self, cluster: Cluster, identity: ClusterIdentity) -> ControllerLink | None:
        """Check, before any file is opened, that the other nodes know the same cluster. None: this node is alone."""
        if cluster.is_alone or not self.config.has_topics:
            return None
        from coordinator.server.controller_link import ControllerLink  # late: a node alone does not use it

        link = ControllerLink(self.config, cluster, identity, self._links)
        # Also ask this node's own address, in case another process uses this node id. Not for workers: the supervisor
        # holds their sockets.
        asked = cluster.others() if self._supervised.listeners else cluster.nodes.values()
        await _agreed(link.check_facts(asked))
        return link

    def _build_runtime(
        self,
        loop: asyncio.AbstractEventLoop,
        handlers: Mapping[int, Api],
        path: Path,
        cluster: Cluster,
        identity: ClusterIdentity,
        claimed: ClaimedPartitions | None,
    ) -> Runtime:
        """Open the logs, and build the runtime with all its parts."""
        config, fs, machine = self.config, self._fs, self._machine
        try:
            assignors = assignors_of(
                parse_names(config.group_consumer_assignors),
                lambda: AssignorThread().submit,
                config.group_consumer_assignor_timeout_ms,
            )
        except AssignorError as error:
            raise StartupError(str(error)) from None
        clock, callbacks = Clock(loop, self._skipped_ms), Callbacks()
        snapshots: Snapshots | StoreSnapshots
        try:
            if claimed is None:
                self._recover(fs, path)
                offsets_log = self._open_offsets_log(loop, callbacks, path, cluster)
                snapshots = Snapshots(config, fs, offsets_log, machine=machine)
                internal_logs = [offsets_log.logs.get(p) for p in range(config.offsets_topic_num_partitions)]
            else:
                _refuse_local_log(fs, path)
                offsets_log, snapshots, internal_logs = claimed.offsets_log(loop, callbacks), claimed.snapshots, []
            topic_logs = TopicLogs(
                loop,
                path,
                config,
                fs,
                on_effects=callbacks.on_topic_effects,
                cluster=cluster,
                internal_logs={OFFSETS_TOPIC: internal_logs} if internal_logs else {},
                machine=machine,
                now_ms=clock.now_ms,
            )
            topic_logs.start()
            stranded = foreign_logs(fs, path, topic_logs.topics.catalogue, cluster)
        except CorruptLogError as error:
            directory = error.path if fs.is_dir(error.path) else error.path.parent
            raise StartupError(
                f"{error}. `coordinator log verify {directory}` lists all that is damaged, and `coordinator log repair "
                f"{directory}` what can be mended and what that costs"
            ) from None
        except (LogError, CatalogueStoreError) as error:
            raise StartupError(str(error)) from None
        except OSError as error:
            raise StartupError.of(unusable(path, error)) from None
        if stranded is not None:
            raise StartupError(stranded)
        core = GroupCoordinator(
            config,
            partitions=config.offsets_topic_num_partitions,
            new_member_uuid=lambda: str(machine.new_uuid()),
            topic_partition_exists=topic_logs.topics.partition_exists,
            take_read_up_to=topic_logs.topics.take_read_up_to,
            wall_offset_ms=wall_offset_ms(clock.now_ms, machine.wall_ms) + clock.skipped_ms,
            on_event=callbacks.on_event,
            on_too_large=callbacks.on_too_large,
            owns=cluster.owns_offsets_partition,
            has_lease=claimed is not None,
            topics=CatalogueImage(topic_logs.topics.catalogue),
            group_configs=topic_logs.topics.catalogue.group_values,
            assignors=assignors,
        )
        return Runtime(
            config,
            loop,
            handlers,
            identity=identity,
            cluster=cluster,
            clock=clock,
            callbacks=callbacks,
            core=core,
            offsets_log=offsets_log,
            snapshots=snapshots,
            topic_logs=topic_logs,
            link=self._link,
            lease=claimed,
            machine=machine,
        )

    def _serve_transactions(self, runtime: Runtime, path: Path, claimed: ClaimedPartitions | None) -> None:
        """Take requests of transactional producers. They wait until the transaction log is open."""
        from coordinator.server.transactions import Transactions

        log = None if claimed is None else claimed.transaction_log(runtime.offsets_log)
        runtime.transactions = Transactions(runtime, asyncio.get_running_loop(), path, self._fs, self._links, log)
        runtime.topics.serves_transactions = True

    async def _open_transactions(self, transactions: Transactions | None, path: Path) -> None:
        """Open the transaction log of an earlier run. A new one is made when the first request needs it."""
        from coordinator.server.transactions import has_transaction_log

        if transactions is None or not has_transaction_log(self._fs, path):
            return
        try:
            await transactions.open()
        except (LogError, OSError) as error:
            raise StartupError(f"the transaction log cannot be opened: {error}") from None

    def _open_offsets_log(
        self, loop: asyncio.AbstractEventLoop, callbacks: Callbacks, path: Path, cluster: Cluster
    ) -> OffsetsLog:
        return OffsetsLog.open(
            path,
            self.config,
            self._fs,
            loop=loop,
            on_durable=callbacks.on_durable,
            on_failed=callbacks.on_failed,
            owns=cluster.owns_offsets_partition,
            evidence=evidence,
            machine=self._machine,
        )

    def _recover(self, fs: FileSystem, path: Path) -> None:
        """Finish or undo the swaps of a compaction that a crash interrupted."""
        if _was_compacted(fs, path):
            from coordinator.compaction.swap_protocol import recover  # late: a new directory starts without

            for message in recover(fs, path, epoch=self.epoch, now_ms=self._machine.wall_ms()):
                LOG.warning("recovered %s", message)

    async def _make_compactor(self, runtime: Runtime, path: Path, loop: asyncio.AbstractEventLoop) -> Compactor | None:
        """Return the daemon's side of compaction. Its processes open the log by name: None if they cannot."""
        if not isinstance(self._fs, RealFileSystem) or self._engine is not None:
            return None
        module = await later("coordinator.compaction.daemon.compactor")
        compactor: Compactor = module.Compactor(
            loop,
            path,
            self.config,
            self._fs,
            runtime.offsets_log,
            runtime.core.committed_rows,
            epoch=self.epoch,
            transactions_log=lambda: None if runtime.transactions is None else runtime.transactions.log,
        )
        return compactor

    async def _start_http(self) -> None:
        if self.config.http_address is None:
            return
        from coordinator.http.parts import HttpParts  # late: see `later`
        from coordinator.http.port import HttpPortError, open_http

        try:
            self._http = open_http(self.config, HttpParts(self.status, console=self._console))
        except HttpPortError as error:
            raise StartupError(str(error)) from None
        if self._http is not None and self._runtime is not None:
            self._runtime.http_address = self._http.bound

    def _console(self) -> ConsoleSource:
        """Return the console of the whole cluster. Called once, on the loop of the HTTP port."""
        from coordinator.server.console_source import console_of  # late: see `HttpPort`

        return console_of(self.config, lambda: [ClusterNode(self.config.node_id, self.host, self.port)], self._links)

    def status(self) -> Any:
        """Return the figures of /readyz and /metrics. Called from the HTTP thread; reads counters only."""
        from coordinator.server.status import status_of  # late: see `later`

        return status_of(
            self._runtime,
            self._compactor,
            self._membership,
            ready=self._ready,
            stopping=self._stopping,
            started_at=self._started_at,
        )

    @property
    def http_address(self) -> str:
        """The address of the HTTP port that shows this node, host:port; empty if there is none."""
        return self.runtime.http_address

    @property
    def runtime(self) -> Runtime:
        """The running node. Raises RuntimeError before the start."""
        if self._runtime is None:
            raise RuntimeError("the server has not been started")
        return self._runtime

    def descriptors(self) -> list[int]:
        """Return the descriptors of all sockets of this running server."""
        listening = [] if self._listening is None else self._listening.descriptors()
        return [each for each in (*listening, *(c.descriptor for c in self.runtime.connections.all())) if each >= 0]

    # -- stop ----------------------------------------------------------------------------------------------------

    def close_listener(self) -> None:
        """Accept no connection any more."""
        if self._listening is not None:
            self._listening.close()

    async def stop(self) -> None:
        """Drain and close everything that was opened. A start that failed half-way can be stopped, too."""
        self._stopping = True
        runtime = self._runtime
        if self._membership is not None:  # while this node still leads its clients to the new owners
            await self._membership.drain_and_leave()
        self.close_listener()
        if self._link is not None:
            await self._link.stop()
        if runtime is not None:
            await self._drain(runtime)
            await runtime.snapshots.at_stop(asyncio.get_running_loop())
        if self._http is not None:
            self._http.close()
        if self._documents is not None:
            await self._documents.close()
        if self._engine is not None:
            from coordinator.server import shared_store

            await shared_store.close_store(self._engine)
        if self._data_dir is not None:
            self._data_dir.close()
        if self._ready:
            LOG.info("stopped data_dir=%s", self.config.log_dirs)

    async def _drain(self, runtime: Runtime) -> None:
        compactor = self._compactor
        ending = None if compactor is None else asyncio.create_task(compactor.close())
        runtime.core.stop_background()
        connections = runtime.connections.all()
        for number, connection in enumerate(connections, 1):
            connection.stop_reading()
            if not number % CONNECTIONS_AT_ONCE:
                await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await runtime.offsets_log.drained()
                if runtime.transactions is not None:
                    await runtime.transactions.drained()
        await runtime.time_slices.finished()
        runtime.stop_timers()
        runtime.execute(runtime.core.shutdown(runtime.now_ms()))
        if runtime.transactions is not None:
            runtime.transactions.shutdown()
        runtime.end_of_event()
        await runtime.time_slices.finished()
        runtime.event_topic.finish()
        runtime.logins.close()
        await runtime.topic_logs.close()
        await runtime.snapshots.close()
        await asyncio.get_running_loop().run_in_executor(None, runtime.telemetry.close)
        if ending is not None:
            await ending
        if self._ready:
            runtime.snapshots.prepare_stop()
        await runtime.offsets_log.close()
        if runtime.transactions is not None:
            await runtime.transactions.close()
        runtime.end_of_event()
        for number, connection in enumerate(connections, 1):
            connection.close("", quiet=True)
            if not number % CONNECTIONS_AT_ONCE:
                await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):  # a client that does not read its answers is not waited for
            async with asyncio.timeout(LAST_ANSWERS_S):
                await runtime.connections.emptied()


async def _agreed(asking: Awaitable[None]) -> None:
    """Await a question to other nodes at the start. Raises StartupError if they disagree: the user must fix that."""
    from coordinator.server.controller_link import DisagreementError

    try:
        await asking
    except DisagreementError as error:
        raise StartupError(f"{error}; every node of a cluster must have the same settings") from None
