"""Consumers of confluent-kafka (librdkafka): `python -m tests.ha.clients.confluent --bootstrap … --history FILE`."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from tests.ha.clients.library import BACKOFF_MS, Library, run
from tests.ha.clients.options import parse

REFUSALS = frozenset({KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS})


def is_refusal(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in REFUSALS


LIBRARY = Library(
    "confluent-kafka",
    {"socket.timeout.ms": 5000, "retry.backoff.ms": BACKOFF_MS, "retry.backoff.max.ms": BACKOFF_MS},
    is_refusal,
)

if __name__ == "__main__":
    run(LIBRARY, parse())
