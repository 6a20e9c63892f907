"""A consumer with confluent-kafka: processes what it consumed, then commits it.

`python confluent_app.py [--eof] [--strict]`: with --eof, it also hears of the end of a partition, as an application
that works in batches; with --strict, it ends when a commit succeeded and yet one of its partitions has an error.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException

POLL_S = 0.5
AT_ONCE = 100

told = os.environ
ends: list[int] = []


def process(record: Any) -> None:
    print(f"{record.partition()}:{record.offset()}", flush=True)


def commit(consumer: Consumer) -> None:
    failed = [each for each in consumer.commit(asynchronous=False) or () if each.error is not None]
    if failed and "--strict" in sys.argv:
        print("committed with an error:", failed, flush=True)
        raise SystemExit(1)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    print("confluent-kafka", confluent_kafka.__version__, flush=True)
    consumer = Consumer(
        {
            "bootstrap.servers": told["KAFKA_BOOTSTRAP_SERVERS"],
            "group.id": told["KAFKA_GROUP_ID"],
            "client.id": told["KAFKA_CLIENT_ID"],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": int(told["KAFKA_SESSION_TIMEOUT_MS"]),
            "heartbeat.interval.ms": int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
            "enable.partition.eof": "--eof" in sys.argv,
        }
    )
    consumer.subscribe([told["KAFKA_TOPIC"]])
    while not ends:
        records = consumer.consume(AT_ONCE, timeout=POLL_S)
        for record in records:
            error = record.error()
            if error is None:
                process(record)
            elif error.code() != KafkaError._PARTITION_EOF:
                print("error:", error, flush=True)
        if records:
            try:
                commit(consumer)
            except KafkaException as failure:  # the next owner of the partitions gets the records again
                print("not committed:", failure, flush=True)
    consumer.close()


main()
