"""The paths of the console: its page, its answers as JSON, and the same answers as server-sent events.

A page of another site cannot read the answers, since no header allows it, and on a loopback address a request must name
this machine as its host: otherwise a site could have its own name lead here. Only /api/kick changes anything, and it
needs `http.admin.token`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from hmac import compare_digest
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from coordinator.config.values import is_loopback
from coordinator.console.model import Problem
from coordinator.console.questions import group_question, kick_question, list_question
from coordinator.console.source import ConsoleError, ConsoleSource
from coordinator.console.streams import Streams

if TYPE_CHECKING:
    from coordinator.config.config import Config

GROUP_S: Final = 0.5  # between two answers of a stream
LIST_S: Final = 2.0
MOST_BODY: Final = 64 << 10
SECURITY: Final = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
KINDS: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def console_routes(app: web.Application, source: ConsoleSource, config: Config) -> None:
    """Add the console's paths to an application."""
    pages = _Pages()
    app.router.add_get("/", pages.index)
    app.router.add_get("/static/{name}", pages.static)
    api = _Api(source, config)
    app.on_shutdown.append(api.streams.end)
    for path, handler in api.gets.items():
        app.router.add_get(f"/api/{path}", api.guarded(handler))
    app.router.add_post("/api/kick", api.guarded(api.kick))
    app.router.add_route("*", "/api/{path:.*}", api.guarded(api.nothing))


class _Pages:
    """The files of the page, read once."""

    def __init__(self) -> None:
        folder = files("coordinator.console") / "static"
        self._files = {
            each.name: (KINDS["." + each.name.rpartition(".")[2]], each.read_bytes())
            for each in folder.iterdir()
            if "." + each.name.rpartition(".")[2] in KINDS
        }

    async def index(self, request: web.Request) -> web.Response:
        return self._file("index.html")

    async def static(self, request: web.Request) -> web.Response:
        return self._file(request.match_info["name"])

    def _file(self, name: str) -> web.Response:
        found = self._files.get(name)
        if found is None:
            raise web.HTTPNotFound
        kind, body = found
        response = web.Response(body=body, content_type=kind, charset="utf-8")
        response.headers.update(SECURITY | {"Cache-Control": "no-cache"})
        response.enable_compression()
        return response


class _Api:
    """The answers of a source over HTTP."""

    def __init__(self, source: ConsoleSource, config: Config) -> None:
        self._source = source
        self._token = config.http_admin_token
        address = config.http_address
        self._is_local = address is not None and is_loopback(address.host)
        self.streams = Streams(max(config.http_max_connections // 2, 1))
        self.gets: Final[dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = {
            "cluster": self._cluster,
            "groups": self._groups,
            "group": self._group,
            "stream/groups": self._stream_groups,
            "stream/group": self._stream_group,
        }

    def guarded(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return a handler that refuses requests to another host, and answers ConsoleError as JSON."""

        async def run(request: web.Request) -> web.StreamResponse:
            try:
                if self._is_local and not _is_this_machine(request.headers.get("Host", "127.0.0.1")):
                    raise ConsoleError("this port serves this machine: ask http://127.0.0.1 or http://localhost", 403)
                return await handler(request)
            except ConsoleError as error:
                return _json(Problem(error=str(error)), error.status)

        return run

    async def nothing(self, request: web.Request) -> web.StreamResponse:
        raise ConsoleError(f"there are: {', '.join(f'/api/{path}' for path in (*self.gets, 'kick'))}", 404)

    async def _cluster(self, request: web.Request) -> web.StreamResponse:
        return _json(await self._source.cluster())

    async def _groups(self, request: web.Request) -> web.StreamResponse:
        return _json(await self._listed(request)())

    async def _group(self, request: web.Request) -> web.StreamResponse:
        return _json(await self._source.group(*group_question(request.query)))

    def _listed(self, request: web.Request) -> Callable[[], Coroutine[Any, Any, Any]]:
        question = list_question(request.query)
        return lambda: self._source.groups(question)

    async def kick(self, request: web.Request) -> web.StreamResponse:
        if not self._token:
            raise ConsoleError("this console only shows: set http.admin.token to remove members with it", 403)
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not compare_digest(given, f"Bearer {self._token}".encode()):
            raise ConsoleError("the token is wrong: send the header `Authorization: Bearer TOKEN` with "
                               "http.admin.token", 401)  # fmt: skip
        wanted = kick_question(await _body(request))
        return _json(await self._source.kick(wanted.group, wanted.member_id, wanted.reason))

    async def _stream_groups(self, request: web.Request) -> web.StreamResponse:
        return await self.streams.run(request, "groups", LIST_S, self._listed(request))

    async def _stream_group(self, request: web.Request) -> web.StreamResponse:
        group, _ = group_question(request.query)
        return await self.streams.run(request, "group", GROUP_S, lambda: self._source.group(group))


async def _body(request: web.Request) -> bytes:
    body = await request.content.read(MOST_BODY + 1)
    while len(body) <= MOST_BODY and not request.content.at_eof():
        more = await request.content.read(MOST_BODY + 1 - len(body))
        if not more:
            break
        body += more
    if len(body) > MOST_BODY:
        raise ConsoleError(f"a body has at most {MOST_BODY} bytes", 413)
    return body


def _is_this_machine(host: str) -> bool:
    return is_loopback(host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0])


def _json(answer: Any, status: int = 200) -> web.Response:
    response = web.Response(
        body=msgspec.json.encode(answer), status=status, content_type="application/json", charset="utf-8"
    )
    response.headers.update({"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})
    response.enable_compression()
    return response
