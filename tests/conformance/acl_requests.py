"""Requests of every API, with resources that are named for the rights of users: `yes` and `no`, `yes-gone`, and so on.

`yes` and `no` are topics of two partitions, and groups without members that have offsets of them. What is `gone` does
not exist. `$yes` is the id of a topic. Requests change nothing that the answer to another one tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.support.topics_wire import batch

Body = Callable[[int, str], dict[str, Any]]  # of a version and a user
UNKNOWN_ID: Final = "u" * 16
NO_ID: Final = "\0" * 16
BATCH: Final = batch(b"value").decode("latin-1")
TRANSACTIONAL: Final = batch(b"value", producer=(9, 0, 0), is_transactional=True).decode("latin-1")
TOPIC, CLUSTER = 2, 4
BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 4, 8, 16, 32
NAMES: Final = ("no", "yes", "yes-gone", "no-gone")


class Request(NamedTuple):
    """One request. `free_order`: lists whose order is free in Kafka. `since` and `until`: its first and last version.

    `is_of_all`: the answer has all topics, also those of the server and those that other requests create.
    """

    name: str
    api: str
    body: Body
    free_order: tuple[str, ...] = ()
    since: int = 0
    until: int = 99
    is_of_all: bool = False


def _same(**body: Any) -> Body:
    return lambda _version, _user: body


def _of_partitions(
    field: str, names: tuple[str, ...] = NAMES, *, name: str = "name", **part: Any
) -> list[dict[str, Any]]:
    """Return an entry for partition 1 of each topic."""
    return [{name: each, field: [part]} for each in names]


def _fetch_offsets(version: int, _user: str) -> dict[str, Any]:
    topics: list[dict[str, Any]] = [{**_named(each), "partition_indexes": [0]} for each in ("no", "yes", "no")]
    if version < 8:
        return {"group_id": "yes", "topics": [{"name": each["name"], "partition_indexes": [0]} for each in topics]}
    groups = [("yes", topics), ("no", topics), ("yes-gone", topics[:1]), ("no-gone", [])]
    return {"groups": [{"group_id": group, "topics": some} for group, some in groups]}


def _fetch_all_offsets(version: int, _user: str) -> dict[str, Any]:
    if version < 8:
        return {"group_id": "no", "topics": None if version >= 2 else []}
    return {"groups": [{"group_id": each, "topics": None} for each in ("no", "yes")]}


def _find(kind: int, *keys: str) -> Body:
    def body(version: int, _user: str) -> dict[str, Any]:
        named: dict[str, Any] = {"coordinator_keys": list(keys)} if version >= 4 else {"key": keys[0]}
        return {**named, "key_type": kind} if version >= 1 else named

    return body


def _fetch(names: tuple[str, ...], **more: Any) -> Body:
    def body(version: int, _user: str) -> dict[str, Any]:
        parts = [{"partition": 1, "fetch_offset": 0, "partition_max_bytes": 1000}]
        known = {"topic": "", "topic_id": NO_ID}
        topics = [
            known | ({"topic_id": _id_of(each)} if version >= 13 else {"topic": each}) | {"partitions": parts}
            for each in names
        ]
        return {"max_wait_ms": 1, "min_bytes": 0, "max_bytes": 10_000, "topics": topics, **more}

    return body


def _follow(version: int, user: str) -> dict[str, Any]:
    about: dict[str, Any] = {"replica_state": {"replica_id": 7}} if version >= 15 else {"replica_id": 7}
    return _fetch(("no", "yes"), **about)(version, user)


def _id_of(name: str) -> str:
    return UNKNOWN_ID if name.endswith("gone") else f"${name}"


def _named(name: str) -> dict[str, str]:
    """Name a topic in both ways, by name and by id: a version has one of them."""
    return {"name": name, "topic_id": _id_of(name)}


def _metadata(*names: str, by_id: bool = False, creates: bool = False) -> Body:
    def body(version: int, user: str) -> dict[str, Any]:
        # Before version 4 the request would create them.
        asked = [each for each in names if creates or version >= 4 or not each.endswith("gone")]
        topics = [
            {"topic_id": _id_of(each), "name": None} if by_id else {"name": each.format(user, version)}
            for each in asked
        ]
        found: dict[str, Any] = {"topics": topics if names or version == 0 else None}
        if version >= 4:
            found["allow_auto_topic_creation"] = creates
        if version >= 8:
            found["include_topic_authorized_operations"] = True
        if 8 <= version <= 10:
            found["include_cluster_authorized_operations"] = True
        return found

    return body


def _delete_topics(*names: str, by_id: bool = False) -> Body:
    def body(version: int, _user: str) -> dict[str, Any]:
        if version < 6:
            return {"topic_names": list(names), "timeout_ms": 10_000}
        topics = [{"name": None, "topic_id": _id_of(each)} if by_id else {"name": each} for each in names]
        return {"topics": topics, "timeout_ms": 10_000}

    return body


def _sync(version: int, _user: str) -> dict[str, Any]:
    body: dict[str, Any] = {"group_id": "yes", "generation_id": 1, "member_id": "stranger"}
    return body | ({"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {})


def _leave(version: int, _user: str) -> dict[str, Any]:
    named: dict[str, Any] = {"members": [{"member_id": "stranger"}]} if version >= 3 else {"member_id": "stranger"}
    return {"group_id": "yes", **named}


def _alter(*resources: tuple[int, str], value: str | None = "604800000") -> Body:
    configs = [{"name": "retention.ms", "value": value}]
    asked = [
        {"resource_type": kind, "resource_name": name, "configs": configs if kind == TOPIC else []}
        for kind, name in resources
    ]
    return _same(resources=asked, validate_only=True)


def _describe_groups(version: int, _user: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"groups": ["no", "yes", "yes-gone", "no"]}
    return asked | ({"include_authorized_operations": True} if version >= 3 else {})


def _rule(name: str, **more: Any) -> dict[str, Any]:
    rule = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:zed",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return rule | more


_FILTER: Final = {
    "resource_type_filter": TOPIC,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": "User:zed",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_OF_ABSENT: Final = _FILTER | {"principal_filter": "User:absent"}
_NEW: Final = [
    {"name": each, "num_partitions": 1, "replication_factor": 1}
    for each in ("no-new", "yes-new", "no", "yes", "no-new2")
]
_RESOURCES: Final = ((TOPIC, "no"), (TOPIC, "yes"), (TOPIC, "yes-gone"), (BROKER, "1"))
_ELECTED: Final = [{"topic": each, "partitions": [0, 1]} for each in ("yes", "no")]
_PLACED: Final = [{"name": each, "partitions": [0]} for each in ("yes", "no")]
_COMMITS: Final = [
    {
        **_named(name),
        "partitions": [{"partition_index": each, "committed_offset": 7, "committed_metadata": ""} for each in parts],
    }
    for name, parts in (
        ("yes", (0, 9)),
        ("no", (0, 1)),
        ("yes-gone", (0,)),
        ("no-gone", ()),
        ("yes", (1,)),
        ("no", (9,)),
    )
]
_OF_PRODUCER: Final = {"transactional_id": "yes", "producer_id": 4711, "producer_epoch": 0}
_DELETED: Final = [
    {"name": name, "partitions": [{"partition_index": each} for each in parts]}
    for name, parts in (("no", (9,)), ("yes", (9,)), ("yes-gone", (0,)), ("no", (8,)), ("yes", ()))
]


def _produce(records: str, *names: str, **more: Any) -> Body:
    data = [{**_named(each), "partition_data": [{"index": 0, "records": records}]} for each in names]
    return _same(**{"acks": -1, "timeout_ms": 10_000, "topic_data": data, **more})


REQUESTS: Final = (
    Request(
        "Metadata of a new topic", "Metadata", _metadata("yes-new-{}-{}", "no-new-{}-{}", creates=True), ("topics",)
    ),
    Request("Produce", "Produce", _produce(BATCH, "no", "yes", "yes-gone"), ("responses",)),
    Request("Produce without an answer", "Produce", _produce(BATCH, "no", "yes", acks=0)),
    Request("Produce in a transaction", "Produce", _produce(TRANSACTIONAL, "yes", transactional_id="yes")),
    Request("Produce in a transaction without its id", "Produce", _produce(TRANSACTIONAL, "yes")),
    Request("Fetch", "Fetch", _fetch(NAMES[:3]), ("responses",)),
    Request("Fetch of known topics", "Fetch", _fetch(("no", "yes"))),
    Request("Fetch by a follower", "Fetch", _follow),
    Request(
        "ListOffsets",
        "ListOffsets",
        _same(replica_id=-1, topics=_of_partitions("partitions", partition_index=1, timestamp=-1)),
        ("topics",),
    ),
    Request("Metadata", "Metadata", _metadata(*NAMES), ("topics",)),
    Request("Metadata of two topics", "Metadata", _metadata("yes", "no")),
    Request("Metadata of all topics", "Metadata", _metadata(), ("topics",), is_of_all=True),
    Request("Metadata by id", "Metadata", _metadata("no", "yes", "gone", by_id=True), ("topics",), 12),
    Request("OffsetCommit", "OffsetCommit", _same(group_id="yes", topics=_COMMITS)),
    Request("OffsetCommit for another group", "OffsetCommit", _same(group_id="no", topics=_COMMITS)),
    Request("OffsetCommit of one topic", "OffsetCommit", _same(group_id="yes", topics=_COMMITS[1:2])),
    Request(
        "OffsetCommit of a member",
        "OffsetCommit",
        _same(group_id="yes", generation_id_or_member_epoch=3, member_id="m", topics=_COMMITS),
    ),
    Request("OffsetFetch", "OffsetFetch", _fetch_offsets),
    Request("OffsetFetch of all topics", "OffsetFetch", _fetch_all_offsets, ("topics", "partitions")),
    Request("FindCoordinator", "FindCoordinator", _find(0, "yes", "no", "yes")),
    Request("FindCoordinator of a transaction", "FindCoordinator", _find(1, "yes", "no")),
    Request("FindCoordinator of a share group", "FindCoordinator", _find(2, "yes:AAAAAAAAAAAAAAAAAAAAAQ:0"), since=6),
    Request("FindCoordinator of an unknown kind", "FindCoordinator", _find(9, "yes"), since=1),
    Request("JoinGroup", "JoinGroup", _same(group_id="yes", session_timeout_ms=1, protocol_type="consumer")),
    Request("Heartbeat", "Heartbeat", _same(group_id="yes", generation_id=1, member_id="stranger")),
    Request("Heartbeat for another group", "Heartbeat", _same(group_id="no", generation_id=1, member_id="stranger")),
    Request("LeaveGroup", "LeaveGroup", _leave),
    Request("SyncGroup", "SyncGroup", _sync),
    Request("SyncGroup without a protocol", "SyncGroup", _same(group_id="yes", generation_id=1, member_id="stranger")),
    Request(
        "ConsumerGroupHeartbeat",
        "ConsumerGroupHeartbeat",
        _same(group_id="yes", member_id="stranger", member_epoch=1),
    ),
    Request(
        "ConsumerGroupHeartbeat: a topic without rights",
        "ConsumerGroupHeartbeat",
        _same(group_id="yes", member_id="stranger", member_epoch=1, subscribed_topic_names=["yes", "no-gone"]),
    ),
    Request(
        "ConsumerGroupDescribe",
        "ConsumerGroupDescribe",
        _same(group_ids=["no", "yes", "yes-gone", "no-gone"], include_authorized_operations=True),
    ),
    Request("DescribeGroups", "DescribeGroups", _describe_groups, ("groups",)),
    Request("ListGroups", "ListGroups", _same(), ("groups",)),
    Request("DeleteGroups", "DeleteGroups", _same(groups_names=["no-gone", "yes-gone", "no-gone"]), ("results",)),
    Request("OffsetDelete", "OffsetDelete", _same(group_id="yes", topics=_DELETED)),
    Request("OffsetDelete for another group", "OffsetDelete", _same(group_id="yes-gone", topics=_DELETED)),
    Request("CreateTopics", "CreateTopics", _same(topics=_NEW, timeout_ms=10_000, validate_only=True), ("topics",), 1),
    Request("DeleteTopics", "DeleteTopics", _delete_topics("no-gone", "yes-gone", "no-gone2"), ("responses",)),
    Request("DeleteTopics by id", "DeleteTopics", _delete_topics("gone", by_id=True), ("responses",), 6),
    Request(
        "DeleteRecords",
        "DeleteRecords",
        _same(topics=_of_partitions("partitions", partition_index=1, offset=0), timeout_ms=10_000),
        ("topics",),
    ),
    Request("InitProducerId", "InitProducerId", _same(transactional_id=None, transaction_timeout_ms=60_000)),
    Request(
        "InitProducerId of a transaction",
        "InitProducerId",
        _same(transactional_id="yes", transaction_timeout_ms=60_000),
    ),
    Request(
        "AddPartitionsToTxn",
        "AddPartitionsToTxn",
        _same(
            v3_and_below_transactional_id="yes",
            v3_and_below_producer_id=4711,
            v3_and_below_topics=[{"name": name, "partitions": [0]} for name in NAMES[:3]],
        ),
        ("results_by_topic_v3_and_below",),
        until=3,
    ),
    Request(
        "AddPartitionsToTxn of another transaction",
        "AddPartitionsToTxn",
        _same(
            v3_and_below_transactional_id="no",
            v3_and_below_producer_id=4711,
            v3_and_below_topics=[{"name": name, "partitions": [0]} for name in ("yes", "yes-gone")],
        ),
        ("results_by_topic_v3_and_below",),
        until=3,
    ),
    Request(
        "AddPartitionsToTxn of a node",
        "AddPartitionsToTxn",
        _same(
            transactions=[
                {
                    "transactional_id": each,
                    "producer_id": 4711,
                    "verify_only": True,
                    "topics": [{"name": "yes", "partitions": [0]}],
                }
                for each in ("no", "yes")
            ]
        ),
        ("results_by_transaction",),
        since=4,
    ),
    Request("AddOffsetsToTxn", "AddOffsetsToTxn", _same(**_OF_PRODUCER, group_id="yes")),
    Request("AddOffsetsToTxn for another group", "AddOffsetsToTxn", _same(**_OF_PRODUCER, group_id="no")),
    Request("TxnOffsetCommit", "TxnOffsetCommit", _same(**_OF_PRODUCER, group_id="yes", topics=_COMMITS)),
    Request(
        "TxnOffsetCommit for another group",
        "TxnOffsetCommit",
        _same(**_OF_PRODUCER, group_id="no", topics=_COMMITS),
    ),
    Request("EndTxn", "EndTxn", _same(**_OF_PRODUCER, committed=True)),
    Request(
        "WriteTxnMarkers",
        "WriteTxnMarkers",
        _same(markers=[{"producer_id": 4711, "topics": [{"name": "gone", "partition_indexes": [0]}]}]),
    ),
    Request(
        "DescribeProducers",
        "DescribeProducers",
        _same(topics=[{"name": name, "partition_indexes": [7]} for name in NAMES[:3]]),
        ("topics",),
    ),
    Request("DescribeTransactions", "DescribeTransactions", _same(transactional_ids=["no-gone", "yes-gone"])),
    Request("ListTransactions", "ListTransactions", _same(state_filters=["Ongoing"])),
    Request(
        "OffsetForLeaderEpoch",
        "OffsetForLeaderEpoch",
        _same(topics=_of_partitions("partitions", name="topic", partition=1, leader_epoch=0)),
        ("topics",),
    ),
    Request("DescribeAcls", "DescribeAcls", _same(**_OF_ABSENT)),
    Request("CreateAcls", "CreateAcls", _same(creations=[_rule("zed"), _rule("", operation=4), _rule("zed", host="")])),
    Request("DeleteAcls", "DeleteAcls", _same(filters=[_FILTER, _OF_ABSENT])),
    Request(
        "DescribeConfigs",
        "DescribeConfigs",
        _same(
            resources=[
                {"resource_type": kind, "resource_name": name, "configuration_keys": None} for kind, name in _RESOURCES
            ]
        ),
        ("results",),
    ),
    Request(
        "DescribeConfigs of others",
        "DescribeConfigs",
        _same(
            resources=[
                {"resource_type": kind, "resource_name": name, "configuration_keys": None}
                for kind, name in ((GROUP, "no"), (CLIENT_METRICS, "m"), (BROKER_LOGGER, "1"))
            ]
        ),
        ("results",),
    ),
    Request("AlterConfigs", "AlterConfigs", _alter(*_RESOURCES), ("responses",)),
    Request(
        "AlterConfigs without a value",
        "AlterConfigs",
        _alter((TOPIC, "no"), (TOPIC, "yes"), value=None),
        ("responses",),
    ),
    # Kafka 4.4.0 does not answer an AlterConfigs with one resource twice.
    Request(
        "IncrementalAlterConfigs of one topic twice",
        "IncrementalAlterConfigs",
        _alter((TOPIC, "no"), (TOPIC, "yes"), (TOPIC, "no")),
        ("responses",),
    ),
    Request(
        "IncrementalAlterConfigs",
        "IncrementalAlterConfigs",
        _alter(*_RESOURCES, (GROUP, "no"), (CLIENT_METRICS, "m")),
        ("responses",),
    ),
    Request(
        "IncrementalAlterConfigs without a value",
        "IncrementalAlterConfigs",
        _alter((TOPIC, "no"), (TOPIC, "yes"), value=None),
        ("responses",),
    ),
    Request("IncrementalAlterConfigs of a logger", "IncrementalAlterConfigs", _alter((BROKER_LOGGER, "1"))),
    Request("IncrementalAlterConfigs of another node", "IncrementalAlterConfigs", _alter((BROKER, "x"))),
    Request(
        "DescribeLogDirs",
        "DescribeLogDirs",
        _same(topics=[{"topic": each, "partitions": [0]} for each in ("yes", "no")]),
        ("topics",),
    ),
    Request(
        "CreatePartitions",
        "CreatePartitions",
        _same(
            topics=[{"name": each, "count": 9, "assignments": None} for each in NAMES],
            timeout_ms=10_000,
            validate_only=True,
        ),
        ("results",),
    ),
    Request(
        "AlterReplicaLogDirs", "AlterReplicaLogDirs", _same(dirs=[{"path": "/nope", "topics": _PLACED}]), ("results",)
    ),
    Request(
        "AlterPartitionReassignments",
        "AlterPartitionReassignments",
        _same(
            topics=[{"name": each, "partitions": [{"partition_index": 0, "replicas": [1]}]} for each in ("yes", "no")]
        ),
    ),
    Request(
        "ListPartitionReassignments",
        "ListPartitionReassignments",
        _same(topics=[{"name": each, "partition_indexes": [0]} for each in ("yes", "no")]),
    ),
    Request("ElectLeaders", "ElectLeaders", _same(topic_partitions=_ELECTED, timeout_ms=10_000)),
    Request("DescribeClientQuotas", "DescribeClientQuotas", _same(components=[], strict=False)),
    Request(
        "AlterClientQuotas",
        "AlterClientQuotas",
        _same(
            entries=[
                {
                    "entity": [{"entity_type": "user", "entity_name": "zed"}],
                    "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": True}],
                }
            ],
            validate_only=True,
        ),
    ),
    Request(
        "DescribeUserScramCredentials",
        "DescribeUserScramCredentials",
        _same(users=[{"name": "zed"}, {"name": "zoe"}]),
        ("results",),
    ),
    Request(
        "AlterUserScramCredentials",
        "AlterUserScramCredentials",
        _same(deletions=[{"name": "zoe", "mechanism": 1}, {"name": "zed", "mechanism": 1}]),
        ("results",),
    ),
    Request("DescribeCluster", "DescribeCluster", _same(include_cluster_authorized_operations=True)),
    Request("ListConfigResources", "ListConfigResources", _same(), ("config_resources",), is_of_all=True),
    Request(
        "DescribeTopicPartitions",
        "DescribeTopicPartitions",
        _same(topics=[{"name": each} for each in NAMES]),
        ("topics",),
    ),
    Request("DescribeTopicPartitions of all topics", "DescribeTopicPartitions", _same(topics=[]), is_of_all=True),
)
