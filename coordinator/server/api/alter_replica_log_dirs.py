"""AlterReplicaLogDirs (key 34), versions 1 and 2, which are handled alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.effects import DiskSpace, MeasureDisk, TopicEffects
from coordinator.core.topics.placement import alter_replica_log_dirs
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: AlterReplicaLogDirsRequest, ticket: Ticket, now_ms: int) -> None:
    def measured(space: DiskSpace | None) -> None:
        response = AlterReplicaLogDirsResponse()
        answer_in_steps(node, ticket, response, alter_replica_log_dirs(request, node.topics.catalogue, space, response))

    node.execute_topics(TopicEffects(jobs=(MeasureDisk(measured),)))


API = Api(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    1,
    2,
    handle,
    max_elements=12_000,
    chunked=((0, Array("results", is_owned=True, of=Array("partitions", is_owned=True))),),
    does="There is one log directory; a move to it changes nothing and succeeds.",
    refuses="Any other directory: LOG_DIR_NOT_FOUND.",
)
