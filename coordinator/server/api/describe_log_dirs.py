"""DescribeLogDirs, versions 1 to 5: the log directory of this node, and the sizes of its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.effects import DiskSpace, MeasureDisk, TopicEffects
from coordinator.core.topics.log_dirs import describe_log_dirs
from coordinator.server.api.chunked_responses import PARTITIONS, Array
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


# Fields behind the topics: the space of the volume (16 bytes) from 4 on, `is_cordoned` (1 byte) from 5 on.
LONG_RESULTS: Final = (
    (0, Array("results", of=Array("topics", of=PARTITIONS))),
    (4, Array("results", of=Array("topics", tail_bytes=16, of=PARTITIONS))),
    (5, Array("results", of=Array("topics", tail_bytes=17, of=PARTITIONS))),
)

API = Api(
    ApiKey.DESCRIBE_LOG_DIRS,
    1,
    5,
    handle,
    max_elements=12_000,
    chunked=LONG_RESULTS,
    amplifies=True,
    does=("The one log directory of this node, the space of its file system, and the sizes of the logs of this node."),
)
