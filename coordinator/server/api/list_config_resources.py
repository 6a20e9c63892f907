"""ListConfigResources (key 74), versions 0 and 1 (KIP-1142): the names of resources that have settings.

Version 0 is ListClientMetricsResources. An empty list of types asks for all. A
type that Kafka 4.4 does not know refuses the request (`KafkaApis.handleListConfigResources`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.client_metrics import CLIENT_METRICS
from coordinator.core.topics.describe import BROKER, BROKER_LOGGER, TOPIC
from coordinator.core.topics.group_configs import GROUP
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ListConfigResourcesRequest, ticket: Ticket, now_ms: int) -> None:
    nodes = [str(number) for number in node.cluster.nodes]
    names: dict[int, Iterable[str]] = {  # in the order of Kafka's answer
        GROUP: node.topics.catalogue.group_configs,
        CLIENT_METRICS: node.topics.catalogue.client_metrics,
        BROKER_LOGGER: nodes,
        BROKER: nodes,
        TOPIC: node.topics.catalogue.topics,
    }
    wanted = set(request.resource_types)
    if ticket.version == 0:
        wanted = {CLIENT_METRICS}
    if not wanted <= names.keys():
        node.reply(ticket, ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        return
    resources = [
        ConfigResource(resource_name=name, resource_type=kind)
        for kind, those in names.items()
        if not wanted or kind in wanted
        for name in those
    ]
    node.reply(ticket, ListConfigResourcesResponse(config_resources=resources))


API = Api(
    ApiKey.LIST_CONFIG_RESOURCES,
    0,
    1,
    handle,
    chunked=((0, Array("config_resources", is_owned=True)),),
    amplifies=True,
    does="Topics, nodes, the loggers of nodes, groups with settings, and subscriptions to metrics of clients.",
    refuses="A type that is not known: UNSUPPORTED_VERSION.",
)
