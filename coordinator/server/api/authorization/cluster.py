"""Requests that need a right on the cluster, as they concern all of it.

Source: `KafkaApis`, `ControllerApis` and `AclApis` of Kafka's server. Kafka's message for CLUSTER_AUTHORIZATION_FAILED
contains the state of its request object. Here it names the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.security.acl.model import AclOperation
from coordinator.server.api.authorization.verdict import (
    CLUSTER_DENIED,
    PASS,
    Check,
    Handle,
    Verdict,
    cluster_operations,
    on_cluster,
)
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse, EntryResult
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse
from protocol.messages.list_config_resources import ListConfigResourcesResponse
from protocol.messages.list_group_figures import ListGroupFiguresResponse
from protocol.messages.list_open_transactions import ListOpenTransactionsResponse
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

REFUSED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _why(api: ApiKey, operation: AclOperation) -> str:
    return f"Request {api.name} needs {operation.name} permission."


def describe_cluster(request: DescribeClusterRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DescribeCluster, whose only secret is the list of authorized operations."""
    if not request.include_cluster_authorized_operations:
        return PASS

    def amend(response: DescribeClusterResponse) -> DescribeClusterResponse:
        if response.error_code == ErrorCode.NONE:
            response.cluster_authorized_operations = cluster_operations(access)
        return response

    return Handle(request, amend)


def _elect_leaders(request: ElectLeadersRequest) -> ElectLeadersResponse:
    message = _why(ApiKey.ELECT_LEADERS, AclOperation.ALTER)
    return ElectLeadersResponse(
        error_code=REFUSED,
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[PartitionResult(index, REFUSED, message) for index in each.partitions],
            )
            for each in request.topic_partitions or ()
        ],
    )


def _alter_replica_log_dirs(request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    refused: dict[str, dict[int, None]] = {}
    for directory in request.dirs:
        for each in directory.topics:
            refused.setdefault(each.name, {}).update(dict.fromkeys(each.partitions))
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                name, [AlterReplicaLogDirPartitionResult(index, REFUSED) for index in indexes]
            )
            for name, indexes in refused.items()
        ]
    )


def _alter_reassignments(request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    message = _why(ApiKey.ALTER_PARTITION_REASSIGNMENTS, AclOperation.ALTER)
    return AlterPartitionReassignmentsResponse(
        error_code=REFUSED,
        error_message=message,
        responses=[
            ReassignableTopicResponse(
                each.name,
                [ReassignablePartitionResponse(part.partition_index, REFUSED, message) for part in each.partitions],
            )
            for each in request.topics
        ],
    )


def _list_reassignments(request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        error_code=REFUSED,
        error_message=_why(ApiKey.LIST_PARTITION_REASSIGNMENTS, AclOperation.DESCRIBE),
        topics=[
            OngoingTopicReassignment(
                each.name, [OngoingPartitionReassignment(index) for index in each.partition_indexes]
            )
            for each in request.topics or ()
        ],
    )


def _describe_acls(_request: DescribeAclsRequest) -> DescribeAclsResponse:
    message = _why(ApiKey.DESCRIBE_ACLS, AclOperation.DESCRIBE)
    return DescribeAclsResponse(error_code=REFUSED, error_message=message)


def _create_acls(request: CreateAclsRequest) -> CreateAclsResponse:
    result = AclCreationResult(error_code=REFUSED, error_message=_why(ApiKey.CREATE_ACLS, AclOperation.ALTER))
    return CreateAclsResponse(results=[result] * len(request.creations))


def _delete_acls(request: DeleteAclsRequest) -> DeleteAclsResponse:
    result = DeleteAclsFilterResult(error_code=REFUSED, error_message=_why(ApiKey.DELETE_ACLS, AclOperation.ALTER))
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))


def _describe_scram(request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    """Refuse as Kafka does: with an entry for each user, but without its name."""
    result = DescribeUserScramCredentialsResult(error_code=REFUSED, error_message=None)
    return DescribeUserScramCredentialsResponse(
        error_code=REFUSED, error_message=None, results=[result] * len(request.users or ())
    )


def _alter_scram(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    users = {each.name for each in request.deletions} | {each.name for each in request.upsertions}
    message = _why(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, AclOperation.ALTER)
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, REFUSED, message) for user in sorted(users)]
    )


def _describe_quotas(_request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=REFUSED, error_message=None, entries=None)


def _alter_quotas(request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[EntryResult(REFUSED, CLUSTER_DENIED, each.entity) for each in request.entries]
    )


def _follow_catalogue(request: FollowCatalogueRequest) -> FollowCatalogueResponse:
    return FollowCatalogueResponse(
        error_code=REFUSED,
        error_message=_why(ApiKey.FOLLOW_CATALOGUE, AclOperation.CLUSTER_ACTION),
        node_id=request.asked_node_id,
        revision=-1,
    )


describe_log_dirs: Final[Check] = on_cluster(
    AclOperation.DESCRIBE, lambda _: DescribeLogDirsResponse(error_code=REFUSED)
)
alter_replica_log_dirs: Final[Check] = on_cluster(AclOperation.ALTER, _alter_replica_log_dirs)
alter_reassignments: Final[Check] = on_cluster(AclOperation.ALTER, _alter_reassignments)
list_reassignments: Final[Check] = on_cluster(AclOperation.DESCRIBE, _list_reassignments)
list_config_resources: Final[Check] = on_cluster(
    AclOperation.DESCRIBE_CONFIGS, lambda _: ListConfigResourcesResponse(error_code=REFUSED)
)
list_group_figures: Final[Check] = on_cluster(
    AclOperation.DESCRIBE, lambda _: ListGroupFiguresResponse(error_code=REFUSED)
)
list_open_transactions: Final[Check] = on_cluster(
    AclOperation.DESCRIBE, lambda _: ListOpenTransactionsResponse(error_code=REFUSED)
)
elect_leaders: Final[Check] = on_cluster(AclOperation.ALTER, _elect_leaders)
describe_acls: Final[Check] = on_cluster(AclOperation.DESCRIBE, _describe_acls)
create_acls: Final[Check] = on_cluster(AclOperation.ALTER, _create_acls)
delete_acls: Final[Check] = on_cluster(AclOperation.ALTER, _delete_acls)
describe_scram: Final[Check] = on_cluster(AclOperation.DESCRIBE, _describe_scram)
alter_scram: Final[Check] = on_cluster(AclOperation.ALTER, _alter_scram)
describe_quotas: Final[Check] = on_cluster(AclOperation.DESCRIBE_CONFIGS, _describe_quotas)
alter_quotas: Final[Check] = on_cluster(AclOperation.ALTER_CONFIGS, _alter_quotas)
follow_catalogue: Final[Check] = on_cluster(AclOperation.CLUSTER_ACTION, _follow_catalogue)
