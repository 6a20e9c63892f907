"""`coordinator log import DATA-DIR`: brings the offsets log of a data directory into a store that nodes share.

All nodes must be stopped: the command takes all claims, as a node with the node.id of the settings. Partitions of the
store must be empty. The directory stays as it is, apart from what the start of a daemon would repair.
"""

from __future__ import annotations

import argparse
import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.compact.daemon_lock import lock_of, sentences
from coordinator.cli.engine import add_engine, engine_config, run_with_engine, say_copied
from coordinator.cli.errors import CliError
from coordinator.cli.log.partitions import data_dirs
from coordinator.cli.screen import tell
from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.storage.data_dir import told_transaction_partitions
from coordinator.storage.file_names import compacted_log
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log_store import Claim, LogStoreError
from coordinator.storage.store_partitions import StorePartitions

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.membership.directory import Engine, NodeDirectory

DESCRIPTION: Final = "Bring the offsets log of a data directory into an empty log.engine. All nodes must be stopped."

EPILOG: Final = """\
examples:
  coordinator log import --log-engine postgresql://db1,db2/kgc --cluster-id prod data
  coordinator log import --config node.properties data

A partition that was compacted is brought in from its last gap on, with a snapshot of its state; the directory keeps the
earlier past. Start no node before the command has ended with exit code 0. After an error, begin again with an empty
store: drop the schema of the cluster, or take another --cluster-id."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine(parser)
    parser.add_argument("data_dir", metavar="DATA-DIR", type=Path, help="the data directory of a stopped daemon")


def run(arguments: argparse.Namespace) -> int:
    config = engine_config(arguments)
    logs = {
        data_dir: [found for each in partitions if (found := compacted_log(each.name)) is not None]
        for data_dir, partitions in data_dirs(arguments.data_dir).items()
    }
    with ExitStack() as locks:
        for data_dir in logs:
            try:
                locks.enter_context(closing(lock_of(RealFileSystem(), data_dir)))
            except BlockingIOError:
                raise CliError(f"a daemon serves {data_dir}; stop it first") from None
        return run_with_engine(config, lambda engine: import_logs(engine, config, logs))


async def import_logs(engine: Engine, config: Config, logs: Mapping[Path, list[tuple[str, int]]]) -> None:
    """Copy these partitions, by topic and number, of data directories; print a line for each that has records.

    CliError: a node runs, the store is not empty, or the directory is of another kind; LogStoreError.
    """
    from coordinator.engine.file_store import FileLogStore
    from coordinator.engine.log_copy import import_partition

    partitions = await _agreed_partitions(engine.directory, config, logs)
    numbers = {data_dir: _numbers(places, partitions) for data_dir, places in logs.items()}
    wanted = sorted(number for each in numbers.values() for number in each)
    async with _only_node(engine, config) as claims:
        for number in wanted:
            claims.append(await _claim_empty(engine, number))
        found = {claim.partition: claim for claim in claims}
        for data_dir, of_one in numbers.items():
            files = FileLogStore(data_dir, partitions=partitions)
            try:
                for number in of_one:
                    copied = await import_partition(files, engine.store, found[number])
                    if copied.end_offset:
                        say_copied(partitions.place(number), copied, "with a snapshot of what was compacted before")
            finally:
                await files.close()


async def _agreed_partitions(
    directory: NodeDirectory, config: Config, logs: Mapping[Path, list[tuple[str, int]]]
) -> StorePartitions:
    """Return the partitions of the store, and of all directories. CliError: they have others."""
    from coordinator.history.source import HistorySource
    from coordinator.membership.directory import StoreFacts

    facts: StoreFacts | None = None
    for data_dir, places in logs.items():
        with sentences():
            offsets = HistorySource.of(data_dir).offsets_partitions
            transactions = told_transaction_partitions(data_dir)
        found = [partition for topic, partition in places if topic == TRANSACTIONS_TOPIC]
        if transactions is None:  # a Kafka's directory has all of them
            transactions = max(found) + 1 if found else config.transaction_state_log_num_partitions
        facts = await directory.facts(StoreFacts(config.cluster_id, offsets, transactions))
        for noun, here, there in (
            ("", offsets, facts.offsets_partitions),
            (
                " of the transaction log",
                transactions if found else facts.transaction_partitions,
                facts.transaction_partitions,
            ),
        ):
            if here != there:
                raise CliError(
                    f"{data_dir} has {here} partitions{noun}, but the cluster {facts.cluster_id} in the store has "
                    f"{there}; take another --cluster-id"
                )
        if found and not config.has_topics:
            tell(
                "the transaction log is not imported, because nodes with these settings serve no transactions; if they "
                "have topics, set topics.storage=local"
            )
    assert facts is not None
    return StorePartitions(facts.offsets_partitions, facts.transaction_partitions if config.has_topics else 0)


def _numbers(places: Iterable[tuple[str, int]], partitions: StorePartitions) -> list[int]:
    """Return the numbers that partitions have in the store, without those that it does not take."""
    return [
        partition if topic == OFFSETS_TOPIC else partitions.number_of_transaction_partition(partition)
        for topic, partition in places
        if topic == OFFSETS_TOPIC or partitions.transactions
    ]


@asynccontextmanager
async def _only_node(engine: Engine, config: Config) -> AsyncIterator[list[Claim]]:
    """Be the only node, and release in the end the claims that were put into the list. CliError: a node runs."""
    from coordinator.core.cluster import ClusterNode

    directory = engine.directory
    address = config.advertised_address or config.listen_address
    await directory.announce(ClusterNode(config.node_id, address.host, address.port), uuid.uuid4().hex)
    claims: list[Claim] = []
    renewals: asyncio.Task[None] | None = None
    try:
        await _outlast_others(directory, config)
        renewals = asyncio.create_task(_renew(directory, config))
        yield claims
    finally:
        if renewals is not None:
            renewals.cancel()
            await asyncio.wait([renewals])
        with suppress(LogStoreError):  # they end with the lease
            for claim in claims:
                await engine.store.release(claim)
            await directory.leave()


async def _outlast_others(directory: NodeDirectory, config: Config) -> None:
    """Declare nodes dead that are silent. CliError: one is not."""
    heartbeat_s = config.cluster_heartbeat_ms / 1000
    for _ in range(2 * config.cluster_lease_ms // config.cluster_heartbeat_ms + 1):
        others = [
            each
            for number, each in (await directory.renew()).nodes.items()
            if number != config.node_id and each.may_own
        ]
        if not others:
            return
        for each in others:
            if not each.is_fresh:
                await directory.expire(each.node.id, each.incarnation)
        await asyncio.sleep(heartbeat_s)
    raise CliError(f"node {', '.join(str(each.node) for each in others)} runs; stop all nodes of the cluster first")


async def _renew(directory: NodeDirectory, config: Config) -> None:
    """Renew the lease of this command. After it was lost, the store refuses the next append."""
    while True:
        await asyncio.sleep(config.cluster_heartbeat_ms / 1000)
        with suppress(LogStoreError):
            await directory.renew()


async def _claim_empty(engine: Engine, partition: int) -> Claim:
    """Claim a partition. CliError: it is not empty."""
    from coordinator.core.live_cluster import NEVER_OWNED

    view = await engine.directory.renew()
    claim = await engine.store.claim(partition, view.owners.get(partition, NEVER_OWNED).epoch)
    if claim.end_offset:
        await engine.store.release(claim)
        raise CliError(
            f"partition {partition} of {engine.store.name} has records up to offset {claim.end_offset}; import into an "
            "empty store: drop the schema of the cluster, or take another --cluster-id"
        )
    return claim
