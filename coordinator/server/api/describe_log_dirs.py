"""DescribeLogDirs, versions 1 to 5: the log directory of this node, and the sizes of its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.effects import DiskSpace, MeasureDisk, TopicEffects
from coordinator.core.topics.log_dirs import describe_log_dirs
from coordinator.server.api.handler import Api
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeLogDirsRequest, ticket: Ticket, now_ms: int) -> None:
    def measured(space: DiskSpace | None) -> None:
        response = DescribeLogDirsResponse()
        answer_in_steps(node, ticket, response, describe_log_dirs(request, node.topics.catalogue, space, response))

    node.execute_topics(TopicEffects(jobs=(MeasureDisk(measured),)))


API = Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, handle, max_elements=12_000)
