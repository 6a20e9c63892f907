"""`coordinator log export DIRECTORY`: the offsets log of a store that nodes share, as a data directory.

The store is only read, and its nodes may go on. The files are an ordinary log: a daemon, `history`, `log verify` and
Spark work on them. Where the store has deleted batches, the newest records of their keys stand instead.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.engine import add_engine, engine_config, run_with_engine, say_copied
from coordinator.cli.errors import CliError
from coordinator.storage.data_dir import DataDir, DataDirError
from coordinator.storage.log.log import LogConfig
from coordinator.storage.store_partitions import StorePartitions

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.membership.directory import Engine

DESCRIPTION: Final = "Write the offsets log of a log.engine into files. The store is only read; its nodes may go on."

EPILOG: Final = """\
examples:
  coordinator log export --log-engine postgresql://db1,db2/kgc --cluster-id prod copy
  coordinator log export --config node.properties copy
  coordinator history commits orders-service --data-dir copy

Each partition is as it is when its turn comes. Begin with a new directory each time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine(parser)
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="a new directory")


def run(arguments: argparse.Namespace) -> int:
    config = engine_config(arguments)
    directory: Path = arguments.directory
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CliError(f"{directory} is not empty; give a new directory")
    return run_with_engine(config, lambda engine: export(engine, config, directory))


async def export(engine: Engine, config: Config, directory: Path) -> None:
    """Write all partitions into a new data directory, and print a line for each that has records.

    CliError: the directory cannot be used, or there is nothing to write; LogStoreError.
    """
    from coordinator.engine.file_store import FileLogStore
    from coordinator.engine.log_copy import export_partition

    facts = await engine.directory.known_facts()
    if facts is None:
        raise CliError(f"{engine.store.name} has no records of the cluster {config.cluster_id}; check --cluster-id", 1)
    partitions = StorePartitions(facts.offsets_partitions, facts.transaction_partitions)
    identity = replace(
        config,
        cluster_id=facts.cluster_id,
        offsets_topic_num_partitions=partitions.offsets,
        transaction_state_log_num_partitions=partitions.transactions,
        cluster_nodes="",
    )
    try:
        data_dir = DataDir.open(directory, identity)
    except DataDirError as error:
        raise CliError(str(error)) from None
    files = FileLogStore(
        directory,
        LogConfig(config.offsets_topic_segment_bytes, config.log_roll_ms, config.log_index_interval_bytes),
        partitions=partitions,
    )
    has_records = False
    try:
        for partition in await _claimed_once(engine, partitions):
            copied = await export_partition(engine.store, files, partition)
            if copied.end_offset:
                has_records = True
                say_copied(partitions.place(partition), copied, "compacted before")
    finally:
        await files.close()
        data_dir.close()
    if not has_records:
        raise CliError(f"{engine.store.name} has no records of the cluster {facts.cluster_id}; check --cluster-id", 1)


async def _claimed_once(engine: Engine, partitions: StorePartitions) -> list[int]:
    """Return the numbers of all partitions of the offsets log, and of those of the transaction log that nodes use."""
    owners = (await engine.directory.view()).owners
    return [number for number in range(partitions.total) if number < partitions.offsets or number in owners]
