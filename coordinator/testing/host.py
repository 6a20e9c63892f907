"""A server that can be stopped, started again and crashed while its address and its data stay."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coordinator.core.effects import Ticket
from coordinator.metrics.health import ServerStatus
from coordinator.server.api.table import HANDLERS
from coordinator.server.faults import Faults
from coordinator.server.server import Server, file_system
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.testing.errors import CoordinatorTestingError, ServerEndedError
from coordinator.testing.request_log import RequestLog
from coordinator.testing.second_node import SecondNode
from protocol import codec

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.server.runtime import Runtime

CLIENT_ID = "coordinator-testing"


class ServerHost:
    """One server in this process. All methods belong to the thread of its event loop."""

    def __init__(self, config: Config, *, is_own_process: bool = False) -> None:
        self.config = config
        self.port = 0
        self.http_address = ""  # of the port that shows this server, if another part has opened one
        self._is_own_process = is_own_process
        self._fs = file_system(config)
        self.requests = RequestLog()
        self.faults: Faults
        self._server: Server | None = None
        self._starting: Server | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def runtime(self) -> Runtime:
        """The running node. Raises ServerEndedError while it does not run."""
        if self._server is None:
            raise ServerEndedError("the server does not run; start it first")
        return self._server.runtime

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, host:port."""
        return self.config.listeners

    async def start(self) -> None:
        """Start, at the same address as before. Raises StartupError."""
        server = self._starting = Server(self.config, supervisor_http_address=self.http_address, fs=self._fs)
        try:
            await server.start()
        except BaseException:
            await server.stop()
            raise
        finally:
            self._starting = None
        self._server = server
        self.port = server.port
        self.config = replace(self.config, listeners=f"{server.host}:{server.port}")
        if hasattr(self, "faults"):
            self.faults.move_to(server.runtime)
        else:
            self.faults = Faults(server.runtime)
        self.second_node = SecondNode(server.runtime)
        server.runtime.routes.add_layer(self.requests.observe)

    def status(self) -> Any:
        """Return the figures of /readyz and /metrics. Called from the HTTP thread."""
        server = self._server or self._starting
        if server is None:
            return ServerStatus(False, "the server is stopped by a verb", ())
        return server.status()

    async def stop(self) -> None:
        """Stop in the order that loses nothing. Nothing happens if it does not run."""
        server, self._server = self._server, None
        if server is not None:
            self.second_node.close()
            await server.stop()

    async def crash(self) -> None:
        """End as a killed process does: connections break, and what was not written is gone.

        A process of its own kills itself, and is to be started again by the one that started it.

        Raises:
            CoordinatorTestingError: the data is in a directory, which a server in this process cannot leave half-done.
        """
        if not isinstance(self._fs, MemoryFileSystem):
            if self._is_own_process:
                os.kill(os.getpid(), signal.SIGKILL)
            raise CoordinatorTestingError(
                "a server with a data directory cannot crash inside of this process; leave data_dir out, "
                "or use CoordinatorProcess, which is killed with SIGKILL"
            )
        server, self._server = self._server, None
        if server is None:
            return
        for connection in server.runtime.connections.all():
            connection.abort()
        self._fs = self._fs.copy()  # the old server ends on the old one
        server.close_listener()
        self.second_node.close()
        ending = asyncio.get_running_loop().create_task(server.stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Stop for good."""
        await self.stop()
        for task in self._ending:
            with contextlib.suppress(Exception):
                await task

    async def call(self, request: Any) -> Any:
        """Have the server answer a request of Kafka's protocol, without a connection and past all faults."""
        api = HANDLERS[codec.api_key_of(request)]
        runtime, caller = self.runtime, Caller()
        ticket = Ticket(caller, api_key=int(api.key), version=api.max_version, client_id=CLIENT_ID)
        api.handle(runtime, request, ticket, runtime.now_ms())
        runtime.end_of_event()
        return await caller.answered

    async def ask_core(self, command: Any) -> Any:
        """Have the core answer one of its own commands."""
        runtime, caller = self.runtime, Caller()
        runtime.execute(runtime.core.handle(command, Ticket(caller, client_id=CLIENT_ID), runtime.now_ms()))
        runtime.end_of_event()
        return await caller.answered


class Caller:
    """Takes the answer in place of a connection."""

    is_closed = False
    address = peer = "in-process"

    def __init__(self) -> None:
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Take the answer."""
        if not self.answered.done():
            self.answered.set_result(response)

    def close(self, reason: str, **_: Any) -> None:
        """Take the end of the connection as an error."""
        if not self.answered.done():
            self.answered.set_exception(CoordinatorTestingError(reason))
