"""docs/protocol.md: which of Kafka's requests are served, written from the table of handlers.

Versions come from `HANDLERS`, so the page cannot promise what is not served; what Kafka serves is written down here,
as Kafka 4.4.0's own definitions say it (the requests with the listener "broker"). What is done and what is refused
is one sentence for each row of the table: a row without one, or a sentence without its row, fails a test.

Write it with `make generate`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey

# Key, name and versions of every request that a broker of Kafka 4.4.0 knows; the last is the newest.
KAFKA: Final[dict[int, tuple[str, int, int]]] = {
    0: ("Produce", 3, 13),
    1: ("Fetch", 4, 18),
    2: ("ListOffsets", 1, 11),
    3: ("Metadata", 0, 13),
    8: ("OffsetCommit", 2, 10),
    9: ("OffsetFetch", 1, 10),
    10: ("FindCoordinator", 0, 6),
    11: ("JoinGroup", 0, 9),
    12: ("Heartbeat", 0, 4),
    13: ("LeaveGroup", 0, 5),
    14: ("SyncGroup", 0, 5),
    15: ("DescribeGroups", 0, 6),
    16: ("ListGroups", 0, 5),
    17: ("SaslHandshake", 0, 1),
    18: ("ApiVersions", 0, 5),
    19: ("CreateTopics", 2, 7),
    20: ("DeleteTopics", 1, 6),
    21: ("DeleteRecords", 0, 2),
    22: ("InitProducerId", 0, 5),  # 6 is declared, and not stable yet
    23: ("OffsetForLeaderEpoch", 2, 4),
    24: ("AddPartitionsToTxn", 0, 5),
    25: ("AddOffsetsToTxn", 0, 4),
    26: ("EndTxn", 0, 5),
    27: ("WriteTxnMarkers", 1, 2),
    28: ("TxnOffsetCommit", 0, 6),
    29: ("DescribeAcls", 1, 3),
    30: ("CreateAcls", 1, 3),
    31: ("DeleteAcls", 1, 3),
    32: ("DescribeConfigs", 1, 4),
    33: ("AlterConfigs", 0, 2),
    34: ("AlterReplicaLogDirs", 1, 2),
    35: ("DescribeLogDirs", 1, 5),
    36: ("SaslAuthenticate", 0, 2),
    37: ("CreatePartitions", 0, 3),
    38: ("CreateDelegationToken", 1, 3),
    39: ("RenewDelegationToken", 1, 2),
    40: ("ExpireDelegationToken", 1, 2),
    41: ("DescribeDelegationToken", 1, 3),
    42: ("DeleteGroups", 0, 3),
    43: ("ElectLeaders", 0, 2),
    44: ("IncrementalAlterConfigs", 0, 1),
    45: ("AlterPartitionReassignments", 0, 1),
    46: ("ListPartitionReassignments", 0, 0),
    47: ("OffsetDelete", 0, 0),
    48: ("DescribeClientQuotas", 0, 1),
    49: ("AlterClientQuotas", 0, 1),
    50: ("DescribeUserScramCredentials", 0, 0),
    51: ("AlterUserScramCredentials", 0, 0),
    55: ("DescribeQuorum", 0, 2),
    57: ("UpdateFeatures", 0, 2),
    60: ("DescribeCluster", 0, 2),
    61: ("DescribeProducers", 0, 0),
    64: ("UnregisterBroker", 0, 0),
    65: ("DescribeTransactions", 0, 0),
    66: ("ListTransactions", 0, 2),
    68: ("ConsumerGroupHeartbeat", 0, 1),
    69: ("ConsumerGroupDescribe", 0, 1),
    71: ("GetTelemetrySubscriptions", 0, 0),
    72: ("PushTelemetry", 0, 0),
    74: ("ListConfigResources", 0, 1),
    75: ("DescribeTopicPartitions", 0, 0),
    76: ("ShareGroupHeartbeat", 1, 1),
    77: ("ShareGroupDescribe", 1, 1),
    78: ("ShareFetch", 1, 2),
    79: ("ShareAcknowledge", 1, 2),
    80: ("AddRaftVoter", 0, 1),
    81: ("RemoveRaftVoter", 0, 0),
    83: ("InitializeShareGroupState", 0, 0),
    84: ("ReadShareGroupState", 0, 0),
    85: ("WriteShareGroupState", 0, 1),
    86: ("DeleteShareGroupState", 0, 0),
    87: ("ReadShareGroupStateSummary", 0, 1),
    88: ("StreamsGroupHeartbeat", 0, 1),
    89: ("StreamsGroupDescribe", 0, 1),
    90: ("DescribeShareGroupOffsets", 0, 1),
    91: ("AlterShareGroupOffsets", 0, 0),
    92: ("DeleteShareGroupOffsets", 0, 0),
    93: ("StreamsGroupTopologyDescriptionUpdate", 0, 0),
    94: ("UnregisterController", 0, 0),
}

# What is done, and what is refused and how. Empty: everything in these versions, nothing worth a word.
GROUPS: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.FIND_COORDINATOR: (
        "The node of a group, of many groups from 4 on.",
        "Transactional ids: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, on which every client gives up at once. Share "
        "groups: INVALID_REQUEST. Both with a text that says why.",
    ),
    ApiKey.JOIN_GROUP: (
        "Dynamic and static members (KIP-345), the member id first (KIP-394, from 4), `skip_assignment` (KIP-814, "
        "from 9), any protocol type.",
        "Beyond `group.max.size`: GROUP_MAX_SIZE_REACHED. Beyond `max.groups`: COORDINATOR_NOT_AVAILABLE.",
    ),
    ApiKey.SYNC_GROUP: ("The assignment is handed out when it is on disk.", ""),
    ApiKey.HEARTBEAT: ("", ""),
    ApiKey.LEAVE_GROUP: ("Several members at once from 3 on, static ones by instance id.", ""),
    ApiKey.OFFSET_COMMIT: (
        "With a group, and without one (generation -1).",
        "A topic that does not exist here, unless `offsets.commit.topic.check=false`: UNKNOWN_TOPIC_OR_PARTITION. "
        "Metadata beyond `offset.metadata.max.bytes`: OFFSET_METADATA_TOO_LARGE.",
    ),
    ApiKey.OFFSET_FETCH: ("One group, or many from 8 on; `require_stable` (KIP-447).", ""),
    ApiKey.OFFSET_DELETE: ("", "Topics that a member subscribes to: GROUP_SUBSCRIBED_TO_TOPIC."),
    ApiKey.DESCRIBE_GROUPS: ("Classic groups.", ""),
    ApiKey.LIST_GROUPS: ("Filters by state (from 4) and by type (from 5); every group is `classic`.", ""),
    ApiKey.DELETE_GROUPS: ("", "Groups with members: NON_EMPTY_GROUP."),
}
TOPICS: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.PRODUCE: (
        "Idempotent producers, all codecs; `acks` 0, 1 and -1. ApiVersions says 0 to 11, because librdkafka before "
        "2.12 takes compression to be impossible without version 0; nobody may use 0 to 2.",
        "Transactional batches: INVALID_TXN_STATE. Record formats before 2 (that of Kafka 0.11): INVALID_RECORD.",
    ),
    ApiKey.FETCH: (
        "Long polls; topics by id from 13 on; `__consumer_offsets` can be read as well. "
        "`read_committed` and `read_uncommitted` are the same, as there are no transactions.",
        "Fetch sessions: none is made, so each request names all partitions; an id of one gets "
        "FETCH_SESSION_ID_NOT_FOUND.",
    ),
    ApiKey.LIST_OFFSETS: ("Earliest, latest, by timestamp, the largest timestamp (from 7).", ""),
    ApiKey.METADATA: ("May create topics (`auto.create.topics.enable`).", ""),
    ApiKey.INIT_PRODUCER_ID: (
        "Ids for idempotent producers.",
        "A transactional id: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, on which every client gives up at once.",
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("There is one epoch, 0.", ""),
    ApiKey.CREATE_TOPICS: (
        "Settings of a topic are kept and shown; those with a meaning here have it. Manual assignments to any node.",
        "Replication factors other than 1 and -1: INVALID_REPLICATION_FACTOR. Assignments to more than one broker: "
        "INVALID_REPLICA_ASSIGNMENT. Beyond `max.topics` and `max.partitions`: POLICY_VIOLATION.",
    ),
    ApiKey.CREATE_PARTITIONS: (
        "Manual assignments to any node.",
        "Fewer than there are: INVALID_PARTITIONS. Assignments to more than one broker: INVALID_REPLICA_ASSIGNMENT.",
    ),
    ApiKey.DELETE_TOPICS: ("Names, from 6 on ids as well; committed offsets go with their topic.", ""),
    ApiKey.DELETE_RECORDS: ("", "Of a topic with `cleanup.policy=compact` alone: POLICY_VIOLATION."),
    ApiKey.DESCRIBE_CONFIGS: ("Of topics, of this node, and the levels of its loggers.", ""),
    ApiKey.ALTER_CONFIGS: (
        "Of topics: settings that are not named go back to the server's value. Of nodes.",
        "As IncrementalAlterConfigs. What cannot be changed stays, named or not.",
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        "Of topics, of nodes ([which](operations.md#settings-that-change-while-a-node-runs)), and levels of loggers.",
        "Of a node, what is read at start only: INVALID_REQUEST. What has no effect here, and another value of what is "
        "fixed at the creation of a topic: INVALID_CONFIG.",
    ),
    ApiKey.DESCRIBE_CLUSTER: ("", ""),
    ApiKey.DESCRIBE_LOG_DIRS: (
        "The one log directory of this node, the space of its file system, and the sizes of the logs of this node.",
        "",
    ),
    ApiKey.ELECT_LEADERS: (
        "Nothing is ever elected: ELECTION_NOT_NEEDED for each partition that is named.",
        "A partition whose log cannot be used: PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.",
    ),
    ApiKey.LIST_CONFIG_RESOURCES: (
        "Topics, nodes, and the loggers of nodes. There are no settings of groups and none of client metrics.",
        "A type that is not known: UNSUPPORTED_VERSION.",
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("At most 2,000 partitions in a page.", ""),
}
OTHERS: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.API_VERSIONS: (
        "Written from the same table as this page.",
        "A version that is not known: UNSUPPORTED_VERSION in the form of version 0, with the range (KIP-511).",
    ),
    ApiKey.FOLLOW_CATALOGUE: ("Ours, between the nodes of a cluster; never told to clients.", ""),
}

# Why the rest is not served: key by key, so that each of Kafka's has a reason.
NOT_SERVED: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (
    ("transactions", (24, 25, 26, 27, 28, 61, 65, 66)),
    ("the group protocol of KIP-848", (68, 69)),
    ("share groups", (76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92)),
    ("groups of Kafka Streams' own protocol (Streams over classic groups needs none of it)", (88, 89, 93)),
    ("authentication and delegation tokens", (17, 36, 38, 39, 40, 41, 50, 51)),
    ("ACLs", (29, 30, 31)),
    ("quotas", (48, 49)),
    ("replicas and their placement", (34, 45, 46)),
    ("the controller quorum, features and nodes that come and go", (55, 57, 64, 80, 81, 94)),
    ("metrics of clients", (71, 72)),
)


WITHOUT_ARRAYS: Final = frozenset(
    {ApiKey.HEARTBEAT, ApiKey.API_VERSIONS, ApiKey.INIT_PRODUCER_ID, ApiKey.DESCRIBE_CLUSTER}
)


def text() -> str:
    """The whole page."""
    return "\n".join(
        [
            "# Protocol coverage",
            "",
            "<!-- Written by `make generate` from coordinator/server/api/table.py; do not edit. -->",
            "",
            "Which of Kafka's requests are served, and in which versions. The versions are those of the table that the",
            'daemon dispatches by and that ApiVersions answers from; "Kafka" is what a broker of 4.4.0 serves. Clients',
            "take the newest version that both sides know.",
            "",
            "How the answers compare with Kafka's is measured, not read off a table: [differences.md](differences.md).",
            "",
            "## Groups",
            "",
            *_served(GROUPS),
            "",
            "OffsetCommit 10 and OffsetFetch 10 name topics by id, DeleteGroups 3 has texts for errors; they are not",
            "served. Requests on a group are refused while its partition is being read at start",
            "(COORDINATOR_LOAD_IN_PROGRESS), on a node that does not own it (NOT_COORDINATOR), and while the process",
            "ends (COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR). All of these make a client try again.",
            "",
            "## Embedded topics",
            "",
            *_served(TOPICS),
            "",
            "On a node that is not the leader of a partition: NOT_LEADER_OR_FOLLOWER; on one that is not the",
            "controller, changes of topics: NOT_CONTROLLER ([cluster.md](cluster.md)).",
            "",
            "## Beside these",
            "",
            *_served(OTHERS),
            "",
            "## What is not served",
            "",
            "ApiVersions does not offer these, so a client that asks first never sends them. One that does not ask has",
            "its connection closed, with one line in the log that names key and version. The same goes for a version",
            "that is not served.",
            "",
            *_table(
                ("what for", "requests (key)"),
                ((why, ", ".join(f"{KAFKA[key][0]} ({key})" for key in keys)) for why, keys in NOT_SERVED),
            ),
            "",
            "## How large a request may be",
            "",
            "A request is decoded in one piece on the event loop, so it may have so many elements: entries of arrays,",
            "nested ones too, and tagged fields. Eight plain numbers count as one. One element more closes the",
            "connection, with one line in the log that names the request and the limit; several smaller requests do",
            "the same work. In bytes, `connection.request.max.bytes` bounds all but Produce, for which there is",
            "`socket.request.max.bytes` ([configuration.md](configuration.md)). A string may have 65535 bytes.",
            "",
            *_table(("elements", "requests"), _limits()),
            "",
            "Most clients name a thing once. In a DescribeConfigs, and in a DescribeGroups or an OffsetFetch of more",
            "than 20 groups or 500 partitions, what is named again is answered once, where Kafka repeats it.",
            "",
            "## Forms",
            "",
            "Flexible versions (KIP-482) with tagged fields are read and written; unknown tags are skipped. Fields",
            "that a version lacks mean what Kafka takes them to mean. Every message is declared once, with the",
            "versions of each field (`protocol/messages/`); tests compare them with Kafka's own definitions.",
            "",
        ]
    )


def _limits() -> Iterator[tuple[str, str]]:
    limits: dict[int, list[str]] = {}
    for key, api in sorted(HANDLERS.items()):
        if key in KAFKA and key not in WITHOUT_ARRAYS:
            limits.setdefault(api.max_elements, []).append(KAFKA[key][0])
    for limit, names in sorted(limits.items()):
        yield f"{limit:,}", ", ".join(names)


def _served(notes: dict[ApiKey, tuple[str, str]]) -> Iterator[str]:
    yield from _table(
        ("key", "request", "versions", "Kafka", "what is done", "what is refused"),
        (
            (
                str(int(key)),
                KAFKA[key][0] if key in KAFKA else "FollowCatalogue",
                _versions(HANDLERS[key].min_version, HANDLERS[key].max_version),
                _versions(*KAFKA[key][1:]) if key in KAFKA else "none",
                *notes[key],
            )
            for key in sorted(notes)
        ),
    )


def _versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    sys.stdout.write(text())
