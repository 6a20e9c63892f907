"""The checks of access rules: each API with all rights, with none and with some. The answers are those of Kafka 4.4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from coordinator.core.consumer_group.describe import refused as consumer_group_refused
from coordinator.core.consumer_group.heartbeat import refused as heartbeat_refused
from coordinator.server.api.authorization.table import CHECKS, UNGUARDED
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import add_offsets_to_txn as aot
from protocol.messages import add_partitions_to_txn as apt
from protocol.messages import alter_client_quotas as acq
from protocol.messages import alter_configs as ac
from protocol.messages import alter_partition_reassignments as pr
from protocol.messages import alter_replica_log_dirs as rd
from protocol.messages import alter_user_scram_credentials as alter_scram
from protocol.messages import create_acls, delete_acls, describe_acls, fetch, find_coordinator, metadata, produce
from protocol.messages import create_partitions as cp
from protocol.messages import create_topics as ct
from protocol.messages import delete_groups as dg
from protocol.messages import delete_records as dr
from protocol.messages import delete_topics as dt
from protocol.messages import describe_cluster as dc
from protocol.messages import describe_configs as configs
from protocol.messages import describe_groups as groups
from protocol.messages import describe_producers as dp
from protocol.messages import describe_topic_partitions as dtp
from protocol.messages import describe_transactions as dtx
from protocol.messages import describe_user_scram_credentials as scram
from protocol.messages import elect_leaders as el
from protocol.messages import end_txn as et
from protocol.messages import incremental_alter_configs as ic
from protocol.messages import list_offsets as lo
from protocol.messages import list_partition_reassignments as lr
from protocol.messages import list_transactions as ltx
from protocol.messages import offset_commit as oc
from protocol.messages import offset_delete as od
from protocol.messages import offset_fetch as of
from protocol.messages import offset_for_leader_epoch as le
from protocol.messages import txn_offset_commit as toc
from protocol.messages import write_txn_markers as wtm
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from protocol.messages.describe_owners import DescribeOwnersRequest, DescribeOwnersResponse
from protocol.messages.explain_group import ExplainGroupRequest, ExplainGroupResponse
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from protocol.messages.list_group_figures import ListGroupFiguresRequest, ListGroupFiguresResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.list_open_transactions import ListOpenTransactionsRequest, ListOpenTransactionsResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from protocol.primitives import ZERO_UUID
from tests.server.api.authorization_kit import TOPIC_IDS, Everything, Rights, answered, ask, id_of, received

TOPIC, GROUP, CLUSTER, TXN = 29, 30, 31, 53  # codes of the errors ..._AUTHORIZATION_FAILED
NOT_ATTEMPTED = 55
YES_ID, NO_ID = TOPIC_IDS["yes"], TOPIC_IDS["no"]


class Case(NamedTuple):
    """One API. `refused`: the answer without any right. `rights` let the handler see `kept`, and answer `served`.

    All but the rights are functions of the version. Without `kept` the API has one right for the whole request.
    `anyhow`: the answer of the handler if it is asked without any right.
    """

    request: Callable[[int], Any]
    refused: Callable[[int], Any]
    rights: tuple[str, ...]
    served: Callable[[int], Any]
    kept: Callable[[int], Any] | None = None
    merged: Callable[[int], Any] | None = None
    anyhow: Callable[[int], Any] | None = None


def whole(request: Any, right: str, refused: Any) -> Case:
    """Return an API with one right for the whole request."""
    return Case(lambda _: request, lambda _: refused, (right,), lambda _: type(refused)())


# -- parts of requests and answers -------------------------------------------------------------------------------


def commit_topics(*names: str) -> list[Any]:
    part = oc.OffsetCommitRequestPartition(0, committed_offset=5, committed_metadata="")
    return [oc.OffsetCommitRequestTopic(name, id_of(name), partitions=[part]) for name in names]


def committed(**errors: int) -> list[Any]:
    return [
        oc.OffsetCommitResponseTopic(name, id_of(name), [oc.OffsetCommitResponsePartition(0, error)])
        for name, error in errors.items()
    ]


def add_to_txn(*names: str) -> Any:
    topics = [apt.AddPartitionsToTxnTopic(name, [0]) for name in names]
    return apt.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx", v3_and_below_producer_id=1, v3_and_below_topics=topics
    )


def added_to_txn(**errors: int) -> Any:
    return apt.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            apt.AddPartitionsToTxnTopicResult(name, [apt.AddPartitionsToTxnPartitionResult(0, error)])
            for name, error in errors.items()
        ]
    )


def commit_in_txn(*names: str) -> Any:
    part = toc.TxnOffsetCommitRequestPartition(0, committed_offset=5, committed_metadata="")
    topics = [toc.TxnOffsetCommitRequestTopic(name, id_of(name), [part]) for name in names]
    return toc.TxnOffsetCommitRequest("tx", "g", 1, 0, topics=topics)


def committed_in_txn(**errors: int) -> Any:
    return toc.TxnOffsetCommitResponse(
        topics=[
            toc.TxnOffsetCommitResponseTopic(name, id_of(name), [toc.TxnOffsetCommitResponsePartition(0, error)])
            for name, error in errors.items()
        ]
    )


def producers_of(*names: str) -> Any:
    return dp.DescribeProducersRequest(topics=[dp.TopicRequest(name, [0]) for name in names])


def known_producers(**errors: int) -> Any:
    return dp.DescribeProducersResponse(
        topics=[
            dp.TopicResponse(name, [dp.PartitionResponse(0, error, "Topic authorization failed." if error else None)])
            for name, error in errors.items()
        ]
    )


def described_consumer_groups(**errors: int) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[consumer_group_refused(group_id, ErrorCode(error)) for group_id, error in errors.items()]
    )


def fetch_offsets(version: int, **topics: tuple[str, ...] | None) -> Any:
    if version >= 8:
        asked = [
            of.OffsetFetchRequestGroup(
                group_id=group,
                topics=None
                if names is None
                else [of.OffsetFetchRequestTopics(n, id_of(n), partition_indexes=[0]) for n in names],
            )
            for group, names in topics.items()
        ]
        return of.OffsetFetchRequest(groups=asked)
    ((group, names),) = topics.items()
    listed = None if names is None else [of.OffsetFetchRequestTopic(n, partition_indexes=[0]) for n in names]
    return of.OffsetFetchRequest(group_id=group, topics=listed)


def offsets_of(group: str, error: int = 0, **errors: int) -> Any:
    return of.OffsetFetchResponseGroup(
        group_id=group,
        topics=[
            of.OffsetFetchResponseTopics(
                name,
                id_of(name),
                [of.OffsetFetchResponsePartitions(0, -1 if code else 7, metadata="", error_code=code)],
            )
            for name, code in errors.items()
        ],
        error_code=error,
    )


def delete_offsets(*names: str) -> Any:
    topics = [od.OffsetDeleteRequestTopic(name, [od.OffsetDeleteRequestPartition(0)]) for name in names]
    return od.OffsetDeleteRequest("g", topics=topics)


def deleted_offsets(**errors: int) -> Any:
    return od.OffsetDeleteResponse(
        topics=[
            od.OffsetDeleteResponseTopic(name, [od.OffsetDeleteResponsePartition(0, error)])
            for name, error in errors.items()
        ]
    )


def described_groups(**errors: int) -> Any:
    return groups.DescribeGroupsResponse(
        groups=[
            groups.DescribedGroup(
                error_code=error, error_message=None, group_id=name, group_state="" if error else "Empty"
            )
            for name, error in errors.items()
        ]
    )


def coordinators(**errors: int) -> Any:
    return find_coordinator.FindCoordinatorResponse(
        coordinators=[
            find_coordinator.Coordinator(key, -1, "", -1, error, "") if error else found_coordinator(key)
            for key, error in errors.items()
        ]
    )


def found_coordinator(key: str) -> Any:
    return find_coordinator.Coordinator(key, 1, "host", 9092, 0, "")


def find(version: int, *keys: str, kind: int = 0) -> Any:
    if version >= 4:
        return find_coordinator.FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))
    return find_coordinator.FindCoordinatorRequest(key=keys[0], key_type=kind)


def produce_to(*names: str, acks: int = 1, txn: str | None = None, records: bytes = b"") -> Any:
    topics = [produce.TopicProduceData(name, id_of(name), [produce.PartitionProduceData(0, records)]) for name in names]
    return produce.ProduceRequest(transactional_id=txn, acks=acks, timeout_ms=9, topic_data=topics)


def produced(**errors: int) -> Any:
    return produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name, id_of(name), [produce.PartitionProduceResponse(0, error, -1 if error else 3)]
            )
            for name, error in errors.items()
        ]
    )


def fetch_from(version: int, *names: str, **about: Any) -> Any:
    part = fetch.FetchPartition(partition=0, fetch_offset=1, partition_max_bytes=9)
    topics = [fetch.FetchTopic(topic=name, topic_id=id_of(name), partitions=[part]) for name in names]
    return fetch.FetchRequest(max_wait_ms=1, min_bytes=1, topics=topics, **about)


def fetched(**errors: int) -> Any:
    return fetch.FetchResponse(
        responses=[
            fetch.FetchableTopicResponse(
                topic=name,
                topic_id=id_of(name),
                partitions=[fetch.PartitionData(0, error, high_watermark=-1 if error else 4, records=b"")],
            )
            for name, error in errors.items()
        ]
    )


def list_of(*names: str) -> Any:
    parts = [lo.ListOffsetsPartition(0, timestamp=-1)]
    return lo.ListOffsetsRequest(replica_id=-1, topics=[lo.ListOffsetsTopic(name, parts) for name in names])


def listed(**errors: int) -> Any:
    return lo.ListOffsetsResponse(
        topics=[
            lo.ListOffsetsTopicResponse(name, [lo.ListOffsetsPartitionResponse(0, error, offset=-1 if error else 4)])
            for name, error in errors.items()
        ]
    )


def epochs(*names: str) -> Any:
    parts = [le.OffsetForLeaderPartition(0, leader_epoch=0)]
    return le.OffsetForLeaderEpochRequest(topics=[le.OffsetForLeaderTopic(name, parts) for name in names])


def ends(**errors: int) -> Any:
    return le.OffsetForLeaderEpochResponse(
        topics=[
            le.OffsetForLeaderTopicResult(name, [le.EpochEndOffset(error, 0, end_offset=-1 if error else 4)])
            for name, error in errors.items()
        ]
    )


def delete_from(*names: str) -> Any:
    parts = [dr.DeleteRecordsPartition(0, offset=2)]
    return dr.DeleteRecordsRequest(topics=[dr.DeleteRecordsTopic(name, parts) for name in names])


def deleted_from(**errors: int) -> Any:
    return dr.DeleteRecordsResponse(
        topics=[
            dr.DeleteRecordsTopicResult(name, [dr.DeleteRecordsPartitionResult(0, -1 if error else 2, error)])
            for name, error in errors.items()
        ]
    )


def metadata_of(*names: str) -> Any:
    return metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=name) for name in names])


def topic_metadata(*topics: tuple[str | None, int], **about: Any) -> Any:
    return metadata.MetadataResponse(
        brokers=[metadata.MetadataResponseBroker(1, "host", 9092)],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            metadata.MetadataResponseTopic(error, name, ZERO_UUID if error else id_of(name or ""))
            for name, error in topics
        ],
        **about,
    )


def create(*names: str) -> Any:
    return ct.CreateTopicsRequest(topics=[ct.CreatableTopic(name, 1, 1) for name in names])


def not_created(name: str) -> Any:
    return ct.CreatableTopicResult(name, error_code=TOPIC, error_message="Authorization failed.")


def created(name: str) -> Any:
    shown = [ct.CreatableTopicConfigs("retention.ms", "1")]
    return ct.CreatableTopicResult(
        name, error_message=None, num_partitions=1, replication_factor=1, topic_id=YES_ID, configs=shown
    )


def grow(*names: str) -> Any:
    return cp.CreatePartitionsRequest(topics=[cp.CreatePartitionsTopic(name, 3, None) for name in names])


def grown(**errors: int) -> Any:
    return cp.CreatePartitionsResponse(results=[cp.CreatePartitionsTopicResult(n, e) for n, e in errors.items()])


def delete(version: int, *names: str) -> Any:
    if version < 6:
        return dt.DeleteTopicsRequest(topic_names=list(names))
    return dt.DeleteTopicsRequest(topics=[dt.DeleteTopicState(name) for name in names])


def deleted(**errors: int) -> Any:
    messages = {0: None, 3: "This server does not host this topic-partition.", TOPIC: "Topic authorization failed."}
    return dt.DeleteTopicsResponse(
        responses=[dt.DeletableTopicResult(name, ZERO_UUID, code, messages[code]) for name, code in errors.items()]
    )


def pages(*names: str, **about: Any) -> Any:
    return dtp.DescribeTopicPartitionsRequest(topics=[dtp.TopicRequest(name) for name in names], **about)


def page(*topics: tuple[str, int, int]) -> Any:
    return dtp.DescribeTopicPartitionsResponse(
        topics=[
            dtp.DescribeTopicPartitionsResponseTopic(
                error_code=error, name=name, topic_authorized_operations=operations
            )
            for name, error, operations in topics
        ]
    )


RESOURCES = {"yes": 2, "1": 4, "no": 2, "metrics": 16, "g": 32}
DENIED = {
    2: (TOPIC, "Topic authorization failed."),
    4: (CLUSTER, "Cluster authorization failed."),
    16: (CLUSTER, "Cluster authorization failed."),
    32: (GROUP, "Group authorization failed."),
}


def describe_configs(*names: str) -> Any:
    asked = [configs.DescribeConfigsResource(RESOURCES[name], name, None) for name in names]
    return configs.DescribeConfigsRequest(resources=asked)


def described_configs(served: tuple[str, ...], denied: tuple[str, ...]) -> Any:
    results = [configs.DescribeConfigsResult(0, None, RESOURCES[name], name) for name in served]
    results += [configs.DescribeConfigsResult(*DENIED[RESOURCES[name]], RESOURCES[name], name) for name in denied]
    return configs.DescribeConfigsResponse(results=results)


def altered(module: Any, *results: tuple[str, int, str | None]) -> Any:
    response = {ac: ac.AlterConfigsResponse, ic: ic.IncrementalAlterConfigsResponse}[module]
    return response(
        responses=[
            module.AlterConfigsResourceResponse(error, message, RESOURCES[name], name)
            for name, error, message in results
        ]
    )


def alter(module: Any, *names: str) -> Any:
    request = {ac: ac.AlterConfigsRequest, ic: ic.IncrementalAlterConfigsRequest}[module]
    return request(resources=[module.AlterConfigsResource(RESOURCES[name], name) for name in names])


def altering(module: Any) -> Case:
    """Return the case of one of the two APIs that alter settings, whose refusals keep their places."""
    names = ("yes", "1", "no", "metrics", "g")
    denied: Any = [(name, *DENIED[RESOURCES[name]]) for name in names]
    denied[1] = ("1", CLUSTER, None)
    return Case(
        lambda _: alter(module, *names),
        lambda _: altered(module, *denied),
        ("ALTER_CONFIGS topic yes", "ALTER_CONFIGS group g"),
        lambda _: altered(module, ("yes", 0, None), ("g", 0, None)),
        lambda _: alter(module, "yes", "g"),
        lambda _: altered(module, ("yes", 0, None), *denied[1:4], ("g", 0, None)),
    )


def why(api: str, operation: str) -> str:
    return f"Request {api} needs {operation} permission."


ACL = create_acls.AclCreation(2, "t", 3, "User:a", "*", 3, 3)
FILTER = delete_acls.DeleteAclsFilter(2, None, 3, None, None, 1, 1)
JOINED = JoinGroupRequest("g", 9, 9, "m", protocol_type="consumer")
NOT_JOINED = JoinGroupResponse(error_code=GROUP, protocol_name=None)
SYNCED = SyncGroupRequest("g", 1, "m", protocol_type="consumer", protocol_name="range")
MINIMUM = -(2**31)

CASES = {
    ApiKey.OFFSET_COMMIT: Case(
        lambda _: oc.OffsetCommitRequest("g", topics=commit_topics("yes", "no", "yes2")),
        lambda _: oc.OffsetCommitResponse(topics=committed(yes=GROUP, no=GROUP, yes2=GROUP)),
        ("READ group g", "READ topic yes", "READ topic yes2"),
        lambda _: oc.OffsetCommitResponse(topics=committed(yes=0, yes2=0)),
        lambda _: oc.OffsetCommitRequest("g", topics=commit_topics("yes", "yes2")),
        lambda _: oc.OffsetCommitResponse(topics=committed(no=TOPIC, yes=0, yes2=0)),
    ),
    ApiKey.OFFSET_FETCH: Case(
        lambda v: fetch_offsets(v, g=("no", "yes"), **({"x": ("yes",), "all": None} if v >= 8 else {})),
        lambda v: of.OffsetFetchResponse(
            groups=[
                offsets_of("g", GROUP, no=GROUP, yes=GROUP),
                *([offsets_of("x", GROUP), offsets_of("all", GROUP)] if v >= 8 else []),
            ]
        ),
        ("DESCRIBE group g", "DESCRIBE group all", "DESCRIBE topic yes"),
        lambda v: of.OffsetFetchResponse(
            groups=[offsets_of("g", yes=0), *([offsets_of("all", no=0, yes=0)] if v >= 8 else [])]
        ),
        lambda v: fetch_offsets(v, g=("yes",), **({"all": None} if v >= 8 else {})),
        lambda v: of.OffsetFetchResponse(
            groups=[
                offsets_of("g", yes=0, no=TOPIC),
                *([offsets_of("x", GROUP), offsets_of("all", yes=0)] if v >= 8 else []),
            ]
        ),
    ),
    ApiKey.OFFSET_DELETE: Case(
        lambda _: delete_offsets("yes", "no"),
        lambda _: od.OffsetDeleteResponse(error_code=GROUP),
        ("DELETE group g", "READ topic yes"),
        lambda _: deleted_offsets(yes=0),
        lambda _: delete_offsets("yes"),
        lambda _: deleted_offsets(no=TOPIC, yes=0),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Case(
        lambda v: add_to_txn("yes") if v < 4 else apt.AddPartitionsToTxnRequest(),
        lambda v: added_to_txn(yes=TXN) if v < 4 else apt.AddPartitionsToTxnResponse(error_code=CLUSTER),
        ("WRITE transactional_id tx", "WRITE topic yes", "CLUSTER_ACTION cluster"),
        lambda _: apt.AddPartitionsToTxnResponse(),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: whole(
        aot.AddOffsetsToTxnRequest("tx", 1, 0, "g"), "WRITE transactional_id tx", aot.AddOffsetsToTxnResponse(0, TXN)
    )._replace(rights=("WRITE transactional_id tx", "READ group g")),
    ApiKey.END_TXN: whole(
        et.EndTxnRequest("tx", 1, 0, True), "WRITE transactional_id tx", et.EndTxnResponse(error_code=TXN)
    ),
    ApiKey.TXN_OFFSET_COMMIT: Case(
        lambda _: commit_in_txn("yes", "no", "yes2"),
        lambda _: committed_in_txn(yes=TXN, no=TXN, yes2=TXN),
        ("WRITE transactional_id tx", "READ group g", "READ topic yes", "READ topic yes2"),
        lambda _: committed_in_txn(yes=0, yes2=0),
        lambda _: commit_in_txn("yes", "yes2"),
        lambda _: committed_in_txn(no=TOPIC, yes=0, yes2=0),
    ),
    ApiKey.WRITE_TXN_MARKERS: whole(
        wtm.WriteTxnMarkersRequest(markers=[wtm.WritableTxnMarker(1, topics=[wtm.WritableTxnMarkerTopic("t", [0])])]),
        "ALTER cluster",
        wtm.WriteTxnMarkersResponse(
            markers=[
                wtm.WritableTxnMarkerResult(
                    1, [wtm.WritableTxnMarkerTopicResult("t", [wtm.WritableTxnMarkerPartitionResult(0, CLUSTER)])]
                )
            ]
        ),
    ),
    ApiKey.DESCRIBE_PRODUCERS: Case(
        lambda _: producers_of("no", "yes"),
        lambda _: known_producers(no=TOPIC, yes=TOPIC),
        ("READ topic yes",),
        lambda _: known_producers(yes=0),
        lambda _: producers_of("yes"),
        lambda _: known_producers(yes=0, no=TOPIC),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: Case(
        lambda _: dtx.DescribeTransactionsRequest(["no", "tx"]),
        lambda _: dtx.DescribeTransactionsResponse(
            transaction_states=[dtx.TransactionState(TXN, "no"), dtx.TransactionState(TXN, "tx")]
        ),
        ("DESCRIBE transactional_id tx", "DESCRIBE topic yes"),
        lambda _: dtx.DescribeTransactionsResponse(
            transaction_states=[
                dtx.TransactionState(0, "tx", "Ongoing", topics=[dtx.TopicData("no", [0]), dtx.TopicData("yes", [1])])
            ]
        ),
        lambda _: dtx.DescribeTransactionsRequest(["tx"]),
        lambda _: dtx.DescribeTransactionsResponse(
            transaction_states=[
                dtx.TransactionState(TXN, "no"),
                dtx.TransactionState(0, "tx", "Ongoing", topics=[dtx.TopicData("yes", [1])]),
            ]
        ),
    ),
    ApiKey.LIST_TRANSACTIONS: Case(
        lambda _: ltx.ListTransactionsRequest(),
        lambda _: ltx.ListTransactionsResponse(),
        ("DESCRIBE transactional_id tx",),
        lambda _: ltx.ListTransactionsResponse(
            transaction_states=[ltx.TransactionState("no", 1, "Empty"), ltx.TransactionState("tx", 2, "Empty")]
        ),
        lambda _: ltx.ListTransactionsRequest(),
        lambda _: ltx.ListTransactionsResponse(transaction_states=[ltx.TransactionState("tx", 2, "Empty")]),
        lambda _: ltx.ListTransactionsResponse(
            transaction_states=[ltx.TransactionState("no", 1, "Empty"), ltx.TransactionState("tx", 2, "Empty")]
        ),
    ),
    ApiKey.JOIN_GROUP: whole(JOINED, "READ group g", NOT_JOINED),
    ApiKey.SYNC_GROUP: whole(SYNCED, "READ group g", SyncGroupResponse(error_code=GROUP)),
    ApiKey.HEARTBEAT: whole(HeartbeatRequest("g", 1, "m"), "READ group g", HeartbeatResponse(error_code=GROUP)),
    ApiKey.LEAVE_GROUP: whole(LeaveGroupRequest("g", "m"), "READ group g", LeaveGroupResponse(error_code=GROUP)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: whole(
        ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1),
        "READ group g",
        heartbeat_refused(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Case(
        lambda _: ConsumerGroupDescribeRequest(group_ids=["g", "x"]),
        lambda _: described_consumer_groups(g=GROUP, x=GROUP),
        ("DESCRIBE group g", "READ group g"),
        lambda _: described_consumer_groups(g=0),
        lambda _: ConsumerGroupDescribeRequest(group_ids=["g"]),
        lambda _: ConsumerGroupDescribeResponse(
            groups=[*described_consumer_groups(x=GROUP).groups, *described_consumer_groups(g=0).groups]
        ),
    ),
    ApiKey.DESCRIBE_GROUPS: Case(
        lambda v: groups.DescribeGroupsRequest(["g", "x", "g"], include_authorized_operations=v >= 3),
        lambda _: groups.DescribeGroupsResponse(
            groups=[*described_groups(g=GROUP, x=GROUP).groups, *described_groups(g=GROUP).groups]
        ),
        ("DESCRIBE group g", "READ group g"),
        lambda _: described_groups(g=0),
        lambda v: groups.DescribeGroupsRequest(["g", "g"], include_authorized_operations=v >= 3),
        lambda v: groups.DescribeGroupsResponse(
            groups=[
                *described_groups(x=GROUP).groups,
                groups.DescribedGroup(0, None, "g", "Empty", authorized_operations=1 << 8 | 1 << 3),
            ]
        ),
    ),
    ApiKey.LIST_GROUPS: Case(
        lambda _: ListGroupsRequest(),
        lambda _: ListGroupsResponse(),
        ("DESCRIBE group g",),
        lambda _: ListGroupsResponse(groups=[ListedGroup("x"), ListedGroup("g")]),
        lambda _: ListGroupsRequest(),
        lambda _: ListGroupsResponse(groups=[ListedGroup("g")]),
        lambda _: ListGroupsResponse(groups=[ListedGroup("x"), ListedGroup("g")]),
    ),
    ApiKey.DELETE_GROUPS: Case(
        lambda _: dg.DeleteGroupsRequest(["x", "g", "x"]),
        lambda _: dg.DeleteGroupsResponse(
            results=[dg.DeletableGroupResult("x", GROUP), dg.DeletableGroupResult("g", GROUP)]
        ),
        ("DELETE group g",),
        lambda _: dg.DeleteGroupsResponse(results=[dg.DeletableGroupResult("g")]),
        lambda _: dg.DeleteGroupsRequest(["g"]),
        lambda _: dg.DeleteGroupsResponse(results=[dg.DeletableGroupResult("g"), dg.DeletableGroupResult("x", GROUP)]),
    ),
    ApiKey.FIND_COORDINATOR: Case(
        lambda v: find(v, "g", "x", "h"),
        lambda v: coordinators(g=GROUP, x=GROUP, h=GROUP) if v >= 4 else coordinators(g=GROUP),
        ("DESCRIBE group g", "DESCRIBE group h"),
        lambda v: coordinators(g=0, h=0) if v >= 4 else coordinators(g=0),
        lambda v: find(v, "g", "h"),
        lambda v: coordinators(g=0, x=GROUP, h=0) if v >= 4 else coordinators(g=0),
    ),
    ApiKey.PRODUCE: Case(
        lambda _: produce_to("no", "yes"),
        lambda _: produced(no=TOPIC, yes=TOPIC),
        ("WRITE topic yes",),
        lambda _: produced(yes=0),
        lambda _: produce_to("yes"),
        lambda _: produced(yes=0, no=TOPIC),
    ),
    ApiKey.FETCH: Case(
        lambda v: fetch_from(v, "no", "unknown", "yes"),
        lambda v: fetched(unknown=100, no=TOPIC, yes=TOPIC) if v >= 13 else fetched(no=TOPIC, unknown=TOPIC, yes=TOPIC),
        ("READ topic yes",),
        lambda v: fetched(unknown=100, yes=0) if v >= 13 else fetched(yes=0),
        lambda v: fetch_from(v, "unknown", "yes") if v >= 13 else fetch_from(v, "yes"),
        lambda v: fetched(unknown=100, yes=0, no=TOPIC) if v >= 13 else fetched(yes=0, no=TOPIC, unknown=TOPIC),
        lambda _: fetched(unknown=100),
    ),
    ApiKey.LIST_OFFSETS: Case(
        lambda _: list_of("no", "yes"),
        lambda _: listed(no=TOPIC, yes=TOPIC),
        ("DESCRIBE topic yes",),
        lambda _: listed(yes=0),
        lambda _: list_of("yes"),
        lambda _: listed(yes=0, no=TOPIC),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Case(
        lambda _: epochs("no", "yes"),
        lambda _: ends(no=TOPIC, yes=TOPIC),
        ("DESCRIBE topic yes",),
        lambda _: ends(yes=0),
        lambda _: epochs("yes"),
        lambda _: ends(yes=0, no=TOPIC),
    ),
    ApiKey.DELETE_RECORDS: Case(
        lambda _: delete_from("no", "yes"),
        lambda _: deleted_from(no=TOPIC, yes=TOPIC),
        ("DELETE topic yes",),
        lambda _: deleted_from(yes=0),
        lambda _: delete_from("yes"),
        lambda _: deleted_from(yes=0, no=TOPIC),
    ),
    ApiKey.INIT_PRODUCER_ID: whole(
        InitProducerIdRequest(None, 9), "WRITE topic any", InitProducerIdResponse(error_code=CLUSTER, producer_epoch=-1)
    ),
    ApiKey.METADATA: Case(
        lambda _: metadata_of("no", "yes", "new"),
        lambda _: topic_metadata(("no", TOPIC), ("yes", TOPIC), ("new", TOPIC)),
        ("DESCRIBE topic yes", "DESCRIBE topic new"),
        lambda _: topic_metadata(("yes", 0)),
        lambda _: metadata_of("yes"),
        lambda _: topic_metadata(("yes", 0), ("new", TOPIC), ("no", TOPIC)),
        lambda v: topic_metadata(("no", 0), ("yes", 0)) if v == 0 else topic_metadata(),
    ),
    ApiKey.DESCRIBE_CLUSTER: Case(
        lambda _: dc.DescribeClusterRequest(include_cluster_authorized_operations=True),
        lambda _: dc.DescribeClusterResponse(cluster_id="c", cluster_authorized_operations=0),
        ("DESCRIBE cluster", "ALTER cluster"),
        lambda _: dc.DescribeClusterResponse(cluster_id="c", cluster_authorized_operations=9),
        lambda _: dc.DescribeClusterRequest(include_cluster_authorized_operations=True),
        lambda _: dc.DescribeClusterResponse(cluster_id="c", cluster_authorized_operations=1 << 8 | 1 << 7),
        lambda _: dc.DescribeClusterResponse(cluster_id="c", cluster_authorized_operations=9),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Case(
        lambda _: pages("no", "yes", "no2"),
        lambda _: page(("no", TOPIC, MINIMUM), ("no2", TOPIC, MINIMUM), ("yes", TOPIC, MINIMUM)),
        ("DESCRIBE topic yes",),
        lambda _: page(("yes", 0, 9)),
        lambda _: pages("yes"),
        lambda _: page(("yes", 0, 1 << 8), ("no", TOPIC, MINIMUM), ("no2", TOPIC, MINIMUM)),
    ),
    ApiKey.CREATE_TOPICS: Case(
        lambda _: create("no", "yes"),
        lambda _: ct.CreateTopicsResponse(topics=[not_created("no"), not_created("yes")]),
        ("CREATE topic yes", "DESCRIBE_CONFIGS topic yes"),
        lambda _: ct.CreateTopicsResponse(topics=[created("yes")]),
        lambda _: create("yes"),
        lambda _: ct.CreateTopicsResponse(topics=[created("yes"), not_created("no")]),
    ),
    ApiKey.CREATE_PARTITIONS: Case(
        lambda _: grow("no", "yes"),
        lambda _: grown(no=TOPIC, yes=TOPIC),
        ("ALTER topic yes",),
        lambda _: grown(yes=0),
        lambda _: grow("yes"),
        lambda _: grown(no=TOPIC, yes=0),
    ),
    ApiKey.DELETE_TOPICS: Case(
        lambda v: delete(v, "no", "yes", "gone"),
        lambda _: deleted(no=TOPIC, yes=TOPIC, gone=TOPIC),
        ("DESCRIBE topic yes", "DELETE topic yes", "DESCRIBE topic gone"),
        lambda _: deleted(yes=0),
        lambda v: delete(v, "yes"),
        lambda _: deleted(yes=0, no=TOPIC, gone=3),
    ),
    ApiKey.DESCRIBE_CONFIGS: Case(
        lambda _: describe_configs("no", "1", "yes", "metrics", "g"),
        lambda _: described_configs((), ("no", "1", "yes", "metrics", "g")),
        ("DESCRIBE_CONFIGS topic yes", "DESCRIBE_CONFIGS cluster"),
        lambda _: described_configs(("1", "yes", "metrics"), ()),
        lambda _: describe_configs("1", "yes", "metrics"),
        lambda _: described_configs(("1", "yes", "metrics"), ("no", "g")),
    ),
    ApiKey.ALTER_CONFIGS: altering(ac),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: altering(ic),
    ApiKey.ALTER_REPLICA_LOG_DIRS: whole(
        rd.AlterReplicaLogDirsRequest([rd.AlterReplicaLogDir("/logs", [rd.AlterReplicaLogDirTopic("yes", [0])])]),
        "ALTER cluster",
        rd.AlterReplicaLogDirsResponse(
            results=[rd.AlterReplicaLogDirTopicResult("yes", [rd.AlterReplicaLogDirPartitionResult(0, CLUSTER)])]
        ),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: whole(
        DescribeLogDirsRequest(None), "DESCRIBE cluster", DescribeLogDirsResponse(error_code=CLUSTER)
    ),
    ApiKey.ELECT_LEADERS: whole(
        el.ElectLeadersRequest(topic_partitions=[el.TopicPartitions("yes", [0])]),
        "ALTER cluster",
        el.ElectLeadersResponse(
            error_code=CLUSTER,
            replica_election_results=[
                el.ReplicaElectionResult("yes", [el.PartitionResult(0, CLUSTER, why("ELECT_LEADERS", "ALTER"))])
            ],
        ),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: whole(
        pr.AlterPartitionReassignmentsRequest(topics=[pr.ReassignableTopic("yes", [pr.ReassignablePartition(0, [1])])]),
        "ALTER cluster",
        pr.AlterPartitionReassignmentsResponse(
            error_code=CLUSTER,
            error_message=why("ALTER_PARTITION_REASSIGNMENTS", "ALTER"),
            responses=[
                pr.ReassignableTopicResponse(
                    "yes",
                    [pr.ReassignablePartitionResponse(0, CLUSTER, why("ALTER_PARTITION_REASSIGNMENTS", "ALTER"))],
                )
            ],
        ),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: whole(
        lr.ListPartitionReassignmentsRequest(topics=[lr.ListPartitionReassignmentsTopics("yes", [0])]),
        "DESCRIBE cluster",
        lr.ListPartitionReassignmentsResponse(
            error_code=CLUSTER,
            error_message=why("LIST_PARTITION_REASSIGNMENTS", "DESCRIBE"),
            topics=[lr.OngoingTopicReassignment("yes", [lr.OngoingPartitionReassignment(0)])],
        ),
    ),
    ApiKey.LIST_CONFIG_RESOURCES: whole(
        ListConfigResourcesRequest(), "DESCRIBE_CONFIGS cluster", ListConfigResourcesResponse(error_code=CLUSTER)
    ),
    ApiKey.DESCRIBE_ACLS: whole(
        describe_acls.DescribeAclsRequest(1, None, 3, None, None, 1, 1),
        "DESCRIBE cluster",
        describe_acls.DescribeAclsResponse(0, CLUSTER, why("DESCRIBE_ACLS", "DESCRIBE")),
    ),
    ApiKey.CREATE_ACLS: whole(
        create_acls.CreateAclsRequest([ACL, ACL]),
        "ALTER cluster",
        create_acls.CreateAclsResponse(0, [create_acls.AclCreationResult(CLUSTER, why("CREATE_ACLS", "ALTER"))] * 2),
    ),
    ApiKey.DELETE_ACLS: whole(
        delete_acls.DeleteAclsRequest([FILTER]),
        "ALTER cluster",
        delete_acls.DeleteAclsResponse(0, [delete_acls.DeleteAclsFilterResult(CLUSTER, why("DELETE_ACLS", "ALTER"))]),
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: whole(
        scram.DescribeUserScramCredentialsRequest([scram.UserName("b")]),
        "DESCRIBE cluster",
        scram.DescribeUserScramCredentialsResponse(
            0, CLUSTER, None, [scram.DescribeUserScramCredentialsResult("", CLUSTER, None)]
        ),
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: whole(
        alter_scram.AlterUserScramCredentialsRequest([alter_scram.ScramCredentialDeletion(name, 1) for name in "bab"]),
        "ALTER cluster",
        alter_scram.AlterUserScramCredentialsResponse(
            0,
            [
                alter_scram.AlterUserScramCredentialsResult(name, CLUSTER, why("ALTER_USER_SCRAM_CREDENTIALS", "ALTER"))
                for name in "ab"
            ],
        ),
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: whole(
        DescribeClientQuotasRequest(),
        "DESCRIBE_CONFIGS cluster",
        DescribeClientQuotasResponse(0, CLUSTER, None, None),
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: whole(
        acq.AlterClientQuotasRequest([acq.EntryData([acq.EntityData("user", None)])]),
        "ALTER_CONFIGS cluster",
        acq.AlterClientQuotasResponse(
            0, [acq.EntryResult(CLUSTER, "Cluster authorization failed.", [acq.EntityData("user", None)])]
        ),
    ),
    ApiKey.FOLLOW_CATALOGUE: whole(
        FollowCatalogueRequest(2, 1, "c"),
        "CLUSTER_ACTION cluster",
        FollowCatalogueResponse(CLUSTER, why("FOLLOW_CATALOGUE", "CLUSTER_ACTION"), 1, -1),
    ),
    ApiKey.EXPLAIN_GROUP: whole(ExplainGroupRequest("g"), "DESCRIBE group g", ExplainGroupResponse(GROUP)),
    ApiKey.DESCRIBE_OWNERS: whole(DescribeOwnersRequest("g"), "DESCRIBE group g", DescribeOwnersResponse(GROUP)),
    ApiKey.LIST_GROUP_FIGURES: whole(
        ListGroupFiguresRequest(), "DESCRIBE cluster", ListGroupFiguresResponse(error_code=CLUSTER)
    ),
    ApiKey.LIST_OPEN_TRANSACTIONS: whole(
        ListOpenTransactionsRequest(), "DESCRIBE cluster", ListOpenTransactionsResponse(error_code=CLUSTER)
    ),
}


def versions(key: ApiKey) -> list[int]:
    """Return the lowest and the highest version that is served."""
    api = HANDLERS.get(key)
    return sorted({1, 3} if api is None else {api.min_version, api.max_version})


ROWS = [pytest.param(key, version, id=f"{key.name}-{version}") for key in CASES for version in versions(key)]


# -- every API ---------------------------------------------------------------------------------------------------


def test_every_api_has_a_check_or_needs_none() -> None:
    assert set(HANDLERS) <= set(CHECKS) | UNGUARDED
    assert not set(CHECKS) & UNGUARDED
    assert set(CASES) == set(CHECKS)


@pytest.mark.parametrize(("key", "version"), ROWS)
def test_a_request_that_is_allowed_reaches_its_handler_unchanged(key: ApiKey, version: int) -> None:
    case = CASES[key]
    outcome = ask(Everything(*case.rights), case.request(version), version, lambda _: case.served(version))
    assert outcome.handled == received(case.request(version), version)


@pytest.mark.parametrize(("key", "version"), ROWS)
def test_a_request_without_any_right_is_refused(key: ApiKey, version: int) -> None:
    case = CASES[key]
    outcome = ask(Rights(), case.request(version), version, lambda _: case.anyhow and case.anyhow(version))
    assert outcome.answer == answered(case.refused(version), version)
    assert case.anyhow is not None or outcome.handled is None


@pytest.mark.parametrize(("key", "version"), ROWS)
def test_the_allowed_part_of_a_request_is_handled_and_the_rest_refused(key: ApiKey, version: int) -> None:
    case = CASES[key]
    outcome = ask(Rights(*case.rights), case.request(version), version, lambda _: case.served(version))
    assert outcome.handled == received((case.kept or case.request)(version), version)
    assert outcome.answer == answered((case.merged or case.served)(version), version)


def test_partitions_are_added_to_a_transaction_together_or_not_at_all() -> None:
    access = Rights("WRITE transactional_id tx", "WRITE topic yes")
    outcome = ask(access, add_to_txn("yes", "no"), 3, lambda request: None)
    assert outcome.handled is None
    assert outcome.answer == added_to_txn(yes=NOT_ATTEMPTED, no=TOPIC)
