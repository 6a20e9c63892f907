"""The parts of a daemon that its HTTP port serves."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol

from coordinator.metrics.health import ServerStatus

if TYPE_CHECKING:
    from coordinator.console.source import ConsoleSource


class Headers(Protocol):
    """The head of a request, by the names of its lines in any case."""

    def get(self, name: str, default: str, /) -> str: ...

    def __contains__(self, name: object, /) -> bool: ...


Status = Callable[[], ServerStatus]
# (path, query, headers) to status and JSON; called in a thread of its own, and may block
Commands = Callable[[str, str, Headers], tuple[HTTPStatus, bytes]]


class HttpParts(NamedTuple):
    """`status` and `commands` are called in threads; `console` on the loop of the HTTP port, once."""

    status: Status
    commands: Commands | None = None
    console: Callable[[], ConsoleSource] | None = None
