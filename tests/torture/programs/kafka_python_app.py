"""A consumer with kafka-python: processes what a poll returns, then commits it.

`python kafka_python_app.py [--listener]`: with a listener of rebalances, as an application has that keeps state.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

import kafka  # type: ignore[import-untyped]
from kafka.errors import CommitFailedError, KafkaError  # type: ignore[import-untyped]

POLL_MS = 500

told = os.environ
ends: list[int] = []


class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_revoked(self, revoked: Any) -> None:
        print("revoked", sorted(each.partition for each in revoked), flush=True)

    def on_partitions_assigned(self, assigned: Any) -> None:
        print("assigned", sorted(each.partition for each in assigned), flush=True)


def process(record: Any) -> None:
    print(f"{record.partition}:{record.offset}", flush=True)


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    print("kafka-python", kafka.__version__, flush=True)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=told["KAFKA_BOOTSTRAP_SERVERS"],
        group_id=told["KAFKA_GROUP_ID"],
        client_id=told["KAFKA_CLIENT_ID"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=int(told["KAFKA_SESSION_TIMEOUT_MS"]),
        heartbeat_interval_ms=int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
    )
    consumer.subscribe([told["KAFKA_TOPIC"]], listener=Listener() if "--listener" in sys.argv else None)
    while not ends:
        batches = consumer.poll(timeout_ms=POLL_MS)
        for records in batches.values():
            for record in records:
                process(record)
        if batches:
            try:
                consumer.commit()
            except (CommitFailedError, KafkaError) as error:  # the next owner of the partitions gets the records again
                print("not committed:", repr(error), flush=True)
    consumer.close()


main()
