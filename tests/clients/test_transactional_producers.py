"""A transactional producer is refused when it starts: there are no transactions here.

Each library must give up by itself, with the error of the coordinator and not one of its own time-outs. The page
docs/differences.md lists what further clients say.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.support.daemon import Daemon

pytestmark = pytest.mark.integration

ADVICE = "use the producer without a transactional id"
LIMIT_S = 20  # librdkafka tried for as long as it was given when the answer was INVALID_REQUEST


def test_librdkafka_gives_up_with_the_text_of_the_coordinator(daemon: Daemon) -> None:
    from confluent_kafka import KafkaError, KafkaException, Producer

    producer = Producer({"bootstrap.servers": daemon.address, "transactional.id": "orders", "log_level": 0})
    with pytest.raises(KafkaException) as caught:
        producer.init_transactions(LIMIT_S)
    error = caught.value.args[0]
    assert error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, error
    assert error.fatal()
    assert ADVICE in error.str()


def test_aiokafka_gives_up(daemon: Daemon) -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import TransactionalIdAuthorizationFailed

    async def start() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=daemon.address, transactional_id="orders")
        try:
            await asyncio.wait_for(producer.start(), LIMIT_S)
        finally:
            await producer.stop()

    with pytest.raises(TransactionalIdAuthorizationFailed, match="orders"):
        asyncio.run(start())


def test_kafka_python_gives_up(daemon: Daemon) -> None:
    from kafka import KafkaProducer
    from kafka.errors import TransactionalIdAuthorizationFailedError

    producer = KafkaProducer(bootstrap_servers=daemon.address, transactional_id="orders")
    try:
        with pytest.raises(TransactionalIdAuthorizationFailedError):
            producer.init_transactions()
    finally:
        producer.close(timeout=0)
