"""Writer of docs/protocol.md: the requests of Kafka that are served, from the table of handlers.

Versions come from `HANDLERS`, so the page cannot list a version that is not served. The versions of Kafka are written
here, from the definitions of Kafka 4.4.0 (requests with the listener "broker"). Each row of the table brings its
sentences on what is done and what is refused.

`make generate` runs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.server.api.handler import Section
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

# Why other requests are not served: key by key, so that each of Kafka's has a reason.
NOT_SERVED: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (
    ("share groups", (76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92)),
    ("groups of Kafka Streams' own protocol (Streams over classic groups needs none of it)", (88, 89, 93)),
    ("delegation tokens", (38, 39, 40, 41)),
    ("the controller quorum, features and nodes that come and go", (55, 57, 64, 80, 81, 94)),
)


WITHOUT_ARRAYS: Final = frozenset(
    {
        ApiKey.HEARTBEAT,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.API_VERSIONS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_CLUSTER,
    }
)


def text() -> str:
    """Return the whole page."""
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
            *_served(Section.GROUPS),
            "",
            "Requests on a group are refused while its partition is being read at start",
            "(COORDINATOR_LOAD_IN_PROGRESS), on a node that does not own it (NOT_COORDINATOR), and while the process",
            "ends (COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR). All of these make a client try again.",
            "",
            "## Embedded topics",
            "",
            *_served(Section.TOPICS),
            "",
            "On a node that is not the leader of a partition: NOT_LEADER_OR_FOLLOWER; on one that is not the",
            "controller, changes of topics: NOT_CONTROLLER ([cluster.md](cluster.md)).",
            "",
            "## Beside these",
            "",
            *_served(Section.OTHERS),
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


def _served(section: Section) -> Iterator[str]:
    yield from _table(
        ("key", "request", "versions", "Kafka", "what is done", "what is refused"),
        (
            (
                str(key),
                KAFKA[key][0] if key in KAFKA else "FollowCatalogue",
                _versions(api.min_version, api.max_version),
                _versions(*KAFKA[key][1:]) if key in KAFKA else "none",
                api.does,
                api.refuses,
            )
            for key, api in sorted(HANDLERS.items())
            if api.section is section
        ),
    )


def _versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    sys.stdout.write(text())
