"""The parts that the applications have in common: settings for both protocols, a loop, a commit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException

told = os.environ
TOPIC = told["KAFKA_TOPIC"]
PROTOCOL = told["KAFKA_GROUP_PROTOCOL"]
CLASSIC = {
    "session.timeout.ms": int(told["KAFKA_SESSION_TIMEOUT_MS"]),
    "heartbeat.interval.ms": int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
}


def settings(**more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": told["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": told["KAFKA_GROUP_ID"],
        "client.id": told["KAFKA_CLIENT_ID"],
        "group.protocol": PROTOCOL,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **(CLASSIC if PROTOCOL == "classic" else {}),
        **more,
    }


def numbers(partitions: list[Any]) -> list[int]:
    return [each.partition for each in partitions]


def commit(consumer: Consumer) -> None:
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        print("not committed:", error, flush=True)


def consume(consumer: Consumer, process: Callable[[list[Any]], None]) -> None:
    """Hand records to `process` until SIGTERM, and close the consumer."""
    ends: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    while not ends:
        records = [each for each in consumer.consume(100, timeout=0.1) if each.error() is None]
        process(records)
    consumer.close()
