"""A consumer for the tests of torture, which misbehaves once a rebalance gives it half of the partitions again.

`python app.py BEHAVIOUR`: good, skips, sticks, exits, goes_back; and with an output: writes, swallows, repeats.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener

told = os.environ
WRITES = {"writes": 1, "swallows": 0, "repeats": 2}  # how often a value is written once it misbehaves


class Listener(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.assignments = 0

    async def on_partitions_revoked(self, revoked: object) -> None:
        print("revoked", revoked, flush=True)

    async def on_partitions_assigned(self, assigned: list[object]) -> None:
        self.assignments += len(assigned) == 2  # of four, while there are two copies
        print("assigned", assigned, flush=True)


async def main(behaviour: str) -> None:
    listener = Listener()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=told["KAFKA_BOOTSTRAP_SERVERS"],
        group_id=told["KAFKA_GROUP_ID"],
        client_id=told["KAFKA_CLIENT_ID"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=int(told["KAFKA_SESSION_TIMEOUT_MS"]),
        heartbeat_interval_ms=int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
    )
    consumer.subscribe([told["KAFKA_TOPIC"]], listener=listener)
    await consumer.start()
    producer = AIOKafkaProducer(bootstrap_servers=told["KAFKA_BOOTSTRAP_SERVERS"])
    if behaviour in WRITES:
        await producer.start()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    misbehaved = False
    while not stopping.is_set():
        batches = await consumer.getmany(timeout_ms=100)
        once = listener.assignments > 1 and not misbehaved and behaviour != "good"
        misbehaved = misbehaved or once
        if once and behaviour not in WRITES:
            if behaviour == "exits":
                print("it ends here", flush=True)
                os._exit(3)
            if behaviour == "sticks":
                await asyncio.sleep(3600)
            for partition in consumer.assignment():
                position = await consumer.position(partition)
                if behaviour == "skips":
                    await asyncio.sleep(0.3)  # records arrive each 0.1 s
                    consumer.seek(partition, position + 2)
                else:
                    await consumer.commit({partition: 1})
        elif batches:
            for record in [record for batch in batches.values() for record in batch] if behaviour in WRITES else ():
                for _ in range(1 if not misbehaved else WRITES[behaviour]):
                    await producer.send_and_wait(told["KAFKA_OUTPUT_TOPIC"], record.value)
            try:
                await consumer.commit()
            except Exception as error:
                print("not committed", repr(error), flush=True)
    await consumer.stop()
    await producer.stop()


asyncio.run(main(sys.argv[1]))
