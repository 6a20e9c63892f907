"""The shared store that a command works on: its settings, and how it is opened."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError
from coordinator.cli.screen import number, tell
from coordinator.cli.serve import read_properties
from coordinator.cli.table import escaped
from coordinator.config.sources import load
from coordinator.core.topics.names import partition_directory
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.engine.log_copy import CopiedPartition
    from coordinator.membership.directory import Engine

FLAGS: Final = {"log_engine": "log.engine", "cluster_id": "cluster.id"}
_MB: Final = 1_000_000


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the store; the nodes' own file of settings has them, too."""
    add = parser.add_argument
    add("--log-engine", metavar="ADDRESS", help="the store, as postgresql://host1,host2/database")
    add("--cluster-id", metavar="ID", help="the cluster.id of the nodes that share the store")
    add("--config", metavar="FILE", type=Path, help="settings of a node, in the syntax of Kafka's server.properties")
    add("--override", metavar="KEY=VALUE", action="append", default=[], help="one setting; repeatable")


def engine_config(arguments: argparse.Namespace) -> Config:
    """Return the settings. CliError: they name no store; ConfigError: one is wrong."""
    config = load(
        read_properties(arguments.config) if arguments.config is not None else None,
        arguments.override,
        os.environ,
        file_name=str(arguments.config),
        flags={key: getattr(arguments, name) for name, key in FLAGS.items() if getattr(arguments, name) is not None},
        warn=tell,
    )
    if not config.is_shared:
        raise CliError("no store is named; give its address with --log-engine, or the settings of a node with --config")
    return config


def run_with_engine(config: Config, act: Callable[[Engine], Awaitable[None]], *, for_reading: bool = False) -> int:
    """Open the store, work on it, and close it. Returns the exit code 0. CliError: it cannot be used.

    `for_reading` as in `open_engine`.
    """
    from coordinator.engine.opening import open_engine

    async def work() -> None:
        engine = await open_engine(config, config.node_id, for_reading=for_reading)
        try:
            await act(engine)
        finally:
            await engine.directory.close()
            await engine.store.close()

    try:
        asyncio.run(work())
    except LogStoreError as error:
        raise CliError(str(error), 1 if error.may_pass else 2) from None
    return 0


def say_copied(place: tuple[str, int], copied: CopiedPartition, before: str) -> None:
    """Print a line about a partition of a topic. `before`: what became of the records before its first offset."""
    text = f"{partition_directory(*place)}: {number(copied.batches)} batches, {copied.size_bytes / _MB:.1f} MB"
    if copied.start_offset:
        text += f", {before} offset {copied.start_offset}"
    print(escaped(f"{text}, up to offset {copied.end_offset}"), flush=True)
