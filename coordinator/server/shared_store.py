"""Starts a node whose offsets log is in a shared store. It is imported only by such nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coordinator.config.config import keys
from coordinator.core.cluster import Cluster
from coordinator.core.live_cluster import LiveOwnership
from coordinator.engine.opening import open_engine
from coordinator.membership.directory import StoreFacts
from coordinator.membership.membership import Membership, MembershipSettings
from coordinator.server.claimed_partitions import ClaimedPartitions
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.store_partitions import StorePartitions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from coordinator.config.config import Config
    from coordinator.membership.directory import Engine
    from coordinator.server.node_links import NodeLinks
    from coordinator.server.runtime import Runtime
    from coordinator.storage.machine import Machine


async def open_store(
    config: Config, opener: Callable[[Config, int], Awaitable[Engine]] = open_engine
) -> tuple[Engine, Config]:
    """Open the store of `log.engine`; return it, and the settings with the facts that all nodes share.

    Raises LogStoreError if it cannot be used, or belongs to a cluster with other facts.
    """
    engine = await opener(config, config.node_id)
    try:
        return engine, await _agreed(config, engine)
    except BaseException:
        await close_store(engine)
        raise


async def close_store(engine: Engine) -> None:
    """Close the connections to the store."""
    await engine.documents.close()
    await engine.store.close()
    await engine.directory.close()


async def _agreed(config: Config, engine: Engine) -> Config:
    facts = await engine.directory.facts(
        StoreFacts(config.cluster_id, config.offsets_topic_num_partitions, config.transaction_state_log_num_partitions)
    )
    if facts.cluster_id != config.cluster_id:
        raise LogStoreError(
            f"{engine.store.name} belongs to the cluster {facts.cluster_id}, but cluster.id is {config.cluster_id}; "
            "set cluster.id to that, or log.engine to another store",
            may_pass=False,
        )
    for key, asked, agreed in (
        ("offsets.topic.num.partitions", config.offsets_topic_num_partitions, facts.offsets_partitions),
        (
            "transaction.state.log.num.partitions",
            config.transaction_state_log_num_partitions,
            facts.transaction_partitions,
        ),
    ):
        if asked not in (agreed, keys()[key].default):  # the default is not a request, as for a data directory
            raise LogStoreError(
                f"{engine.store.name} has {key}={agreed}, which cannot change any more; set {key}={agreed}, or "
                "log.engine to another store",
                may_pass=False,
            )
    has_topics = config.has_topics
    return replace(
        config,
        offsets_topic_num_partitions=facts.offsets_partitions,
        transaction_state_log_num_partitions=facts.transaction_partitions,
        offsets_commit_topic_check=config.offsets_commit_topic_check and has_topics,
        auto_create_topics_enable=config.auto_create_topics_enable and has_topics,
        group_events_topic_enable=False,  # its partitions would move with those of the offsets log, but not their files
    )


def living(cluster: Cluster, config: Config) -> Cluster:
    """Return a cluster whose nodes and owners are those of the newest map of the store."""
    nodes = dict(cluster.nodes)
    topics = cluster.ownership if config.cluster_nodes else None
    return Cluster(nodes, cluster.node_id, LiveOwnership(cluster.me, nodes, topics, StorePartitions.of(config).offsets))


def claimed_partitions(config: Config, engine: Engine, cluster: Cluster, machine: Machine) -> ClaimedPartitions:
    """Return the partitions of this node, which has claimed none yet. `cluster` is that of `living`."""
    assert isinstance(cluster.ownership, LiveOwnership)
    return ClaimedPartitions(config, engine, cluster.ownership, machine)


async def join(
    config: Config, engine: Engine, claimed: ClaimedPartitions, runtime: Runtime, links: NodeLinks
) -> Membership:
    """Announce this node, which begins to claim its share of the partitions. Raises LogStoreError."""
    settings = MembershipSettings(
        StorePartitions.of(config).total,
        config.cluster_lease_ms,
        config.cluster_heartbeat_ms,
        config.cluster_rebalance_delay_ms,
    )
    claimed.runtime = runtime
    machine = runtime.machine
    claimed.membership = Membership(
        runtime.cluster.me,
        engine,
        claimed,
        settings,
        links.open_peer,
        clock=machine.boot_time,
        new_incarnation=lambda: machine.new_uuid().hex,
    )
    await claimed.membership.start()
    return claimed.membership
