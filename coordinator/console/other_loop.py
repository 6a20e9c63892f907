"""A source of the console that lives on another event loop than the HTTP port."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from coordinator.console.model import ClusterView, GroupList, GroupPage, Kicked
from coordinator.console.source import ConsoleError, ConsoleSource, ListQuestion

T = TypeVar("T")


class OnLoop:
    """A `ConsoleSource` that has every question answered by `source` on `loop`."""

    def __init__(self, source: ConsoleSource, loop: asyncio.AbstractEventLoop) -> None:
        self._source = source
        self._loop = loop

    async def _ask(self, question: Coroutine[Any, Any, T]) -> T:
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question, self._loop))
        except RuntimeError:  # the loop is closed
            question.close()
            raise ConsoleError("the process stops", 503) from None

    async def cluster(self) -> ClusterView:
        return await self._ask(self._source.cluster())

    async def groups(self, question: ListQuestion) -> GroupList:
        return await self._ask(self._source.groups(question))

    async def group(self, group: str, at_ms: int | None = None) -> GroupPage:
        return await self._ask(self._source.group(group, at_ms))

    async def kick(self, group: str, member_id: str, reason: str) -> Kicked:
        return await self._ask(self._source.kick(group, member_id, reason))
