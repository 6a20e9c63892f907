"""`coordinator transactions list`: the transactional ids of all nodes. Columns as those of `kafka-transactions.sh`."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, client_of
from coordinator.cli.errors import CliError
from coordinator.cli.screen import tell
from coordinator.cli.table import Row, render
from protocol.api_keys import ApiKey
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

DESCRIPTION: Final = "List the transactional ids, with their producers and states."
COLUMNS: Final = ("TRANSACTIONAL-ID", "COORDINATOR", "PRODUCERID", "TRANSACTIONSTATE")
_FIRST_WITH_DURATION: Final = 1
_NO_DURATION: Final = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", action="append", default=[], help="only those in this state, for example Ongoing")
    parser.add_argument("--producer-id", action="append", default=[], type=int, help="only that of this producer")
    parser.add_argument(
        "--duration-filter", type=int, default=_NO_DURATION, metavar="MS", help="only those open for longer than this"
    )
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    request = ListTransactionsRequest(arguments.state, arguments.producer_id, arguments.duration_filter)
    with client_of(arguments) as client:
        rows = [row for node_id in client.node_ids() for row in _listed(client, node_id, request)]
    rows.sort(key=lambda row: str(row["TRANSACTIONAL-ID"]))
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    else:
        tell("no transactions")
    return 0


def _listed(client: Client, node_id: int, request: ListTransactionsRequest) -> list[Row]:
    connection = client.node(node_id)
    if request.duration_filter != _NO_DURATION and (
        connection.version_for(ApiKey.LIST_TRANSACTIONS) < _FIRST_WITH_DURATION
    ):
        raise CliError(f"node {node_id} cannot select by duration; leave --duration-filter out", 1)

    def ask() -> tuple[int, ListTransactionsResponse]:
        answer = connection.call(request, ListTransactionsResponse)
        return answer.error_code, answer

    answer = client.patiently(f"listing transactions of node {node_id}", ask)
    if answer.unknown_state_filters:
        raise CliError(
            f"--state: {', '.join(answer.unknown_state_filters)} is no state; try Empty, Ongoing, "
            "PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort"
        )
    return [
        {
            "TRANSACTIONAL-ID": each.transactional_id,
            "COORDINATOR": node_id,
            "PRODUCERID": each.producer_id,
            "TRANSACTIONSTATE": each.transaction_state,
        }
        for each in answer.transaction_states
    ]
