"""SaslHandshake (key 17) and SaslAuthenticate (key 36): refused as by a Kafka listener without SASL.

Kafka lists both in ApiVersions on every listener, and so does this coordinator: clients that want SASL then ask for it
and are told that it is not on, instead of guessing from the list how old the broker is. The connection stays open, as
in Kafka. What a client sends as its token is never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handshake(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Answer as Kafka's `KafkaApis.handleSaslHandshakeRequest`."""
    node.refused_sasl(ticket)
    node.reply(ticket, SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE)))


def authenticate(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Answer as Kafka's `KafkaApis.handleSaslAuthenticateRequest`."""
    node.refused_sasl(ticket)
    node.reply(
        ticket,
        SaslAuthenticateResponse(
            error_code=int(ErrorCode.ILLEGAL_SASL_STATE),
            error_message="SaslAuthenticate request received after successful authentication",
        ),
    )


HANDSHAKE = Api(
    ApiKey.SASL_HANDSHAKE,
    0,
    1,
    handshake,
    section=Section.OTHERS,
    refuses="Every mechanism: ILLEGAL_SASL_STATE, as on a listener of Kafka without SASL.",
)
AUTHENTICATE = Api(
    ApiKey.SASL_AUTHENTICATE, 0, 2, authenticate, section=Section.OTHERS, refuses="Every token: ILLEGAL_SASL_STATE."
)
