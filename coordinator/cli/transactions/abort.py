"""`coordinator transactions abort`: aborts an open transaction by fencing its producer, as a new instance would.

Its producer hears that it is fenced (PRODUCER_FENCED) and must start anew. A transaction that no transactional id has
open (a hanging one) is aborted in one partition, by a marker that is written there. Source: Kafka's
`Admin.fenceProducers` and `Admin.abortTransaction`.
"""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.client import Client, NodeConnection, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.cli.table import Row, render
from coordinator.cli.transactions.describe import OPEN
from coordinator.cli.transactions.transactional_ids import add_transactional_ids, coordinator_of, describe, for_each_id
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

DESCRIPTION: Final = "Abort open transactions. Their producers are fenced: they hear it and must start anew."
EPILOG: Final = """\
examples:
  coordinator transactions abort payments-1

one that no transactional id has open, in a partition whose last stable offset it holds at 4711:
  coordinator transactions abort --topic payments --partition 0 --start-offset 4711"""

COLUMNS: Final = ("TRANSACTIONAL-ID", "PRODUCERID", "PRODUCEREPOCH", "ABORTED")
HANGING_COLUMNS: Final = ("TOPIC", "PARTITION", "STARTOFFSET", "PRODUCERID", "PRODUCEREPOCH", "ABORTED")
_NO_TRANSACTION: Final = -1
_WITHOUT_VERSION: Final = 1  # of WriteTxnMarkers: from 2 on a marker says which version of transactions it ends


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_transactional_ids(parser, at_least="*")
    parser.add_argument("--topic", help="of a transaction that no transactional id has open")
    parser.add_argument("--partition", type=int, metavar="N")
    parser.add_argument("--start-offset", type=int, metavar="OFFSET", help="the first offset of that transaction there")


def run(arguments: argparse.Namespace) -> int:
    hanging = (arguments.topic, arguments.partition, arguments.start_offset)
    if all(each is None for each in hanging) and arguments.transactional_ids:
        return for_each_id(arguments, COLUMNS, _abort)
    if any(each is None for each in hanging) or arguments.transactional_ids:
        raise CliError("name transactional ids, or else --topic, --partition and --start-offset together")
    with client_of(arguments) as client:
        row = _abort_hanging(client, *hanging)
    print(render(arguments.output, HANGING_COLUMNS, [row]))
    return 0


def _abort_hanging(client: Client, topic: str, partition: int, start_offset: int) -> Row:
    """Write an abort marker for the producer whose transaction begins at an offset of a partition."""
    name = f"{topic}-{partition}"
    connection = _leader(client, topic, partition)
    request = DescribeProducersRequest([TopicRequest(topic, [partition])])

    def ask() -> tuple[int, PartitionResponse]:
        (described,) = connection.call(request, DescribeProducersResponse).topics[0].partitions
        return described.error_code, described

    producers = client.patiently(f"describing the producers of {name}", ask).active_producers
    found = [each for each in producers if each.current_txn_start_offset == start_offset]
    if not found:
        starts = sorted(
            each.current_txn_start_offset for each in producers if each.current_txn_start_offset > _NO_TRANSACTION
        )
        has = f"its open ones begin at {', '.join(map(str, starts))}" if starts else "it has none open"
        raise CliError(f"no transaction of {name} begins at offset {start_offset}: {has}", 1)
    (producer,) = found
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(topic, [partition])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )

    def write() -> tuple[int, None]:
        answer = connection.call(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, _WITHOUT_VERSION)
        return answer.markers[0].topics[0].partitions[0].error_code, None

    client.patiently(f"aborting the transaction of producer {producer.producer_id} in {name}", write)
    return {
        "TOPIC": topic,
        "PARTITION": partition,
        "STARTOFFSET": start_offset,
        "PRODUCERID": producer.producer_id,
        "PRODUCEREPOCH": producer.producer_epoch,
        "ABORTED": True,
    }


def _leader(client: Client, topic: str, partition: int) -> NodeConnection:
    (described,) = client.metadata([topic]).topics
    for each in described.partitions:
        if each.partition_index == partition and each.leader_id >= 0:
            return client.node(each.leader_id)
    reason = explain(described.error_code) if described.error_code else "it has no such partition, or that no leader"
    raise CliError(f"the leader of {topic}-{partition} is not known: {reason}", 1)


def _abort(client: Client, transactional_id: str) -> Row:
    _, connection = coordinator_of(client, transactional_id)
    state = describe(client, connection, transactional_id)
    if state.transaction_state not in OPEN:
        raise CliError(
            f"transactional id {transactional_id!r} has no open transaction: its state is {state.transaction_state}", 1
        )

    def ask() -> tuple[int, InitProducerIdResponse]:
        request = InitProducerIdRequest(transactional_id, state.transaction_timeout_ms)
        answer = connection.call(request, InitProducerIdResponse, max_version=5)
        return answer.error_code, answer  # CONCURRENT_TRANSACTIONS until it is aborted

    answer = client.patiently(f"aborting the transaction of {transactional_id!r}", ask)
    return {
        "TRANSACTIONAL-ID": transactional_id,
        "PRODUCERID": answer.producer_id,
        "PRODUCEREPOCH": answer.producer_epoch,
        "ABORTED": True,
    }
