"""`coordinator transactions describe`: producer, age and partitions. Columns as those of `kafka-transactions.sh`."""

from __future__ import annotations

import argparse
import time
from typing import Final

from coordinator.cli.client import Client
from coordinator.cli.table import Row
from coordinator.cli.transactions.transactional_ids import add_transactional_ids, coordinator_of, describe, for_each_id

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
    add_transactional_ids(parser)


def run(arguments: argparse.Namespace) -> int:
    return for_each_id(arguments, COLUMNS, _described)


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
