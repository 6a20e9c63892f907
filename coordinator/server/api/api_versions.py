"""ApiVersions (key 18): what this server serves, from the table of handlers itself.

Clients choose every version by this answer, and a wrong range hurts them (wire spec 5.3), so the ranges are computed
from `HANDLERS` and never written down twice. A version that we do not know is answered in the form of v0 with error
35 and the one true range of ApiVersions (KIP-511); the connection does that, since such a body cannot be parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

FIRST_VERSION_WITH_SOFTWARE: Final = 3
# KIP-511: a letter or digit first and last, in between also '-' and '.'.
SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def advertised(handlers: Mapping[int, Api]) -> list[ApiVersion]:
    """One entry for each API that is served to clients, by key."""
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
    """The answer to an ApiVersions version that we do not know; to be encoded as v0."""
    return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=advertised({int(API.key): API}))


def handle(node: Node, request: ApiVersionsRequest, ticket: Ticket, now_ms: int) -> None:
    """Answer at once; a malformed software name gets INVALID_REQUEST and no keys, and the connection stays open."""
    from coordinator.server.api.table import HANDLERS  # the table imports this row; the row reads the table when asked

    if ticket.version >= FIRST_VERSION_WITH_SOFTWARE and not (
        SOFTWARE_NAME.fullmatch(request.client_software_name)
        and SOFTWARE_NAME.fullmatch(request.client_software_version)
    ):
        node.reply(ticket, ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST)))
        return
    node.reply(ticket, ApiVersionsResponse(api_keys=advertised(HANDLERS)))


API = Api(ApiKey.API_VERSIONS, 0, 4, handle)
