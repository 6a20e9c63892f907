"""A server that can be stopped, started again and crashed while its address and its data stay."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.values import parse_address
from coordinator.core.effects import Ticket
from coordinator.metrics.health import ServerStatus
from coordinator.security.principal import INTERNAL, Principal
from coordinator.server.api.table import HANDLERS
from coordinator.server.faults import Faults
from coordinator.server.listener import UNPROTECTED
from coordinator.server.server import Server, file_system
from coordinator.server.startup import StartupError
from coordinator.server.supervised import Supervised
from coordinator.storage.documents.store import DocumentStoreError
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.testing.console_entrance import ConsoleEntrance
from coordinator.testing.errors import CoordinatorTestingError, ServerEndedError
from coordinator.testing.held_port import HeldPorts
from coordinator.testing.request_log import RequestLog
from coordinator.testing.second_node import SecondNode
from coordinator.testing.transaction_stages import TransactionStages
from protocol import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from coordinator.config.config import Config
    from coordinator.server.runtime import Runtime

CLIENT_ID: Final = "coordinator-testing"
NOT_RUNNING: Final = "the server does not run; start it first"


class ServerHost:
    """One server in this process. All methods belong to the thread of its event loop.

    `users`: passwords by user, for logins. `is_own_process`: the process has nothing else, and shows the console.
    """

    def __init__(self, config: Config, *, users: Mapping[str, str] | None = None, is_own_process: bool = False) -> None:
        self.config = config
        self._held = HeldPorts(config.listeners)
        self._new_users = dict(users or {})
        self.entrance = ConsoleEntrance(config) if is_own_process else None
        self.http_address = ""  # of the port that shows this server, if another part has opened one
        self._is_own_process = is_own_process
        self._fs = file_system(config)
        self.requests = RequestLog()
        self.stages = TransactionStages()
        self.on_start: Callable[[Runtime], None] = _nothing  # called with each run of the server, when it has started
        self.faults: Faults
        self._server: Server | None = None
        self._starting: Server | None = None
        self._skipped_ms = 0  # by `advance`, in the runs before this one
        self._changing = asyncio.Lock()  # held while the server starts or ends, and while its second node opens
        self._closed = asyncio.Event()
        self._callers: set[Caller] = set()  # not answered yet
        self._ending: set[asyncio.Task[None]] = set()
        _HOSTS.add(self)

    @property
    def runtime(self) -> Runtime:
        """The running node. Raises ServerEndedError while it does not run."""
        if self._server is None:
            raise ServerEndedError(NOT_RUNNING)
        return self._server.runtime

    @property
    def is_up(self) -> bool:
        """True while the node runs."""
        return self._server is not None

    @property
    def bootstrap_servers(self) -> str:
        """The address of the first listener for clients, host:port."""
        return str(self._held.first)

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses of all listeners by name, host:port."""
        return {name: str(address) for name, address in self._held.addresses.items()}

    @property
    def announced(self) -> list[str]:
        """The addresses as the running server says them: those with a name in front need more than an address."""
        return [] if self._server is None else self._server.addresses

    @property
    def host(self) -> str:
        """The host of the first listener."""
        return self._held.first.host

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self._held.first.port

    async def start(self) -> None:
        """Start. Raises StartupError, and ServerEndedError if it was closed."""
        async with self._changing:
            await self._start()

    async def restart(self, down: float) -> None:
        """Stop in the order that loses nothing, and start again. `down`: seconds between the two."""
        async with self._changing:
            await self._stop()
            await self._come_back(down)

    async def crash(self, down: float) -> None:
        """End as a killed process does: connections break, and what was not written is gone. Start again.

        A process of its own kills itself, and is to be started again by the one that started it.

        Raises:
            CoordinatorTestingError: the data is in a directory, which a server in this process cannot leave half-done.
        """
        async with self._changing:
            self._crash()
            await self._come_back(down)

    def crash_now(self, down: float) -> None:
        """Crash in the middle of an event, and start again. A server that is starting or ending is left alone."""
        if self._changing.locked() or self._server is None:
            return
        self._crash()
        coming_back = asyncio.get_running_loop().create_task(self._come_back_alone(down))
        self._ending.add(coming_back)
        coming_back.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Stop for good. A server that is down comes back no more."""
        self._closed.set()
        async with self._changing:
            await self._stop()
            self._held.release()
        for task in list(self._ending):
            with contextlib.suppress(Exception):
                await task

    async def move_coordinator(self, group: str) -> int:
        """Move the coordinator of a group to the other node. Returns the id of the node."""
        async with self._changing:
            if self._server is None:
                raise ServerEndedError(NOT_RUNNING)
            return await self.second_node.move(group)

    def status(self) -> Any:
        """Return the figures of /readyz and /metrics. Called from the HTTP thread."""
        server = self._server or self._starting
        if server is None:
            return ServerStatus(False, "the server is stopped by a verb", ())
        return server.status()

    async def call(self, request: Any) -> Any:
        """Have the server answer a request of Kafka's protocol, without a connection and past all faults."""
        api = HANDLERS[codec.api_key_of(request)]
        runtime, caller = self.runtime, Caller()
        ticket = Ticket(caller, api_key=int(api.key), version=api.max_version, client_id=CLIENT_ID)
        api.handle(runtime, request, ticket, runtime.now_ms())
        return await self._answer_to(caller)

    async def ask_transactions(self, command: Any) -> Any:
        """Have the transaction coordinator answer one of its own commands."""
        runtime, caller = self.runtime, Caller()
        if runtime.transactions is None:
            raise CoordinatorTestingError("this server serves no transactions")
        runtime.transactions.handle(command, Ticket(caller, client_id=CLIENT_ID))
        return await self._answer_to(caller)

    async def ask_core(self, command: Any) -> Any:
        """Have the core answer one of its own commands."""
        runtime, caller = self.runtime, Caller()
        runtime.execute(runtime.core.handle(command, Ticket(caller, client_id=CLIENT_ID), runtime.now_ms()))
        return await self._answer_to(caller)

    # -- internal ------------------------------------------------------------------------------------------------

    async def _answer_to(self, caller: Caller) -> Any:
        self._callers.add(caller)
        try:
            self.runtime.end_of_event()
            return await caller.answered
        finally:
            self._callers.discard(caller)

    async def _start(self) -> None:
        if self._closed.is_set():
            raise ServerEndedError("the server was stopped for good meanwhile")
        if self._server is not None:
            return
        self._add_users()
        self._held.hold()
        self.config = replace(self.config, listeners=self._held.listeners)
        internal = None if self.entrance is None else self.entrance.open()
        supervised = Supervised(http_address=self.http_address, internal=internal)
        server = self._starting = Server(self.config, supervised, fs=self._fs, skipped_ms=self._skipped_ms)
        try:
            await server.start()
        except BaseException:
            await server.stop()
            if internal is not None:
                internal.bound.close()
            self._held.release()
            raise
        finally:
            self._starting = None
        self._server = server
        self._held.bound(parse_address(each.rpartition("://")[2]) for each in server.addresses)
        self.config = replace(self.config, listeners=self._held.listeners)
        if hasattr(self, "faults"):
            self.faults.move_to(server.runtime)
        else:
            self.faults = Faults(server.runtime, self.requests.fault_fired, self._observe)
        self.second_node = SecondNode(server.runtime, self.config, self._observe)
        self.stages.move_to(server.runtime)
        self.on_start(server.runtime)
        self._observe()

    def _add_users(self) -> None:
        """Write the users before the first start. Raises StartupError."""
        if not self._new_users:
            return
        from coordinator.testing.user_file import add_users  # late: few servers have users

        try:
            add_users(self._fs, Path(self.config.log_dirs), self._new_users)
        except (DocumentStoreError, OSError) as error:
            raise StartupError(f"the users of the test cannot be written: {error}") from None
        self._new_users.clear()

    def _observe(self) -> None:
        """Have the log of requests come before all other layers, so that it sees what these do."""
        if self._server is not None:
            routes = self._server.runtime.routes
            routes.remove_layer(self.requests.observe)
            routes.add_layer(self.requests.observe)

    async def _come_back(self, down: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), down)
        await self._start()

    async def _come_back_alone(self, down: float) -> None:
        async with self._changing:
            with contextlib.suppress(ServerEndedError):  # it was closed meanwhile
                await self._come_back(down)

    def _taken(self) -> Server | None:
        """Return the server that is about to end. From now on no verb reaches it."""
        server, self._server = self._server, None
        if server is not None:
            self._skipped_ms = server.runtime.clock.skipped_ms
            self.second_node.close()
        return server

    async def _stop(self) -> None:
        server = self._taken()
        if server is not None:
            await server.stop()

    def _crash(self) -> None:
        if not isinstance(self._fs, MemoryFileSystem):
            if self._is_own_process:
                os.kill(os.getpid(), signal.SIGKILL)
            raise CoordinatorTestingError(
                "a server with a data directory cannot crash inside of this process; leave data_dir out, "
                "or use CoordinatorProcess, which is killed with SIGKILL"
            )
        server = self._taken()
        if server is None:
            return
        # No client may hear of an append that is not in the copy.
        for caller in self._callers:
            caller.fail(ServerEndedError("the server crashed before it answered"))
        server.close_listener()
        for connection in server.runtime.connections.all():
            connection.abort()
        self._fs = self._fs.copy()  # the old server ends on the old one
        ending = asyncio.get_running_loop().create_task(server.stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _let_go(self) -> None:
        """Have a forked child hold no socket of this server, whose port would be in use until the child ends."""
        if self._server is None:
            return
        held = [*self._server.descriptors(), *self.second_node.descriptors(), *self._held.descriptors()]
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in held:
            os.dup2(nothing, descriptor, inheritable=False)  # and not closed, because its owner closes it, too
        os.close(nothing)


def _nothing(_runtime: Runtime) -> None:
    """Do nothing."""


_HOSTS: weakref.WeakSet[ServerHost] = weakref.WeakSet()


def _after_fork() -> None:
    for host in list(_HOSTS):
        host._let_go()


os.register_at_fork(after_in_child=_after_fork)


class Caller:
    """Takes the answer in place of a connection."""

    is_closed = False
    address = peer = "in-process"
    listener = UNPROTECTED
    principal = Principal(INTERNAL, CLIENT_ID)
    authenticator = None

    def __init__(self) -> None:
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Take the answer."""
        if not self.answered.done():
            self.answered.set_result(response)

    def close(self, reason: str, **_: Any) -> None:
        """Take the end of the connection as an error."""
        self.fail(CoordinatorTestingError(reason))

    def fail(self, error: CoordinatorTestingError) -> None:
        """Take an error in place of the answer."""
        if not self.answered.done():
            self.answered.set_exception(error)
