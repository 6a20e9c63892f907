"""Refusals of requests that change topics, users, access rules or quotas on a node that is not the controller.

Clients that get NOT_CONTROLLER look up the controller and ask there. Since KRaft, Kafka's brokers forward such requests
themselves, but clients still support the older way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from coordinator.core.topics.alter_configs import RESPONSES, AnyRequest
from coordinator.security import scram_changes
from coordinator.security.acl.changes import refuse_creations, refuse_deletions
from coordinator.security.quotas import changes as quota_changes
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from protocol.messages.create_acls import CreateAclsRequest
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.delete_acls import DeleteAclsRequest
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest


def _create_topics(request: CreateTopicsRequest, error: ErrorCode, reason: str) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=name, error_code=error, error_message=reason)
            for name in dict.fromkeys(asked.name for asked in request.topics)
        ]
    )


def _delete_topics(request: DeleteTopicsRequest, error: ErrorCode, reason: str) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error, error_message=reason)
            for name, topic_id in dict.fromkeys((asked.name, asked.topic_id) for asked in request.topics)
        ]
    )


def _create_partitions(request: CreatePartitionsRequest, error: ErrorCode, reason: str) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=name, error_code=error, error_message=reason)
            for name in dict.fromkeys(asked.name for asked in request.topics)
        ]
    )


def _alter_configs(request: AnyRequest, error: ErrorCode, reason: str) -> Any:
    response, result = RESPONSES[type(request)]
    return response(
        responses=[
            result(error_code=error, error_message=reason, resource_type=kind, resource_name=name)
            for kind, name in dict.fromkeys((each.resource_type, each.resource_name) for each in request.resources)
        ]
    )


_REFUSALS: Final[Mapping[type, Callable[[Any, ErrorCode, str], Any]]] = MappingProxyType(
    {
        CreateTopicsRequest: _create_topics,
        DeleteTopicsRequest: _delete_topics,
        CreatePartitionsRequest: _create_partitions,
        IncrementalAlterConfigsRequest: _alter_configs,
        AlterConfigsRequest: _alter_configs,
        AlterUserScramCredentialsRequest: scram_changes.refuse,
        CreateAclsRequest: refuse_creations,
        DeleteAclsRequest: refuse_deletions,
        AlterClientQuotasRequest: quota_changes.refuse,
    }
)


def refuse_change(request: Any, error: ErrorCode, reason: str) -> Any:
    """Return the response that refuses each change of a request."""
    return _REFUSALS[type(request)](request, error, reason)
