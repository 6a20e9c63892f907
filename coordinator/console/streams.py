"""Answers of the console as server-sent events.

A stream sends an answer when it differs from the last one, and a comment every `ALIVE_S`. There are at most as many
streams as allowed; one more ends the oldest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web

from coordinator.console.model import Problem
from coordinator.console.source import ConsoleError

ALIVE_S: Final = 10.0
RETRY_MS: Final = 2_000  # after which a browser connects again

Answer = Callable[[], Awaitable[Any]]


class Streams:
    """The open streams of server-sent events, at most so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: OrderedDict[object, asyncio.Future[str]] = OrderedDict()  # what ends each: the reason

    async def run(self, request: web.Request, name: str, every_s: float, ask: Answer) -> web.StreamResponse:
        """Send answers until the client goes, or a newer stream takes its place."""
        first = await ask()  # so that a question without an answer is an error and no stream
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        ends = self._open[response] = asyncio.get_running_loop().create_future()
        if len(self._open) > self._most:
            _, oldest = self._open.popitem(last=False)
            oldest.set_result("too many pages are open; this one was ended")
        try:
            with contextlib.suppress(ConnectionResetError):
                await response.prepare(request)
                await response.write(b"retry: %d\n\n" % RETRY_MS)
                await _send(response, name, every_s, ask, first, ends)
        finally:
            self._open.pop(response, None)
        return response

    async def end(self, app: web.Application) -> None:
        """End all streams, because the port closes."""
        for ends in self._open.values():
            ends.set_result("the coordinator stops")
        self._open.clear()


async def _send(
    response: web.StreamResponse, name: str, every_s: float, ask: Answer, first: Any, ends: asyncio.Future[str]
) -> None:
    loop = asyncio.get_running_loop()
    sent, sent_at = b"", loop.time()
    answer = first
    while not ends.done():
        event, data = name, msgspec.json.encode(answer)
        if isinstance(answer, Problem):
            event = "problem"
        if data != sent:
            await response.write(b"event: %s\ndata: %s\n\n" % (event.encode(), data))
            sent, sent_at = data, loop.time()
        elif loop.time() - sent_at >= ALIVE_S:
            await response.write(b": alive\n\n")
            sent_at = loop.time()
        await asyncio.wait((ends,), timeout=every_s)
        try:
            answer = await ask()
        except ConsoleError as error:
            answer = Problem(error=str(error))
    await response.write(b"event: problem\ndata: %s\n\n" % msgspec.json.encode(Problem(error=ends.result())))
