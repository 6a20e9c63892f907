"""Opens the PostgreSQL engine for one node."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from coordinator.engine.postgres.claimant import Claimant
from coordinator.engine.postgres.directory import PostgresDirectory
from coordinator.engine.postgres.documents import PostgresDocuments
from coordinator.engine.postgres.settings import read_settings
from coordinator.engine.postgres.store import PostgresLogStore
from coordinator.membership.directory import Engine

if TYPE_CHECKING:
    from coordinator.config.config import Config

LOG: Final = logging.getLogger("coordinator.cluster")


async def open_postgres(
    config: Config, node_id: int, *, clock: Callable[[], float] = time.monotonic, for_reading: bool = False
) -> Engine:
    """Connect to the database, check it, and make its tables. Raises LogStoreError with a sentence for the user.

    `clock` counts the seconds for which other nodes were silent. `for_reading`: nothing is made, and the connection is
    opened when it is needed.
    """
    settings = read_settings(config, node_id)
    claimant = Claimant(node_id)
    directory = PostgresDirectory(settings, claimant, clock)
    store = PostgresLogStore(settings, claimant)
    engine = Engine(store, directory, PostgresDocuments(settings, store.work, directory))
    if for_reading:
        return engine
    try:
        await directory.open()
        await store.open()
    except BaseException:
        await directory.close()
        await store.close()
        raise
    LOG.info("opened %s schema=%s", settings.name, settings.schema)
    return engine
