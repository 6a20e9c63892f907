"""SaslHandshake (key 17) and SaslAuthenticate (key 36): the login of a connection (`security/authenticator.py`).

On a listener without SASL both are refused as by Kafka, which lists them in ApiVersions on every listener: clients that
want SASL are told that it is not on, instead of guessing from the list how old the broker is. The connection stays
open, and the token is never looked at. An authenticated connection that may not log in again gets the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordinator.security.authenticator import State
from coordinator.server.api.api_versions import ANY_NODE, is_valid
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handshake(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Begin another login, or answer as `KafkaApis.handleSaslHandshakeRequest`."""
    authenticator = ticket.session.authenticator
    if authenticator is None:
        node.refused_sasl(ticket)
    elif authenticator.may_log_in_again(now_ms):
        begin(node, request, ticket, now_ms)
        return
    node.reply(ticket, SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE)))


def authenticate(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Answer as Kafka's `KafkaApis.handleSaslAuthenticateRequest`."""
    if ticket.session.authenticator is None:
        node.refused_sasl(ticket)
    node.reply(
        ticket,
        SaslAuthenticateResponse(
            error_code=int(ErrorCode.ILLEGAL_SASL_STATE),
            error_message="SaslAuthenticate request received after successful authentication",
        ),
    )


def begin(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Take a SaslHandshake from a client that logs in."""
    session = ticket.session
    authenticator = session.authenticator
    if authenticator.state is State.TOKENS:
        refuse(node, request, ticket, now_ms)
        return
    is_enabled = authenticator.handshake(request.mechanism, ticket.version)
    response = SaslHandshakeResponse(mechanisms=list(authenticator.mechanisms))
    if is_enabled:
        session.proceed_with_login()
        node.reply(ticket, response)
    elif authenticator.is_again:
        session.close("it began to log in again with another SASL mechanism, which is not enabled", kind="login")
    else:
        response.error_code = int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        node.refuse_login(ticket, response, f"the SASL mechanism {request.mechanism[:100]!r} is not enabled here")


def take_token(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Take a SaslAuthenticate from a client that logs in."""
    node.take_token(ticket, request.auth_bytes)


def refuse(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Refuse any other request while tokens are awaited."""
    answer = ERROR_RESPONSES.get(ticket.api_key)
    node.refuse_login(
        ticket,
        None if answer is None else answer(request, ErrorCode.ILLEGAL_SASL_STATE),
        f"it sent {ApiKey(ticket.api_key).name} where SaslAuthenticate was due",
    )


def login_rows(handlers: Mapping[int, Api]) -> Mapping[int, Api]:
    """Return the table of APIs for connections that log in, from that of the others."""
    usual = handlers[ApiKey.API_VERSIONS]

    def answer_versions(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        authenticator = ticket.session.authenticator
        if authenticator.state is State.TOKENS:
            refuse(node, request, ticket, now_ms)
        elif not authenticator.takes_versions:
            ticket.session.close("it asked for the versions twice while it logged in", kind="login")
        else:
            valid = is_valid(request, ticket.version)
            if valid:  # as in Kafka, a client that has not logged in is not told whether it is at the right node
                request.cluster_id, request.node_id = None, ANY_NODE
            usual.handle(node, request, ticket, now_ms)
            if valid:
                authenticator.versions_answered()

    rows = {key: api._replace(handle=refuse) for key, api in handlers.items()}
    rows[ApiKey.API_VERSIONS] = usual._replace(handle=answer_versions)
    rows[ApiKey.SASL_HANDSHAKE] = HANDSHAKE._replace(handle=begin)
    rows[ApiKey.SASL_AUTHENTICATE] = AUTHENTICATE._replace(handle=take_token)
    return rows


HANDSHAKE = Api(
    ApiKey.SASL_HANDSHAKE,
    0,
    1,
    handshake,
    section=Section.OTHERS,
    refuses="On a listener without SASL every mechanism: ILLEGAL_SASL_STATE, as Kafka.",
)
AUTHENTICATE = Api(
    ApiKey.SASL_AUTHENTICATE,
    0,
    2,
    authenticate,
    section=Section.OTHERS,
    refuses="On a listener without SASL every token: ILLEGAL_SASL_STATE.",
)
