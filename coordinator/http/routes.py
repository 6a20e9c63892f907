"""The paths of the HTTP port. The console's are in `coordinator.console.routes`.

/healthz answers 200 while the daemon can read its status; restart it when this fails. /readyz answers 200 once groups
are loaded, and 503 with the reason before; send clients once it succeeds. A POST below /test/ is a verb: it may take
long, so a thread runs it, test.verbs.max.running at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from base64 import b64decode
from collections.abc import Awaitable, Callable
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web

from coordinator.console.routes import console_routes

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.http.parts import HttpParts
    from coordinator.metrics.health import ServerStatus

LOG: Final = logging.getLogger("coordinator.http")

PROBES_AT_ONCE: Final = 4  # threads that read the status
INDEX: Final = (
    "/          the console\n"
    "/healthz   is the process alive\n"
    "/readyz    does it serve groups\n"
    "/metrics   figures for Prometheus\n"
    "/api/      the console's answers as JSON\n"
)
NOT_STORED: Final = {"Cache-Control": "no-store"}
OPEN_PATHS: Final = frozenset(("/healthz", "/readyz"))
VERBS: Final = "/test/"
LARGE_FORM: Final = b'{"error":"the body is larger than 1 MiB; send it in parts"}'
NO_FORM: Final = b'{"error":"the body is no form; write it as name=value&name=value, with %XX for other characters"}'
NO_VERBS: Final = b'{"error":"no verbs here; start with --profile test"}'


def application(config: Config, parts: HttpParts) -> web.Application:
    """Return the application: probes, metrics, verbs, and the console if there is one."""
    app = web.Application(middlewares=[_faults, *([Guard(config).check] if config.http_token else [])])
    probes = Probes(parts)
    app.router.add_get("/healthz", probes.healthz)
    app.router.add_get("/readyz", probes.readyz)
    app.router.add_get("/metrics", probes.metrics)
    app.router.add_post("/{path:.*}", VerbRoute(parts, config.test_verbs_max_running).run)
    if parts.console is not None:
        console_routes(app, parts.console(), config)
    else:
        app.router.add_get("/", _index)
    app.router.add_get("/{path:.*}", _nothing)
    return app


async def _nothing(request: web.Request) -> web.Response:
    return web.Response(text=f"nothing here; there are:\n{INDEX}", status=404, headers=NOT_STORED)


async def _index(request: web.Request) -> web.Response:
    return web.Response(text=INDEX, headers=NOT_STORED)


@web.middleware
async def _faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer a fault with 500 and a line in the log."""
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception:
        LOG.exception("an HTTP request for %.200r failed; please report this", request.path)
        return web.Response(text="the request failed; the daemon's log says why\n", status=500, headers=NOT_STORED)


class Guard:
    """Asks for http.token. That of the console's changes, which is worth more, is taken as well."""

    def __init__(self, config: Config) -> None:
        self._tokens = [each.encode() for each in (config.http_token, config.http_admin_token) if each]

    @web.middleware
    async def check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse a request without a token. Probes need none, and verbs have one of their own."""
        is_open = request.path in OPEN_PATHS or request.path.startswith(VERBS)
        if is_open or self._is_right(request.headers.get("Authorization", "")):
            return await handler(request)
        return web.Response(
            text="send http.token: as the header `Authorization: Bearer TOKEN`, or as the password of any user\n",
            status=HTTPStatus.UNAUTHORIZED,
            headers=NOT_STORED | {"WWW-Authenticate": 'Basic realm="coordinator", charset="UTF-8"'},
        )

    def _is_right(self, header: str) -> bool:
        scheme, _, given = header.partition(" ")
        token = given.encode("utf-8", "surrogateescape")
        if scheme.lower() == "basic":
            try:
                token = b64decode(token, validate=True).partition(b":")[2]
            except ValueError:
                return False
        elif scheme.lower() != "bearer":
            return False
        found = [compare_digest(token, each) for each in self._tokens]  # all, so that the time is the same
        return any(found)


class Probes:
    """The paths that show the daemon's status. Scrapes take tens of ms, so that they run one after another."""

    def __init__(self, parts: HttpParts) -> None:
        self._status = parts.status
        self._reading = asyncio.Semaphore(PROBES_AT_ONCE)
        self._scraping = asyncio.Lock()

    async def healthz(self, request: web.Request) -> web.Response:
        return await self._shown(lambda status: web.Response(text="ok\n", headers=NOT_STORED))

    async def readyz(self, request: web.Request) -> web.Response:
        return await self._shown(_readyz)

    async def metrics(self, request: web.Request) -> web.Response:
        async with self._scraping:
            return await self._shown(partial(_metrics, request.headers.get("Accept", "")))

    async def _shown(self, show: Callable[[ServerStatus], web.Response]) -> web.Response:
        """Read the status and show it, in a thread: the status of workers is asked for over pipes."""

        def read() -> web.Response:
            return show(self._status())

        try:
            async with self._reading:
                return await in_thread(read, "http-status")
        except Exception as error:
            LOG.exception("the status of the daemon could not be read")
            return web.Response(text=f"status unknown: {error}\n", status=500, headers=NOT_STORED)


def _readyz(status: ServerStatus) -> web.Response:
    code = HTTPStatus.OK if status.ready else HTTPStatus.SERVICE_UNAVAILABLE
    reason = status.reason or ("ready" if status.ready else "not ready")
    return web.Response(text=f"{reason}\n", status=code, headers=NOT_STORED)


def _metrics(accept: str, status: ServerStatus) -> web.Response:
    # Imported late: prometheus_client takes long to import, and the port should answer "loading" as early as possible.
    from coordinator.metrics.exposition import expose

    body, content_type = expose(status.metrics, accept)
    return web.Response(body=body, headers=NOT_STORED | {"Content-Type": content_type})


class VerbRoute:
    """The verbs of tests, each in a thread of its own."""

    def __init__(self, parts: HttpParts, most_running: int) -> None:
        self._commands = parts.commands
        self._most_running = most_running
        self._running = 0

    async def run(self, request: web.Request) -> web.Response:
        if self._commands is None:
            return _json(HTTPStatus.NOT_FOUND, NO_VERBS)
        if self._running >= self._most_running:
            sentence = b'{"error":"%d verbs run already, wait for one to end"}' % self._most_running
            return _json(HTTPStatus.SERVICE_UNAVAILABLE, sentence)
        self._running += 1  # from now on, because its form may come slowly
        begun = False
        try:
            form = (await request.read()).decode("ascii")
            begun = True
        except web.HTTPRequestEntityTooLarge:
            return _json(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, LARGE_FORM)
        except UnicodeDecodeError:
            return _json(HTTPStatus.BAD_REQUEST, NO_FORM)
        finally:
            self._running -= not begun
        path, _, query = request.raw_path.partition("?")
        query = "&".join(filter(None, (query, form)))
        running = in_thread(partial(self._commands, path, query, request.headers), "http-command")
        running.add_done_callback(self._ended)
        status, body = await asyncio.shield(running)  # a verb goes on when its client has gone
        return _json(status, body)

    def _ended(self, running: asyncio.Future[tuple[HTTPStatus, bytes]]) -> None:
        self._running -= 1
        running.exception()  # a client that has gone does not ask for it


T = TypeVar("T")


def in_thread(call: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Run a call in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            done = partial(_set, future, call(), None)
        except Exception as error:
            done = partial(_set, future, None, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(done)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def _set(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _json(status: HTTPStatus, body: bytes) -> web.Response:
    return web.Response(body=body + b"\n", status=status, headers=NOT_STORED, content_type="application/json")
