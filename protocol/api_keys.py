"""The API keys: the first two bytes of every request. Source: Kafka's `ApiKeys` and its message JSON definitions.

Every key whose messages this package declares is listed, served or not; the coordinator's table of handlers says which
keys and versions it serves. The names are Kafka's. Messages between nodes of this coordinator have keys from
`FIRST_OF_OURS` on, far above those of Kafka.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

FIRST_OF_OURS: Final = 30_000


class ApiKey(IntEnum):
    """An API of the Kafka protocol, or one between nodes of this coordinator."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    # Of this package; ApiVersions does not list them.
    FOLLOW_CATALOGUE = 30_000  # between nodes
    EXPLAIN_GROUP = 30_001  # for the command line
    LIST_GROUP_FIGURES = 30_002  # for the console, as the next ones
    DESCRIBE_OWNERS = 30_003
    LIST_OPEN_TRANSACTIONS = 30_004

    @property
    def is_kafkas(self) -> bool:
        """True for an API of Kafka, which clients may know."""
        return self < FIRST_OF_OURS

    @property
    def module_name(self) -> str:
        """Name of the module of the declarations and of the generated codec: `join_group` for JOIN_GROUP."""
        return self.name.lower()
