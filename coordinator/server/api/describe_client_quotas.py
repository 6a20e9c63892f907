"""DescribeClientQuotas (key 48), versions 0 to 1 (KIP-546): the quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.security.quotas.changes import describe
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeClientQuotasRequest, ticket: Ticket, now_ms: int) -> None:
    response = DescribeClientQuotasResponse()
    answer_in_steps(node, ticket, response, describe(request, node.quota_store.content, response))


def shape(response: DescribeClientQuotasResponse, version: int) -> DescribeClientQuotasResponse:
    """Return the answer as Kafka sends it: after an error there is no list."""
    return changed(response, entries=None) if response.error_code else response


API = Api(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    0,
    1,
    handle,
    shape,
    max_elements=100,
    chunked=((0, Array("entries", is_owned=True)),),
    amplifies=True,
    section=Section.OTHERS,
    does="The quotas.",
)
