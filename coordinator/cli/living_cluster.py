"""`coordinator cluster` on a shared store (log.engine): who lives, who owns what, and the draining of a node.

The commands read and mark the entries of the nodes in the store; they need no node to answer. A node that is marked
hears of it with its next renewal.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from coordinator.cli.engine import engine_config, run_with_engine
from coordinator.cli.errors import CliError
from coordinator.cli.screen import tell
from coordinator.cli.table import Row, render
from coordinator.core.live_cluster import NEVER_OWNED, NO_NODE, NodeState, wanted_owner
from coordinator.storage.store_partitions import StorePartitions

if TYPE_CHECKING:
    from coordinator.core.live_cluster import ClusterMap
    from coordinator.membership.directory import Engine

NODE_COLUMNS: Final = ("NODE", "ADDRESS", "STATE", "PARTITIONS", "SHOULD-HAVE", "INCARNATION")
OWNER_COLUMNS: Final = ("TOPIC", "PARTITION", "OWNER", "SHOULD-BE", "EPOCH")
LOOK_S: Final = 0.2


def run(arguments: argparse.Namespace) -> int:
    """Run `describe`, `owners` or `drain` on the store that the arguments name."""
    config = engine_config(arguments)

    async def act(engine: Engine) -> None:
        facts = await engine.directory.known_facts()
        if facts is None or facts.cluster_id != config.cluster_id:
            raise CliError(f"the store has no cluster {config.cluster_id!r}; check --cluster-id", 1)
        view = await engine.directory.view()
        partitions = StorePartitions(facts.offsets_partitions, facts.transaction_partitions)
        if arguments.action == "drain":
            await drain(engine, partitions.total, arguments.node, undo=arguments.undo)
            return
        if not any(number >= partitions.offsets for number in view.owners):
            partitions = StorePartitions(facts.offsets_partitions)  # the nodes serve no transactions
        if arguments.action == "owners":
            print(render(arguments.output, OWNER_COLUMNS, owner_rows(view, partitions)))
        else:
            print(render(arguments.output, NODE_COLUMNS, node_rows(view, partitions.total)))

    return run_with_engine(config, act)


def node_rows(view: ClusterMap, partitions: int) -> list[Row]:
    """Return a row for each node that has announced itself."""
    owned = Counter(_owner(view, partition) for partition in range(partitions))
    wanted = Counter(_wanted(view, partition) for partition in range(partitions))
    return [
        {
            "NODE": number,
            "ADDRESS": f"{each.node.host}:{each.node.port}",
            "STATE": each.state.value if each.is_fresh or not each.may_own else "silent",
            "PARTITIONS": owned[number],
            "SHOULD-HAVE": wanted[number],
            "INCARNATION": each.incarnation,
        }
        for number, each in sorted(view.nodes.items())
    ]


def owner_rows(view: ClusterMap, partitions: StorePartitions) -> list[Row]:
    """Return a row for each partition of the offsets log, and of the transaction log."""
    rows: list[Row] = []
    for number in range(partitions.total):
        topic, partition = partitions.place(number)
        rows.append(
            {
                "TOPIC": topic,
                "PARTITION": partition,
                "OWNER": _known(_owner(view, number)),
                "SHOULD-BE": _known(_wanted(view, number)),
                "EPOCH": view.owners.get(number, NEVER_OWNED).epoch,
            }
        )
    return rows


def _owner(view: ClusterMap, partition: int) -> int:
    owner = view.owner(partition)
    return NO_NODE if owner is None else owner.node.id


def _wanted(view: ClusterMap, partition: int) -> int:
    return wanted_owner(partition, [number for number, each in view.nodes.items() if each.is_up])


def _known(node_id: int) -> int | None:
    return None if node_id == NO_NODE else node_id


async def drain(engine: Engine, partitions: int, node_id: int, *, undo: bool) -> None:
    """Mark a node as draining and wait until it owns nothing, or mark it as up. Raises CliError, LogStoreError."""
    if not await engine.directory.mark(node_id, NodeState.UP if undo else NodeState.DRAINING):
        raise CliError(f"node {node_id} is not there, or was declared dead; see `coordinator cluster describe`", 1)
    if undo:
        tell(f"node {node_id} takes partitions again")
        return
    left = -1
    while left:
        view = await engine.directory.view()
        if not any(number != node_id and each.is_up for number, each in view.nodes.items()):
            raise CliError(f"no other node is up, so node {node_id} keeps its partitions; start one, or use --undo", 1)
        count = sum(_owner(view, partition) == node_id for partition in range(partitions))
        if count != left:
            left = count
            tell(f"node {node_id} still has {left} partitions" if left else f"node {node_id} is empty: stop it now")
        await asyncio.sleep(LOOK_S if left else 0)
