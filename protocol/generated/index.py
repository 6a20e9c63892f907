"""Every declared API: key -> name of its modules, first and last version, first flexible version.

Written by `python -m protocol.generate`. Do not edit: change the declarations.
"""

# fmt: off
from __future__ import annotations

from typing import Final

NEVER: Final = 1 << 15  # above any version

APIS: Final[dict[int, tuple[str, int, int, int]]] = {
    0: ("produce", 0, 13, 9),
    1: ("fetch", 0, 18, 12),
    2: ("list_offsets", 0, 11, 6),
    3: ("metadata", 0, 13, 9),
    8: ("offset_commit", 0, 10, 8),
    9: ("offset_fetch", 0, 10, 6),
    10: ("find_coordinator", 0, 6, 3),
    11: ("join_group", 0, 9, 6),
    12: ("heartbeat", 0, 4, 4),
    13: ("leave_group", 0, 5, 4),
    14: ("sync_group", 0, 5, 4),
    15: ("describe_groups", 0, 6, 5),
    16: ("list_groups", 0, 5, 3),
    17: ("sasl_handshake", 0, 1, NEVER),
    18: ("api_versions", 0, 5, 3),
    19: ("create_topics", 0, 7, 5),
    20: ("delete_topics", 0, 6, 4),
    21: ("delete_records", 0, 2, 2),
    22: ("init_producer_id", 0, 6, 2),
    23: ("offset_for_leader_epoch", 0, 4, 4),
    24: ("add_partitions_to_txn", 0, 5, 3),
    25: ("add_offsets_to_txn", 0, 4, 3),
    26: ("end_txn", 0, 5, 3),
    27: ("write_txn_markers", 0, 2, 1),
    28: ("txn_offset_commit", 0, 6, 3),
    29: ("describe_acls", 0, 3, 2),
    30: ("create_acls", 0, 3, 2),
    31: ("delete_acls", 0, 3, 2),
    32: ("describe_configs", 0, 4, 4),
    33: ("alter_configs", 0, 2, 2),
    34: ("alter_replica_log_dirs", 1, 2, 2),
    35: ("describe_log_dirs", 0, 5, 2),
    36: ("sasl_authenticate", 0, 2, 2),
    37: ("create_partitions", 0, 3, 2),
    42: ("delete_groups", 0, 3, 2),
    43: ("elect_leaders", 0, 2, 2),
    44: ("incremental_alter_configs", 0, 1, 1),
    45: ("alter_partition_reassignments", 0, 1, 0),
    46: ("list_partition_reassignments", 0, 0, 0),
    47: ("offset_delete", 0, 0, NEVER),
    48: ("describe_client_quotas", 0, 1, 1),
    49: ("alter_client_quotas", 0, 1, 1),
    50: ("describe_user_scram_credentials", 0, 0, 0),
    51: ("alter_user_scram_credentials", 0, 0, 0),
    60: ("describe_cluster", 0, 2, 0),
    61: ("describe_producers", 0, 0, 0),
    65: ("describe_transactions", 0, 0, 0),
    66: ("list_transactions", 0, 2, 0),
    68: ("consumer_group_heartbeat", 0, 1, 0),
    69: ("consumer_group_describe", 0, 1, 0),
    71: ("get_telemetry_subscriptions", 0, 0, 0),
    72: ("push_telemetry", 0, 0, 0),
    74: ("list_config_resources", 0, 1, 0),
    75: ("describe_topic_partitions", 0, 0, 0),
    30000: ("follow_catalogue", 0, 0, 0),
    30001: ("explain_group", 0, 0, 0),
    30002: ("list_group_figures", 0, 0, 0),
    30003: ("describe_owners", 0, 0, 0),
    30004: ("list_open_transactions", 0, 0, 0),
}
