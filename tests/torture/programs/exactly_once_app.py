"""A loop of confluent-kafka that consumes, transforms and produces in transactions.

`python exactly_once_app.py [BUG]`: without a bug, or with one of BUGS.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

POLL_S: Final = 0.1
AT_ONCE: Final = 5
LIMIT_S: Final = 20.0
FENCED: Final = 3  # the exit code after an error that a new process gets over
BUGS: Final = {
    "commits-outside": "offsets are committed after the transaction, and not with it",
    "reads-uncommitted": "records of aborted transactions are processed",
}

told = os.environ
bug = "".join(sys.argv[1:])
ends: list[int] = []


def repeated(act: Callable[[], Any]) -> None:
    """Call a function of librdkafka again as long as it says that it may be."""
    while True:
        try:
            act()
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
            print("again:", error, flush=True)


class Loop:
    """A consumer, and a producer with the transactional id of this copy."""

    def __init__(self) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": told["KAFKA_BOOTSTRAP_SERVERS"],
                "group.id": told["KAFKA_GROUP_ID"],
                "client.id": told["KAFKA_CLIENT_ID"],
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_uncommitted" if bug == "reads-uncommitted" else "read_committed",
                "session.timeout.ms": int(told["KAFKA_SESSION_TIMEOUT_MS"]),
                "heartbeat.interval.ms": int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 100,
            }
        )
        self.producer = Producer(
            {
                "bootstrap.servers": told["KAFKA_BOOTSTRAP_SERVERS"],
                "client.id": told["KAFKA_CLIENT_ID"],
                "transactional.id": told["KAFKA_TRANSACTIONAL_ID"],
                "transaction.timeout.ms": int(told["KAFKA_TRANSACTION_TIMEOUT_MS"]),
                "linger.ms": 0,
                "reconnect.backoff.max.ms": 100,
                "metadata.recovery.strategy": "none",  # see docs/transactions.md
            }
        )

    def run(self) -> None:
        """Process records until SIGTERM."""
        repeated(lambda: self.producer.init_transactions(LIMIT_S))
        self.consumer.subscribe([told["KAFKA_TOPIC"]])
        while not ends:
            records = [each for each in self.consumer.consume(AT_ONCE, POLL_S) if each.error() is None]
            if not records:
                continue
            try:
                self.process(records)
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                print("aborted:", error, flush=True)
                repeated(lambda: self.producer.abort_transaction(LIMIT_S))
                self.rewind()
        self.consumer.close()

    def process(self, records: list[Any]) -> None:
        """Write the values of records, and commit the offsets behind them."""
        self.producer.begin_transaction()
        offsets = {}
        for each in records:
            self.producer.produce(told["KAFKA_OUTPUT_TOPIC"], each.value())
            offsets[each.partition()] = each.offset() + 1
        behind = [TopicPartition(told["KAFKA_TOPIC"], *each) for each in offsets.items()]
        if bug != "commits-outside":
            group = self.consumer.consumer_group_metadata()
            repeated(lambda: self.producer.send_offsets_to_transaction(behind, group, LIMIT_S))
        repeated(lambda: self.producer.commit_transaction(LIMIT_S))
        if bug == "commits-outside":
            self.consumer.commit(offsets=behind, asynchronous=False)

    def rewind(self) -> None:
        """Read again from the committed offsets on."""
        for each in self.consumer.committed(self.consumer.assignment(), LIMIT_S):
            each.offset = max(each.offset, 0)
            self.consumer.seek(each)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    print("confluent-kafka", confluent_kafka.__version__, flush=True)
    try:
        Loop().run()
    except KafkaException as error:
        print("ends:", error, flush=True)
        raise SystemExit(FENCED) from None


main()
