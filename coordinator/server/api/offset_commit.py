"""OffsetCommit (key 8); see `coordinator.core.offsets.commit`.

Versions 0 and 1 stored offsets elsewhere and are not served. A group that does not exist is GROUP_ID_NOT_FOUND from 9
on; before, ILLEGAL_GENERATION says the same to a member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 9
_GROUP_ID_NOT_FOUND: Final = int(ErrorCode.GROUP_ID_NOT_FOUND)


def handle(node: Node, request: OffsetCommitRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


def shape(response: OffsetCommitResponse, version: int) -> OffsetCommitResponse:
    if version < FIRST_WITH_GROUP_ID_NOT_FOUND:
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code == _GROUP_ID_NOT_FOUND:
                    partition.error_code = int(ErrorCode.ILLEGAL_GENERATION)
    return response


API = Api(ApiKey.OFFSET_COMMIT, 2, 9, handle, shape, max_elements=12_000)
