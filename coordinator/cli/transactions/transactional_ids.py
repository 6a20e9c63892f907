"""Commands about transactional ids: their coordinators, and what these say of one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, NodeConnection, client_of, explain
from coordinator.cli.errors import CliError, noted
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_TRANSACTION: Final = 1  # key type of FindCoordinator


def add_transactional_ids(parser: argparse.ArgumentParser, at_least: str = "+") -> None:
    parser.add_argument("transactional_ids", nargs=at_least, metavar="TRANSACTIONAL-ID")
    add_server(parser)
    add_output(parser)


def for_each_id(arguments: argparse.Namespace, columns: Sequence[str], row_of: Callable[[Client, str], Row]) -> int:
    """Print a row for each transactional id, tell what went wrong with the others, and return the exit status."""
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        for transactional_id in arguments.transactional_ids:
            with noted(problems):
                rows.append(row_of(client, transactional_id))
    if rows or arguments.output != "table":
        print(render(arguments.output, columns, rows))
    return complain(problems)


def coordinator_of(client: Client, transactional_id: str) -> tuple[int, NodeConnection]:
    """Return the node id of the coordinator of a transactional id, and a connection to it. Raises CliError."""

    def ask() -> tuple[int, FindCoordinatorResponse]:
        request = FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION)
        answer = client.any_node().call(request, FindCoordinatorResponse, max_version=3)
        return answer.error_code, answer

    answer = client.patiently(f"who coordinates transactional id {transactional_id!r}", ask)
    return answer.node_id, client.node(answer.node_id)


def describe(client: Client, connection: NodeConnection, transactional_id: str) -> TransactionState:
    """Return the state of a transactional id. Raises CliError if it is not known."""

    def ask() -> tuple[int, TransactionState]:
        request = DescribeTransactionsRequest([transactional_id])
        (state,) = connection.call(request, DescribeTransactionsResponse).transaction_states
        is_unknown = state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return 0 if is_unknown else state.error_code, state

    state = client.patiently(f"describing transactional id {transactional_id!r}", ask)
    if state.error_code:
        raise CliError(
            f"transactional id {transactional_id!r} is not known: {explain(state.error_code)} "
            "`coordinator transactions list` shows those that are",
            1,
        )
    return state
