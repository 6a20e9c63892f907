"""Opens the engine that `log.engine` names. The packages of an engine are imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from coordinator.storage.log_store import LogStoreError
from coordinator.version import install

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.membership.directory import Engine


async def open_engine(config: Config, node_id: int, *, for_reading: bool = False) -> Engine:
    """Connect to the store and check it. Raises LogStoreError with a sentence for the user.

    `for_reading`: the store is only read, so nothing is made in it or proved of it.
    """
    scheme = urlsplit(config.log_engine).scheme
    if scheme == "kafka":
        from coordinator.engine.kafka.opening import open_kafka

        return await open_kafka(config, node_id, for_reading=for_reading)
    try:
        from coordinator.engine.postgres.opening import open_postgres
    except ImportError as error:
        raise LogStoreError(
            f"log.engine needs the package {error.name}; run: {install('postgres')}",
            may_pass=False,
        ) from None
    return await open_postgres(config, node_id, for_reading=for_reading)
