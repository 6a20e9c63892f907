"""`coordinator transactions describe`: producer, age and partitions. Columns as those of `kafka-transactions.sh`."""

from __future__ import annotations

import argparse
import time
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, client_of
from coordinator.cli.errors import noted
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.cli.transactions.transactional_ids import coordinator_of, describe

DESCRIPTION: Final = "Show the producer, the age and the partitions of transactions."
COLUMNS: Final = (
    "TRANSACTIONAL-ID",
    "COORDINATOR",
    "PRODUCERID",
    "PRODUCEREPOCH",
    "TRANSACTIONSTATE",
    "TIMEOUT-MS",
    "DURATION-MS",
    "TOPICPARTITIONS",
)
OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("transactional_ids", nargs="+", metavar="TRANSACTIONAL-ID")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        for transactional_id in arguments.transactional_ids:
            with noted(problems):
                rows.append(_described(client, transactional_id))
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)


def _described(client: Client, transactional_id: str) -> Row:
    node_id, connection = coordinator_of(client, transactional_id)
    state = describe(client, connection, transactional_id)
    duration_ms = None
    if state.transaction_state in OPEN:
        duration_ms = max(int(time.time() * 1000) - state.transaction_start_time_ms, 0)
    return {
        "TRANSACTIONAL-ID": transactional_id,
        "COORDINATOR": node_id,
        "PRODUCERID": state.producer_id,
        "PRODUCEREPOCH": state.producer_epoch,
        "TRANSACTIONSTATE": state.transaction_state,
        "TIMEOUT-MS": state.transaction_timeout_ms,
        "DURATION-MS": duration_ms,
        "TOPICPARTITIONS": [f"{topic.topic}-{partition}" for topic in state.topics for partition in topic.partitions],
    }
