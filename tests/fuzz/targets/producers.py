"""`topic-producers.json`: a hint about producers and transactions that is used if it is sound, and else ignored."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final

from coordinator.config.config import Config
from coordinator.core.topics.partition import Partition
from coordinator.core.topics.partition_transactions import PartitionTransactions
from coordinator.core.topics.sequences import Sequences
from coordinator.core.topics.tail_cache import TailBudget
from coordinator.storage.catalogue_store import CatalogueStore
from coordinator.storage.file_names import PRODUCERS_NAME
from coordinator.storage.log.log import Log
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.storage.producer_checkpoint import replay_producers
from protocol.record_batch import build_batch
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with
from tests.fuzz.texts import other_json

HERE: Final = Path("/p")
TOPIC_ID: Final = bytes(range(16))
BATCHES: Final = 6


@cache
def topic_log() -> Log:
    """Return a log with batches of two producers, one of them in an open transaction."""
    fs = MemoryFileSystem()
    fs.mkdir(HERE)
    log = Log.open(HERE / "t-0", fs=fs)
    for number in range(BATCHES):
        batch = build_batch(
            [(None, b"v")],
            base_offset=number,
            timestamp_ms=5,
            producer_id=number % 2,
            producer_epoch=0,
            base_sequence=number // 2,
            is_transactional=number % 2 == 1,
        )
        log.append(batch, number, 5)
    return log


def check(data: bytes) -> None:
    checkpoint = CatalogueStore(HERE, Config(), directory_with(HERE, {PRODUCERS_NAME: data})).load_producers()
    topic: Any = SimpleNamespace(topic_id=TOPIC_ID)
    partition = Partition(topic, 0, TailBudget(1, 1), leader=1, is_local=True)
    replay_producers(partition, topic_log(), checkpoint.get("t-0"), 1_000)
    rows = partition.sequences.to_rows(2**63)
    again = Sequences()
    again.restore(rows, 1_000)
    assert again.to_rows(2**63) == rows
    for producer_id, epoch, batches, *_ in rows:
        assert -(2**63) <= producer_id < 2**63 and -(2**15) <= epoch < 2**15
        for first, last, base, end in batches:
            assert 0 <= first < 2**31 and 0 <= last < 2**31 and 0 <= base <= end < 2**63
    partition.high_watermark = BATCHES
    transactions = PartitionTransactions.restored(partition.transaction_rows(), BATCHES)
    assert transactions is None or 0 <= transactions.last_stable_offset(BATCHES, 0) <= BATCHES


def seeds() -> list[bytes]:
    rows = [[0, 0, [[0, 0, 0, 0], [1, 1, 2, 2]], 0, -1, 5], [1, 0, [[0, 0, 1, 1]], 0, 3, 5]]
    transactions = {"ongoing": [[1, 0, 1]], "aborted": [[9, 0, 2, 1]]}
    facts = {"id": TOPIC_ID.hex(), "offset": 4, "producers": rows, "transactions": transactions}
    whole = {"version": 1, "partitions": {"t-0": facts}}
    return [json.dumps(each).encode() for each in (whole, {"version": 1, "partitions": {}})]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.2 or not data:
        data = seeds()[0]
    return other_json(data, chance) if kind < 0.8 else edited(data, chance)
