"""An application with an assignor of its own, by kafka-python; its migration takes it to confluent-kafka."""

from __future__ import annotations

import signal
import sys

import app
from confluent_kafka import Consumer
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor


class NearestWarehouse(RangePartitionAssignor):
    name = "nearest-warehouse"


def main_classic() -> None:
    consumer = KafkaConsumer(
        app.TOPIC,
        bootstrap_servers=app.told["KAFKA_BOOTSTRAP_SERVERS"],
        group_id=app.told["KAFKA_GROUP_ID"],
        client_id=app.told["KAFKA_CLIENT_ID"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=app.CLASSIC["session.timeout.ms"],
        heartbeat_interval_ms=app.CLASSIC["heartbeat.interval.ms"],
        partition_assignment_strategy=(NearestWarehouse,),
    )
    ends: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    while not ends:
        if consumer.poll(timeout_ms=100):
            consumer.commit()
    consumer.close()


if app.PROTOCOL == "classic":
    main_classic()
    sys.exit()
consumer = Consumer(app.settings())
consumer.subscribe([app.TOPIC])
app.consume(consumer, lambda records: app.commit(consumer) if records else None)
