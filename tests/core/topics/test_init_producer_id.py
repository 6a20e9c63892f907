"""InitProducerId: no producer id is given twice, also after failures and restarts."""

from __future__ import annotations

import pytest

from coordinator.core.topics.effects import ReserveProducerIds
from coordinator.core.topics.producer_ids import BLOCK_SIZE
from coordinator.server.api import init_producer_id as api
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.topics_world import UNANSWERED, TopicsWorld


def ask(world: TopicsWorld, version: int = 4, **about: object) -> InitProducerIdResponse:
    request = InitProducerIdRequest(**{"transactional_id": None, **about})
    answer = world.call(api.API, request, version)
    assert isinstance(answer, InitProducerIdResponse)
    return answer


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_its_own_id(version: int) -> None:
    world = TopicsWorld()
    answers = [ask(world, version) for _ in range(2 * BLOCK_SIZE + 5)]
    assert [answer.producer_id for answer in answers] == list(range(2 * BLOCK_SIZE + 5))
    assert {(answer.error_code, answer.producer_epoch) for answer in answers} == {(0, 0)}


def test_ids_are_reserved_before_they_are_handed_out() -> None:
    world = TopicsWorld()
    world.hold.add(ReserveProducerIds)
    request = InitProducerIdRequest(transactional_id=None)
    tickets = [world.send(api.API, request, 4) for _ in range(BLOCK_SIZE + 2)]
    assert all(world.answer(ticket) is UNANSWERED for ticket in tickets)
    [job] = world.held
    assert job.up_to == BLOCK_SIZE
    world.release(ReserveProducerIds)
    ids = [world.answer(ticket).producer_id for ticket in tickets]
    assert ids == list(range(BLOCK_SIZE + 2))


def test_restart_continues_after_the_last_reserved_block() -> None:
    world = TopicsWorld()
    world.topics.producer_ids.restore(3 * BLOCK_SIZE)
    assert ask(world).producer_id == 3 * BLOCK_SIZE


def test_failed_reservation_is_a_retriable_error() -> None:
    world = TopicsWorld()
    world.fail_changes = 1
    answer = ask(world)
    assert (answer.error_code, answer.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert ErrorCode(answer.error_code).retriable
    world.fail_changes = 0
    assert ask(world).producer_id == 0


@pytest.mark.parametrize(
    ("about", "error"),
    [
        ({"transactional_id": "tx"}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_id": 5, "producer_epoch": 5}, ErrorCode.NONE),
    ],
)
def test_requests_are_validated_and_errors_are_not_retriable(about: dict[str, object], error: ErrorCode) -> None:
    assert ask(TopicsWorld(), **about).error_code == error
    assert not error.retriable
