"""DeleteTopics: delete topics by name, or by id from version 6 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, NULLABLE_STRING, STRING, UUID, array, field, message, struct


@struct
class DeleteTopicState:
    name: str | None = field(NULLABLE_STRING, default=None)
    topic_id: bytes = field(UUID)


@message(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible_since=4)
class DeleteTopicsRequest:
    """Delete some topics."""

    topics: list[DeleteTopicState] = field(array(DeleteTopicState), since=6)
    topic_names: list[str] = field(array(STRING), until=5)
    timeout_ms: int = field(INT32)


@struct
class DeletableTopicResult:
    name: str | None = field(STRING, nullable_since=6)
    topic_id: bytes = field(UUID, since=6)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, since=5, default=None)


@message(ApiKey.DELETE_TOPICS, versions=(0, 6), flexible_since=4)
class DeleteTopicsResponse:
    """The outcome for each topic."""

    throttle_time_ms: int = field(INT32, since=1)
    responses: list[DeletableTopicResult] = field(array(DeletableTopicResult))
