"""A consumer with aiokafka: processes what it got, then commits it. `python aiokafka_app.py`"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import Any

import aiokafka  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

POLL_MS = 500

told = os.environ


def process(record: Any) -> None:
    print(f"{record.partition}:{record.offset}", flush=True)


async def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    print("aiokafka", aiokafka.__version__, flush=True)
    consumer = aiokafka.AIOKafkaConsumer(
        told["KAFKA_TOPIC"],
        bootstrap_servers=told["KAFKA_BOOTSTRAP_SERVERS"],
        group_id=told["KAFKA_GROUP_ID"],
        client_id=told["KAFKA_CLIENT_ID"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=int(told["KAFKA_SESSION_TIMEOUT_MS"]),
        heartbeat_interval_ms=int(told["KAFKA_HEARTBEAT_INTERVAL_MS"]),
    )
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    await consumer.start()
    try:
        while not ends.is_set():
            batches = await consumer.getmany(timeout_ms=POLL_MS)
            for records in batches.values():
                for record in records:
                    process(record)
            if batches:
                try:
                    await consumer.commit()
                except KafkaError as error:  # the next owner of the partitions gets the records again
                    print("not committed:", repr(error), flush=True)
    finally:
        await consumer.stop()


asyncio.run(main())
