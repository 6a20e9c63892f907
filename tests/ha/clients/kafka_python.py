"""Consumers of kafka-python: `python -m tests.ha.clients.kafka_python --bootstrap … --history FILE`."""

from __future__ import annotations

from kafka.errors import CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from tests.ha.clients.library import BACKOFF_MS, Library, run
from tests.ha.clients.options import parse

REFUSALS = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)
LIBRARY = Library(
    "kafka-python",
    {"request_timeout_ms": 5000, "retry_backoff_ms": BACKOFF_MS},
    lambda error: isinstance(error, REFUSALS),
)

if __name__ == "__main__":
    run(LIBRARY, parse())
