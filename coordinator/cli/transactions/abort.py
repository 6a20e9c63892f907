"""`coordinator transactions abort`: aborts an open transaction by fencing its producer, as a new instance would.

Its producer hears that it is fenced (PRODUCER_FENCED) and must start anew. Source: Kafka's `Admin.fenceProducers`.
"""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.client import Client
from coordinator.cli.errors import CliError
from coordinator.cli.table import Row
from coordinator.cli.transactions.describe import OPEN
from coordinator.cli.transactions.transactional_ids import add_transactional_ids, coordinator_of, describe, for_each_id
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

DESCRIPTION: Final = "Abort open transactions. Their producers are fenced: they hear it and must start anew."
COLUMNS: Final = ("TRANSACTIONAL-ID", "PRODUCERID", "PRODUCEREPOCH", "ABORTED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_transactional_ids(parser)


def run(arguments: argparse.Namespace) -> int:
    return for_each_id(arguments, COLUMNS, _abort)


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
