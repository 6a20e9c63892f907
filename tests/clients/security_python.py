"""The programs of the Python libraries for the security matrix.

`python -m tests.clients.security_python LIBRARY JSON`; security_programs.py describes the settings and the lines.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDS = 3


class Settings(dict[str, str]):
    """The settings of the command line."""

    @property
    def token_text(self) -> str:
        return Path(self["token"]).read_text()

    def rounds(self) -> Iterator[float]:
        """Yield the seconds before each round, and say after it that it is done, until the time is over."""
        yield 0
        say("round")
        until = time.monotonic() + int(self["milliseconds"]) / 1000
        while time.monotonic() < until:
            yield int(self["pause_ms"]) / 1000
            say("round")

    def of_python(self) -> dict[str, Any]:
        """Return what aiokafka and kafka-python have in common."""
        return {
            "bootstrap_servers": self["bootstrap"],
            "client_id": self["client_id"],
            "security_protocol": self["protocol"],
            "sasl_mechanism": self["mechanism"] or "PLAIN",
            "sasl_plain_username": self["user"],
            "sasl_plain_password": self["password"],
        }

    def of_reader(self) -> dict[str, Any]:
        return {"group_id": self["group"], "auto_offset_reset": "earliest", "enable_auto_commit": False}


def say(event: str, **more: str) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def librdkafka(settings: Settings) -> None:
    from confluent_kafka import Consumer, KafkaException, Producer

    def fail(error: Any, _message: object = None) -> None:
        if error is not None:
            raise KafkaException(error)

    def token(_config: str) -> tuple[str, float]:
        return settings.token_text, time.time() + 3600  # a token that says it has expired never leaves the library

    every = {
        "bootstrap.servers": settings["bootstrap"],
        "client.id": settings["client_id"],
        "security.protocol": settings["protocol"],
        "ssl.ca.location": settings["ca"],
        "ssl.certificate.location": settings["certificate"],
        "ssl.key.location": settings["certificate"],
        "sasl.mechanism": settings["mechanism"],
        "sasl.username": settings["user"],
        "sasl.password": settings["password"],
        "oauth_cb": token if settings["token"] else None,
        "error_cb": fail,
    }
    common = {name: value for name, value in every.items() if value}
    reader = {"group.id": settings["group"], "auto.offset.reset": "earliest", "enable.auto.commit": False}
    producer, consumer = Producer(common), Consumer({**common, **reader})
    consumer.subscribe([settings["topic"]])
    for pause_s in settings.rounds():
        time.sleep(pause_s)
        for _ in range(RECORDS):
            producer.produce(settings["topic"], b"value", on_delivery=fail)
        while producer.flush(0.1):
            pass
        read = 0
        while read < RECORDS:
            for message in consumer.consume(RECORDS - read, 0.1):
                fail(message.error())
                read += 1
        consumer.commit(asynchronous=False)
    consumer.close()


async def _aiokafka(settings: Settings) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.abc import AbstractTokenProvider
    from aiokafka.helpers import create_ssl_context

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return settings.token_text

    common = settings.of_python() | {"request_timeout_ms": int(settings["patience_ms"])}
    if settings["ca"]:
        common["ssl_context"] = create_ssl_context(cafile=settings["ca"], certfile=settings["certificate"] or None)
    if settings["token"]:
        common["sasl_oauth_token_provider"] = Tokens()
    consumer = AIOKafkaConsumer(settings["topic"], **settings.of_reader(), **common)
    async with AIOKafkaProducer(**common) as producer, consumer:
        for pause_s in settings.rounds():
            await asyncio.sleep(pause_s)
            for _ in range(RECORDS):
                await producer.send_and_wait(settings["topic"], b"value")
            for _ in range(RECORDS):
                await consumer.getone()
            await consumer.commit()


def aiokafka(settings: Settings) -> None:
    asyncio.run(_aiokafka(settings))


def kafka_python(settings: Settings) -> None:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):
        def token(self) -> str:
            return settings.token_text

    common = settings.of_python() | {"bootstrap_timeout_ms": int(settings["patience_ms"])}
    if settings["ca"]:
        common |= {"ssl_cafile": settings["ca"], "ssl_certfile": settings["certificate"] or None}
    if settings["token"]:
        common["sasl_oauth_token_provider"] = Tokens()
    producer = KafkaProducer(**common)
    consumer = KafkaConsumer(settings["topic"], **settings.of_reader(), **common)
    for pause_s in settings.rounds():
        time.sleep(pause_s)
        for waiting in [producer.send(settings["topic"], b"value") for _ in range(RECORDS)]:
            waiting.get()
        read = 0
        while read < RECORDS:
            read += sum(map(len, consumer.poll(timeout_ms=1000, max_records=RECORDS - read).values()))
        consumer.commit()
    consumer.close()
    producer.close()


PROGRAMS = {"confluent-kafka": librdkafka, "aiokafka": aiokafka, "kafka-python": kafka_python}


class Log(logging.Handler):
    """Says what a library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        say("log", message=record.getMessage())


def main() -> None:
    logging.basicConfig(handlers=[Log()], level=logging.WARNING)
    try:
        PROGRAMS[sys.argv[1]](Settings(json.loads(sys.argv[2])))
    except Exception as error:
        say("error", message=f"{type(error).__name__}: {error}")
        sys.exit(1)
    say("closed")


if __name__ == "__main__":
    main()
