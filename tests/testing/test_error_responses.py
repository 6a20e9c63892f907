"""The errors of requests that were not handled are where Kafka has them."""

from __future__ import annotations

import pytest

from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from tests.testing.test_faults import request_of


@pytest.mark.parametrize("version", range(7, 17))
@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ],
)
def test_an_error_of_a_fetch_session_is_at_the_top(version: int, error: ErrorCode) -> None:
    """Source: `SessionErrorContext` of Kafka, which does not know the partitions."""
    response = ERROR_RESPONSES[ApiKey.FETCH](request_of(ApiKey.FETCH, version), error)
    assert (response.error_code, response.session_id, response.responses) == (error, 0, [])


def test_another_error_of_a_fetch_is_at_its_partitions() -> None:
    response = ERROR_RESPONSES[ApiKey.FETCH](request_of(ApiKey.FETCH, 12), ErrorCode.OFFSET_OUT_OF_RANGE)
    assert response.error_code == ErrorCode.NONE
    assert [each.error_code for topic in response.responses for each in topic.partitions] == [
        ErrorCode.OFFSET_OUT_OF_RANGE
    ]


@pytest.mark.parametrize("version", range(1, 10))
def test_an_error_of_offset_fetch_is_where_kafka_has_it(version: int) -> None:
    """Source: `OffsetFetchRequest.getErrorResponse`: in the partitions before 2, then of the group without topics."""
    shape = HANDLERS[ApiKey.OFFSET_FETCH].shape
    assert shape is not None
    made = ERROR_RESPONSES[ApiKey.OFFSET_FETCH](request_of(ApiKey.OFFSET_FETCH, version), ErrorCode.NOT_COORDINATOR)
    response = shape(made, version)
    if version < 2:
        errors = [each.error_code for topic in response.topics for each in topic.partitions]
        assert errors == [ErrorCode.NOT_COORDINATOR]
    else:
        group = response if version < 8 else response.groups[0]
        assert (group.error_code, group.topics) == (ErrorCode.NOT_COORDINATOR, [])


@pytest.mark.parametrize("version", range(7))
def test_an_error_of_find_coordinator_has_a_message(version: int) -> None:
    shape = HANDLERS[ApiKey.FIND_COORDINATOR].shape
    assert shape is not None
    request = request_of(ApiKey.FIND_COORDINATOR, version)
    response = shape(ERROR_RESPONSES[ApiKey.FIND_COORDINATOR](request, ErrorCode.COORDINATOR_NOT_AVAILABLE), version)
    found = response if version < 4 else response.coordinators[0]
    assert found.error_message == ErrorCode.COORDINATOR_NOT_AVAILABLE.message
