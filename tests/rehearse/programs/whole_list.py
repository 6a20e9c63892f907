"""An application that takes the list of on_assign for all that it has, as it is with eager assignors."""

from __future__ import annotations

from typing import Any

from app import TOPIC, consume, numbers, settings
from confluent_kafka import Consumer, KafkaException, TopicPartition

consumer = Consumer(settings())
mine: set[int] = set()


def assigned(consumer: Consumer, partitions: list[Any]) -> None:
    print("on_assign", numbers(partitions), flush=True)
    mine.clear()
    mine.update(numbers(partitions))


def process(records: list[Any]) -> None:
    done = {each.partition(): each.offset() + 1 for each in records if each.partition() in mine}
    if done:
        try:
            consumer.commit(offsets=[TopicPartition(TOPIC, *each) for each in done.items()], asynchronous=False)
        except KafkaException as error:
            print("not committed:", error, flush=True)


consumer.subscribe([TOPIC], on_assign=assigned)
consume(consumer, process)
