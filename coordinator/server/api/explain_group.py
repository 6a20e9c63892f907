"""ExplainGroup, a request of this package: the present state of a group and its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.model import encode
from coordinator.server.api.handler import Api, Section
from coordinator.telemetry.polls import with_polls
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.explain_group import ExplainGroupRequest, ExplainGroupResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ExplainGroupRequest, ticket: Ticket, now_ms: int) -> None:
    error = node.core.refusal(request.group_id)
    story = node.core.story(request.group_id, now_ms) if error is ErrorCode.NONE else None
    if story is None and error is ErrorCode.NONE:
        error = ErrorCode.GROUP_ID_NOT_FOUND
    if story is not None:
        story = with_polls(story, node.telemetry.of_group(request.group_id), now_ms)
    quarantined = node.core.quarantined(request.group_id)
    answer = ExplainGroupResponse(
        error_code=int(error),
        error_message=None if quarantined is None else quarantined.message,
        story=None if story is None else encode(story),
    )
    node.reply(ticket, answer)


API = Api(
    ApiKey.EXPLAIN_GROUP,
    0,
    0,
    handle,
    section=Section.OTHERS,
    does="For `coordinator groups explain`; not advertised to clients.",
)
