"""ElectLeaders (key 43), versions 0 to 2. Version 0 has no type of election and means the preferred replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.elect_leaders import elect_leaders
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ElectLeadersRequest, ticket: Ticket, now_ms: int) -> None:
    response = ElectLeadersResponse()
    answer_in_steps(node, ticket, response, elect_leaders(request, node.topics.catalogue, response))


API = Api(
    ApiKey.ELECT_LEADERS,
    0,
    2,
    handle,
    max_elements=12_000,
    chunked=((0, Array("replica_election_results", is_owned=True, of=Array("partition_result", is_owned=True))),),
    amplifies=True,
    does="There are no elections: ELECTION_NOT_NEEDED for each partition that is named.",
    refuses=("A partition whose log cannot be used: PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE."),
)
