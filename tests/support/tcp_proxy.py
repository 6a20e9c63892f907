"""A TCP proxy that cuts, delays and holds back what passes: for requests whose outcome a client cannot know.

Faults aim at the next request that contains a `marker`: `cut_at` ends the connection before or after the server has
carried it out, `hold_at` keeps the request and delivers it when the test says so, long after the client has gone.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum
from typing import Self

CHUNK_BYTES = 1 << 18


class Fault(Enum):
    """A fault for one request."""

    CUT_BEFORE = "the server never sees the request"
    CUT_AFTER = "the server carries it out, and the client never sees the answer"
    HOLD = "the client's connection ends, and the server sees the request later"


class _Link:
    """One connection through the proxy."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.cuts_at_answer = False

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


class TcpProxy:
    """Forwards connections from a port of its own to one address."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: tuple[bytes, Fault] | None = None
        self._held: tuple[_Link, bytes] | None = None
        self._listener: asyncio.Server | None = None
        self._answer: asyncio.Future[bytes] | None = None  # to a request that was kept and sent later
        self.delay_s = 0.0  # of each chunk, in each direction
        self.drops_answers = False
        self.refuses = False  # new connections
        self.connections = 0

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> Self:
        self._listener = await asyncio.start_server(self._accept, host, port)
        return self

    @property
    def port(self) -> int:
        assert self._listener is not None
        return int(self._listener.sockets[0].getsockname()[1])

    @property
    def is_waiting(self) -> bool:
        """True until the fault has happened."""
        return self._fault is not None

    def cut(self) -> None:
        """End all connections now."""
        for link in list(self._links):
            link.abort()

    def cut_at(self, marker: bytes, *, applied: bool) -> None:
        """Cut the connection at the next request that contains `marker`, after or before the server did it."""
        self._fault = marker, Fault.CUT_AFTER if applied else Fault.CUT_BEFORE

    def hold_at(self, marker: bytes) -> None:
        """Keep the next request that contains `marker`, and end the connection of its client."""
        self._fault = marker, Fault.HOLD

    async def deliver_held(self) -> bytes:
        """Send the request that was kept to the server; returns the server's answer."""
        assert self._held is not None
        (link, request), self._held = self._held, None
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answer = answer
        link.server.write(request)
        return await answer

    async def close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        await asyncio.sleep(0)  # a connection that the loop has accepted last comes to `_accept`
        await asyncio.sleep(0)
        self.cut()
        if self._held is not None:
            self._held[0].abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._listener.wait_closed()
        await asyncio.sleep(0)  # sockets are closed in the next round of the loop

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refuses:
            writer.transport.abort()
            return
        accepting = asyncio.current_task()
        assert accepting is not None
        self._tasks.add(accepting)  # it is cancelled if the proxy is closed meanwhile
        accepting.add_done_callback(self._tasks.discard)
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        link = _Link(writer, server_writer)
        self._links.add(link)
        for pipe in (self._requests(link, reader), self._answers(link, server_reader)):
            task = asyncio.get_running_loop().create_task(pipe)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _requests(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await asyncio.sleep(self.delay_s)
                if self._fault is not None and self._fault[0] in data:
                    fault, self._fault = self._fault[1], None
                    if fault is Fault.CUT_BEFORE:
                        break
                    if fault is Fault.HOLD:
                        self._links.discard(link)
                        self._held = link, data
                        link.client.transport.abort()
                        return
                    link.cuts_at_answer = True
                link.server.write(data)
        self._end(link)

    async def _answers(self, link: _Link, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if link not in self._links:  # it was cut, or this is the answer to a request that was kept
                    if self._answer is not None and not self._answer.done():
                        self._answer.set_result(data)
                    break
                await asyncio.sleep(self.delay_s)
                if link.cuts_at_answer:
                    break
                if not self.drops_answers:
                    link.client.write(data)
        self._end(link)

    def _end(self, link: _Link) -> None:
        self._links.discard(link)
        link.abort()
