"""ApiVersions (key 18): the served versions, computed from the table of handlers.

Clients choose every version by this answer, so the ranges are not written down a second time. A version that is not
known is answered in the form of v0 with error 35 and the range of ApiVersions itself (KIP-511). The connection does
that, since the body of such a request cannot be parsed.

Two features are announced (KIP-584). By `group.version` administrators' tools see that the consumer protocol is on, by
`transaction.version` producers learn that each transaction has an epoch of its own (KIP-890).

From version 5 on a client names the cluster and the node that it means to reach, both or neither (KIP-1242). If it has
reached another one, it is told to begin again from its bootstrap addresses.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

FIRST_VERSION_WITH_SOFTWARE: Final = 3
TELEMETRY_KEYS: Final = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)
# Clients that wait in close() for a last push of metrics, until its timeout if nothing sends it (KAFKA-17731).
WAIT_FOR_LAST_PUSH: Final = frozenset(ClientSoftware("apache-kafka-java", each) for each in ("3.7.0", "3.7.1", "3.8.0"))
FIRST_VERSION_WITH_FEATURES_AT_0: Final = 4  # older clients refuse a feature whose lowest level is 0
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
EPOCH_BUMPS: Final = 2  # of transaction.version: a producer gets a new epoch with each transaction (KIP-890)
ANY_NODE: Final = -1  # the default of a field that versions before 5 lack
# KIP-511: letters, digits, '-' and '.'; the first and the last are letters or digits.
SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@lru_cache(256)
def _shared(name: str, version: str) -> ClientSoftware:
    """Return one object for equal software, because connections and members keep it."""
    return ClientSoftware(name, version)


def advertised(handlers: Mapping[int, Api]) -> list[ApiVersion]:
    """Return one entry for each API that is served to clients, by key."""
    return [
        ApiVersion(
            api_key=int(api.key),
            min_version=api.min_version if api.advertised_min is None else api.advertised_min,
            max_version=api.max_version,
        )
        for _, api in sorted(handlers.items())
        if api.key.is_kafkas
    ]


def unsupported_version() -> ApiVersionsResponse:
    """Return the answer to an ApiVersions version that is not known; it is encoded as v0."""
    row = api_versions({})
    return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=advertised({int(row.key): row}))


def illegal_sasl_state() -> ApiVersionsResponse:
    """Return the answer to a version that is not known, while tokens are awaited; it is encoded as v0."""
    return ApiVersionsResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE))


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Return whether the software, from version 3 on, has the right form, and the destination is whole or missing."""
    if (request.cluster_id is None) != (request.node_id == ANY_NODE):
        return False
    return version < FIRST_VERSION_WITH_SOFTWARE or bool(
        SOFTWARE_NAME.fullmatch(request.client_software_name)
        and SOFTWARE_NAME.fullmatch(request.client_software_version)
    )


def is_for(request: ApiVersionsRequest, cluster_id: str, node_id: int) -> bool:
    """Return whether a valid request is meant for this node of this cluster."""
    return request.cluster_id is None or (request.cluster_id == cluster_id and request.node_id == node_id)


def api_versions(handlers: Mapping[int, Api]) -> Api:
    """Return the row of ApiVersions for a table, which may still be filled."""

    def handle(node: Node, request: ApiVersionsRequest, ticket: Ticket, now_ms: int) -> None:
        """Answer at once. A refusal has no keys, and the connection stays open."""
        if not is_valid(request, ticket.version):
            node.reply(ticket, ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST)))
            return
        if not is_for(request, node.cluster_id, node.cluster.node_id):
            node.reply(ticket, ApiVersionsResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED)))
            return
        software = UNKNOWN_SOFTWARE
        if ticket.version >= FIRST_VERSION_WITH_SOFTWARE:
            name, version = request.client_software_name, request.client_software_version
            most = node.config.client_software_max_chars
            software = _shared(name[:most], version[:most])
            node.identified(ticket, software)
        served = advertised(handlers)
        if not node.telemetry.is_on or software in WAIT_FOR_LAST_PUSH:  # as Kafka without an exporter
            served = [each for each in served if each.api_key not in TELEMETRY_KEYS]
        response = ApiVersionsResponse(api_keys=served, finalized_features_epoch=0)
        if ticket.version >= FIRST_VERSION_WITH_FEATURES_AT_0:
            response.supported_features = [SupportedFeatureKey(name=GROUP_VERSION, min_version=0, max_version=1)]
            if node.transactions is not None:
                response.supported_features.append(SupportedFeatureKey(TRANSACTION_VERSION, 0, EPOCH_BUMPS))
        if node.config.serves_consumer_protocol:
            response.finalized_features.append(
                FinalizedFeatureKey(name=GROUP_VERSION, min_version_level=1, max_version_level=1)
            )
        if node.transactions is not None:
            response.finalized_features.append(FinalizedFeatureKey(TRANSACTION_VERSION, EPOCH_BUMPS, EPOCH_BUMPS))
        node.reply(ticket, response)

    return Api(
        ApiKey.API_VERSIONS,
        0,
        5,
        handle,
        section=Section.OTHERS,
        does="Written from the same table as this page.",
        refuses=(
            "A version that is not known: UNSUPPORTED_VERSION in the form of version 0, with the range (KIP-511). "
            "A client that means another node or cluster (KIP-1242): REBOOTSTRAP_REQUIRED."
        ),
    )
