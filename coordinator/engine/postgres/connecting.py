"""Connections to the host of `log.engine` that takes writes.

All hosts are tried at the same time, so that one that is switched off delays nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg

from coordinator.engine.postgres.errors import cannot_connect, most_telling

if TYPE_CHECKING:
    from coordinator.engine.postgres.settings import PostgresSettings

READ_WRITE = "read-write"


async def connect(settings: PostgresSettings, timeout_s: float, parameters: dict[str, str]) -> Any:
    """Return a connection to the first host that is fit for use. Raises NotConnectedError.

    `parameters`: settings of the session, by their names in PostgreSQL.
    """
    places: list[dict[str, Any]] = [{"host": one.host, "port": one.port} for one in settings.hosts] or [{}]
    options = {
        "dsn": settings.dsn,
        "timeout": timeout_s,
        "server_settings": parameters,
        "target_session_attrs": settings.session_attrs or READ_WRITE,
        **settings.credentials(),
    }
    tries = {asyncio.ensure_future(asyncpg.connect(**options, **place)) for place in places}
    errors: list[BaseException] = []
    try:
        while tries:
            done, tries = await asyncio.wait(tries, return_when=asyncio.FIRST_COMPLETED)
            errors += [error for one in done if (error := one.exception()) is not None]
            fit = [one.result() for one in done if one.exception() is None]
            for spare in fit[1:]:
                spare.terminate()
            if fit:
                return fit[0]
    finally:
        for late in tries:
            late.add_done_callback(_discard)
            late.cancel()
    raise cannot_connect(settings, most_telling(errors)) from None


def _discard(late: asyncio.Future[Any]) -> None:
    if not late.cancelled() and late.exception() is None:
        late.result().terminate()
