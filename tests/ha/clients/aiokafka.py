"""Consumers of aiokafka: `python -m tests.ha.clients.aiokafka --bootstrap … --history FILE`."""

from __future__ import annotations

from aiokafka.errors import CommitFailedError, IllegalStateError

from tests.cluster.workload.member import mend_aiokafka
from tests.ha.clients.library import BACKOFF_MS, Library, run
from tests.ha.clients.options import parse

LIBRARY = Library(
    "aiokafka",
    {"request_timeout_ms": 5000, "retry_backoff_ms": BACKOFF_MS},
    lambda error: isinstance(error, CommitFailedError | IllegalStateError),
)

if __name__ == "__main__":
    mend_aiokafka()  # else a fetch that was answered with an error looks like one that found nothing
    run(LIBRARY, parse())
