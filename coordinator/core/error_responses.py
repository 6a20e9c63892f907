"""Responses to group requests that failed as a whole, with the error at the level where the API has a field for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from coordinator.core.group.describe import DescribeGroups, describe_error
from coordinator.core.group.join import JoinGroup
from coordinator.core.group.responses import join_error, sync_error
from coordinator.core.offsets.commit import OFFSET_COMMIT, TXN_OFFSET_COMMIT, build_response
from coordinator.core.offsets.commit_template import RepeatedCommit
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.describe_groups import DescribeGroupsResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


def _every_partition(request: Any, error: ErrorCode) -> Any:
    response_types = OFFSET_COMMIT if isinstance(request, OffsetCommitRequest) else TXN_OFFSET_COMMIT
    return build_response(
        response_types,
        [
            (topic.name, each.partition_index, int(error), None, place)
            for place, topic in enumerate(request.topics)
            for each in topic.partitions
        ],
    )


_FORMS: Final[Mapping[type, Callable[[Any, ErrorCode], Any]]] = MappingProxyType(
    {
        JoinGroup: lambda command, error: join_error(error, command.request.member_id),
        SyncGroupRequest: lambda _, error: sync_error(error),
        HeartbeatRequest: lambda _, error: HeartbeatResponse(error_code=int(error)),
        LeaveGroupRequest: lambda _, error: LeaveGroupResponse(error_code=int(error)),
        OffsetCommitRequest: _every_partition,
        RepeatedCommit: lambda command, error: build_response(OFFSET_COMMIT, command.template.outcomes(int(error))),
        TxnOffsetCommitRequest: _every_partition,
        OffsetFetchRequest: lambda request, error: OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=int(error))
                for group in request.groups
            ]
        ),
        OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error_code=int(error)),
        DeleteGroupsRequest: lambda request, error: DeleteGroupsResponse(
            results=[DeletableGroupResult(group_id=name, error_code=int(error)) for name in request.groups_names]
        ),
        ListGroupsRequest: lambda _, error: ListGroupsResponse(error_code=int(error)),
        DescribeGroups: lambda command, error: DescribeGroupsResponse(
            groups=[describe_error(group_id, error) for group_id in command.request.groups]
        ),
    }
)


def failure(request: Any, error: ErrorCode) -> Any:
    """Return the response to a request that only contains `error`."""
    return _FORMS[type(request)](request, error)
