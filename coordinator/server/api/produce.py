"""Produce (key 0): versions 3 to 13 are served, and 0 to 13 are advertised.

librdkafka before 2.12 takes compression to be impossible if version 0 is not advertised; versions 0 to 2 are not served
all the same. zstd is for clients of version 7 on. Clients of version 3 do not know KAFKA_STORAGE_ERROR and get
NOT_LEADER_OR_FOLLOWER, on which they refresh their metadata as well. From 13 on topics are named by id. Clients of
version 11 on know TRANSACTION_ABORTABLE; from 12 on a batch adds its partition to the transaction (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.produce_verification import TransactionSupportedOperation
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_ZSTD_SINCE = 7
_STORAGE_ERROR_SINCE = 4
_ABORTABLE_SINCE = 11
_ADDS_PARTITIONS_SINCE = 12
IDS_SINCE = 13
_OPERATIONS = tuple(
    TransactionSupportedOperation.ADD_PARTITION
    if version >= _ADDS_PARTITIONS_SINCE
    else TransactionSupportedOperation.GENERIC_ERROR
    if version >= _ABORTABLE_SINCE
    else TransactionSupportedOperation.DEFAULT_ERROR
    for version in range(IDS_SINCE + 1)
)


def handle(node: Node, request: ProduceRequest, ticket: Ticket, now_ms: int) -> None:
    version = ticket.version
    effects = node.topics.produce(
        request,
        ticket,
        now_ms,
        by_id=version >= IDS_SINCE,
        zstd_allowed=version >= _ZSTD_SINCE,
        operation=_OPERATIONS[version],
    )
    node.execute_topics(effects, ticket)


def shape(response: ProduceResponse, version: int) -> ProduceResponse:
    if version < _STORAGE_ERROR_SINCE:
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                    partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return response


API = Api(
    ApiKey.PRODUCE,
    3,
    13,
    handle,
    shape,
    advertised_min=0,
    max_elements=12_000,
    is_pipelined=True,
    waits_for_log=True,
    is_sampled=True,
    has_own_size_limit=True,
    chunked=((0, Array("responses", tail_bytes=4, of=Array("partition_responses"))),),
    does=(
        "Idempotent and transactional producers, all codecs; `acks` 0, 1 and -1; topics by id from 13 on. "
        "ApiVersions says 0 to 13, because librdkafka before 2.12 takes compression to be impossible without version "
        "0; 0 to 2 are not served."
    ),
    refuses=(
        "Transactional batches without topics: INVALID_TXN_STATE. Record formats before 2 (that of Kafka 0.11): "
        "INVALID_RECORD."
    ),
)
