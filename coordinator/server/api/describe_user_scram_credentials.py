"""DescribeUserScramCredentials (key 50), version 0 (KIP-554): the mechanisms of the users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.security.scram_changes import describe
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeUserScramCredentialsRequest, ticket: Ticket, now_ms: int) -> None:
    response = DescribeUserScramCredentialsResponse()
    answer_in_steps(node, ticket, response, describe(request, node.users.credentials.users, response))


API = Api(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    0,
    0,
    handle,
    max_elements=10_000,
    chunked=((0, Array("results", is_owned=True)),),
    amplifies=True,
    section=Section.OTHERS,
    does="The users that have passwords.",
)
