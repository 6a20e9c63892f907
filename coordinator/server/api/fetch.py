"""Fetch (key 1), versions 4 to 18. From 13 on topics are named by id; zstd is for clients of version 10 on.

Clients before version 6 do not know KAFKA_STORAGE_ERROR and get NOT_LEADER_OR_FOLLOWER instead. Versions 17 and 18 add
fields of replicas only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_STORAGE_ERROR_SINCE = 6
_ZSTD_SINCE = 10
_IDS_SINCE = 13


def handle(node: Node, request: FetchRequest, ticket: Ticket, now_ms: int) -> None:
    steps = _fetch(node, request, ticket, now_ms)
    for _ in steps:  # most requests are done in the first step
        node.take_turns(ticket, steps)
        return


def _fetch(node: Node, request: FetchRequest, ticket: Ticket, now_ms: int) -> Iterator[None]:
    version = ticket.version
    effects = yield from node.topics.fetch(
        request, ticket, now_ms, by_id=version >= _IDS_SINCE, zstd_allowed=version >= _ZSTD_SINCE
    )
    node.execute_topics(effects)


def shape(response: FetchResponse, version: int) -> FetchResponse:
    if version < _STORAGE_ERROR_SINCE:
        for topic in response.responses:
            for partition in topic.partitions:
                if partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                    partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return response


API = Api(
    ApiKey.FETCH,
    4,
    18,
    handle,
    shape,
    max_elements=12_000,
    is_sampled=True,
    chunked=((0, Array("responses", of=Array("partitions"))),),
    does=(
        "Long polls, which end early when another request waits behind them on their connection; topics by id from 13 "
        "on; `__consumer_offsets` can be read as well. `read_committed` reads up to the last stable offset, and names "
        "the aborted transactions."
    ),
    refuses=(
        "Fetch sessions: none is made, so each request names all partitions; an id of one gets "
        "FETCH_SESSION_ID_NOT_FOUND."
    ),
)
