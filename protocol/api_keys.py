"""The numbers of Kafka's APIs: what the first two bytes of every request say.

Every key that this package declares is here, served or not: which of them the coordinator answers, and in which
versions, is the business of its table of handlers. The names are Kafka's; `module_name` is the name of the module in
`protocol.messages` that declares the two messages of the key. What only our own nodes say to each other has keys that
Kafka will not reach.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

FIRST_OF_OURS: Final = 30_000


class ApiKey(IntEnum):
    """An API of the Kafka protocol, or one of ours."""

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
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    OFFSET_DELETE = 47
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
    FOLLOW_CATALOGUE = 30_000  # ours: between nodes, and never told to clients

    @property
    def is_kafkas(self) -> bool:
        """Whether clients may know of it."""
        return self < FIRST_OF_OURS

    @property
    def module_name(self) -> str:
        """`join_group` for JOIN_GROUP: the module of its declarations and of its generated codec."""
        return self.name.lower()
