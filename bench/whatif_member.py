"""A consumer of `bench/whatif_live.py`: `python -m bench.whatif_member TOPIC CONFIG`, a JSON of librdkafka's settings.

It prints a JSON line with the number of its partitions whenever that changes. On stdin it takes `sleep SECONDS`, during
which it does not poll, and `close`.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, TopicPartition

POLL_S = 0.05


def main() -> None:
    topic, config = sys.argv[1], json.loads(sys.argv[2])
    owned: set[int] = set()
    commands: queue.Queue[list[str]] = queue.Queue()

    def say() -> None:
        print(json.dumps({"at_ms": round(time.time() * 1_000), "owned": len(owned)}), flush=True)

    def assigned(_: Any, partitions: list[TopicPartition]) -> None:
        owned.update(each.partition for each in partitions)
        say()

    def revoked(_: Any, partitions: list[TopicPartition]) -> None:
        owned.difference_update(each.partition for each in partitions)
        say()

    def read() -> None:
        for line in sys.stdin:
            commands.put(line.split())
        commands.put(["close"])

    consumer = Consumer({"auto.offset.reset": "earliest", "log_level": 3, **config})
    consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    threading.Thread(target=read, daemon=True).start()
    while True:
        consumer.poll(POLL_S)
        if commands.empty():
            continue
        match commands.get():
            case ["sleep", seconds]:
                time.sleep(float(seconds))
            case ["close"]:
                consumer.close()
                return


if __name__ == "__main__":
    main()
