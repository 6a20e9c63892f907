"""The check of each API. A request of an API that is in neither table closes its connection."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coordinator.server.api.authorization import cluster, configs, groups, offsets, records, topics, transactions
from coordinator.server.api.authorization.verdict import Check
from protocol.api_keys import ApiKey

# No rights are needed for what a client sends before it has a principal, and for its own metrics.
UNGUARDED: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
    }
)

CHECKS: Final[Mapping[int, Check]] = MappingProxyType(
    {
        ApiKey.PRODUCE: records.produce,
        ApiKey.FETCH: records.fetch,
        ApiKey.LIST_OFFSETS: records.list_offsets,
        ApiKey.METADATA: topics.metadata,
        ApiKey.OFFSET_COMMIT: offsets.offset_commit,
        ApiKey.OFFSET_FETCH: offsets.offset_fetch,
        ApiKey.FIND_COORDINATOR: groups.find_coordinator,
        ApiKey.JOIN_GROUP: groups.join_group,
        ApiKey.HEARTBEAT: groups.heartbeat,
        ApiKey.LEAVE_GROUP: groups.leave_group,
        ApiKey.SYNC_GROUP: groups.sync_group,
        ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
        ApiKey.LIST_GROUPS: groups.list_groups,
        ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.consumer_group_heartbeat,
        ApiKey.CONSUMER_GROUP_DESCRIBE: groups.consumer_group_describe,
        ApiKey.CREATE_TOPICS: topics.create_topics,
        ApiKey.DELETE_TOPICS: topics.delete_topics,
        ApiKey.DELETE_RECORDS: records.delete_records,
        ApiKey.INIT_PRODUCER_ID: records.init_producer_id,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: records.offset_for_leader_epoch,
        ApiKey.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
        ApiKey.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
        ApiKey.END_TXN: transactions.end_txn,
        ApiKey.TXN_OFFSET_COMMIT: transactions.txn_offset_commit,
        ApiKey.DESCRIBE_TRANSACTIONS: transactions.describe_transactions,
        ApiKey.LIST_TRANSACTIONS: transactions.list_transactions,
        ApiKey.DESCRIBE_PRODUCERS: transactions.describe_producers,
        ApiKey.WRITE_TXN_MARKERS: transactions.write_txn_markers,
        ApiKey.DESCRIBE_ACLS: cluster.describe_acls,
        ApiKey.CREATE_ACLS: cluster.create_acls,
        ApiKey.DELETE_ACLS: cluster.delete_acls,
        ApiKey.DESCRIBE_CONFIGS: configs.describe_configs,
        ApiKey.ALTER_CONFIGS: configs.alter_configs,
        ApiKey.ALTER_REPLICA_LOG_DIRS: cluster.alter_replica_log_dirs,
        ApiKey.DESCRIBE_LOG_DIRS: cluster.describe_log_dirs,
        ApiKey.CREATE_PARTITIONS: topics.create_partitions,
        ApiKey.DELETE_GROUPS: groups.delete_groups,
        ApiKey.ELECT_LEADERS: cluster.elect_leaders,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: configs.alter_configs,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: cluster.alter_reassignments,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: cluster.list_reassignments,
        ApiKey.OFFSET_DELETE: offsets.offset_delete,
        ApiKey.DESCRIBE_CLIENT_QUOTAS: cluster.describe_quotas,
        ApiKey.ALTER_CLIENT_QUOTAS: cluster.alter_quotas,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: cluster.describe_scram,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: cluster.alter_scram,
        ApiKey.DESCRIBE_CLUSTER: cluster.describe_cluster,
        ApiKey.LIST_CONFIG_RESOURCES: cluster.list_config_resources,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: topics.describe_topic_partitions,
        ApiKey.FOLLOW_CATALOGUE: cluster.follow_catalogue,
        ApiKey.EXPLAIN_GROUP: groups.explain_group,
        ApiKey.DESCRIBE_OWNERS: groups.describe_owners,
        ApiKey.LIST_GROUP_FIGURES: cluster.list_group_figures,
        ApiKey.LIST_OPEN_TRANSACTIONS: cluster.list_open_transactions,
    }
)

# Requests that may resolve the regular expressions of their group: topics are filtered by the rights of their client.
RESOLVES_TOPICS: Final = frozenset({int(ApiKey.CONSUMER_GROUP_HEARTBEAT), int(ApiKey.JOIN_GROUP)})
