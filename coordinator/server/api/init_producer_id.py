"""InitProducerId (key 22), versions 0 to 5: an id for a producer, or the next epoch of one with a transactional id.

Version 6, with two-phase commit (KIP-939), is not served. Source: `KafkaApis.handleInitProducerIdRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.transactions.metadata import NO_EPOCH, NO_PRODUCER_ID
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


FENCED_SINCE: Final = 4  # before, PRODUCER_FENCED was not known


def handle(node: Node, request: InitProducerIdRequest, ticket: Ticket, now_ms: int) -> None:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        node.reply(ticket, _refused(ErrorCode.INVALID_REQUEST))
    elif request.transactional_id is None:
        node.execute_topics(node.topics.new_producer_id(ticket, now_ms))
    elif node.transactions is not None:
        node.transactions.handle(request, ticket)
    elif request.transactional_id:
        node.reply(ticket, _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    else:
        node.reply(ticket, _refused(ErrorCode.INVALID_REQUEST))


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=int(error), producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)


def shape(response: InitProducerIdResponse, version: int) -> InitProducerIdResponse:
    if version < FENCED_SINCE and response.error_code == ErrorCode.PRODUCER_FENCED:
        response.error_code = int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return response


API = Api(
    ApiKey.INIT_PRODUCER_ID,
    0,
    5,
    handle,
    shape,
    does="Ids for idempotent and for transactional producers.",
    refuses=(
        "A transactional id without topics (`topics.storage`): TRANSACTIONAL_ID_AUTHORIZATION_FAILED, on which every "
        "client gives up at once."
    ),
)
