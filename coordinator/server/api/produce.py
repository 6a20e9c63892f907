"""Produce: versions 3 to 11 are served, and 0 is advertised.

librdkafka before 2.12 takes compression to be impossible where version 0 is not offered, so ApiVersions says 0 to 11
although nobody may use 0 to 2 (wire spec, 5.3). zstd is for clients of version 7 on. Version 3 does not know
KAFKA_STORAGE_ERROR: there it becomes NOT_LEADER_OR_FOLLOWER, which makes a client look again as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_ZSTD_SINCE = 7
_STORAGE_ERROR_SINCE = 4


def handle(node: Node, request: ProduceRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.produce(request, ticket, now_ms, zstd_allowed=ticket.version >= _ZSTD_SINCE))


def shape(response: ProduceResponse, version: int) -> ProduceResponse:
    if version < _STORAGE_ERROR_SINCE:
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                    partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return response


API = Api(ApiKey.PRODUCE, 3, 11, handle, shape, advertised_min=0, max_elements=12_000)
