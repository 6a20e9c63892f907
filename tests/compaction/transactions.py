"""A data directory with a transaction log, on any file system, and what a start finds in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st

from coordinator.core.topics.names import TRANSACTIONS_TOPIC
from coordinator.core.transactions.metadata import TransactionMetadata
from coordinator.core.transactions.replay import TransactionReplay
from coordinator.storage.file_names import log_dir
from coordinator.storage.log.fs import FileSystem, read_whole
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from protocol.record_batch import build_batch, iter_batches
from tests.compaction.logs import Segment
from tests.storage.log.batches import append
from tests.support.transaction_records import TransactionRecord, forgotten, state_record

CONFIG = LogConfig(segment_bytes=1600, segment_ms=1 << 40, index_interval_bytes=300)
PARTITIONS = (0, 5)
START_MS = 1_700_000_000_000


def history(transactional_ids: int = 3, transactions: int = 6) -> list[TransactionRecord]:
    """Return records of ids of which one is forgotten, and one is in the middle of a transaction."""
    found = [
        state_record(f"id-{one}", 3 * number + step)
        for number in range(transactions)
        for step in range(3)
        for one in range(transactional_ids)
    ]
    return [state_record("gone", 2), *found, forgotten("gone"), state_record("id-0", 3 * transactions)]


IDS = ("a", "b", "ä😀", "long " * 40)
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(st.sampled_from(IDS), min_size=1, max_size=4)),
        st.tuples(st.just("write"), st.lists(st.sampled_from(IDS), min_size=1, max_size=4)),
        st.tuples(st.just("forget"), st.lists(st.sampled_from(IDS), min_size=1, max_size=2)),
        st.tuples(st.just("roll"), st.just([])),
    ),
    min_size=1,
    max_size=25,
)


class TransactionLog:
    """A transaction log as a coordinator writes it: batches of one or more records, each of another state."""

    def __init__(self) -> None:
        self.segments = [Segment(0)]
        self.next_offset = 0
        self.now_ms = START_MS
        self.number = 0

    @property
    def closed(self) -> list[Segment]:
        return self.segments[:-1]

    def play(self, ops: Iterable[tuple[str, list[str]]]) -> None:
        """Append the records of these operations."""
        for act, transactional_ids in ops:
            if act == "roll":
                self.roll()
                continue
            records = []
            for transactional_id in transactional_ids:
                self.number += 1
                is_gone = act == "forget"
                records.append(forgotten(transactional_id) if is_gone else state_record(transactional_id, self.number))
            self.now_ms += 1000
            batch = build_batch(records, base_offset=self.next_offset, timestamp_ms=self.now_ms)
            self.segments[-1].data += bytes(batch)
            self.next_offset += len(records)

    def roll(self) -> None:
        if self.segments[-1].data:
            self.segments.append(Segment(self.next_offset))


def loaded(segments: Iterable[Segment]) -> dict[str, TransactionMetadata]:
    """Return the transactional ids that a start finds in segments."""
    replay = TransactionReplay()
    for segment in segments:
        for position, header in iter_batches(segment.data):
            replay.add_batch(header, segment.data[position : position + header.size_bytes])
    found = replay.settle()
    assert not replay.damaged
    return found


def write(fs: FileSystem, directory: Path, records: Iterable[TransactionRecord], *, leader_epoch: int = 0) -> None:
    """Append a batch for each record, as the daemon does, and close the newest segment."""
    log = Log.open(directory, CONFIG, fs)
    for record in records:
        offset = log.log_end_offset
        batch = build_batch([record], base_offset=offset, timestamp_ms=START_MS + offset, leader_epoch=leader_epoch)
        append(log, [Entry(batch, offset, START_MS)])
    log.roll()
    log.close()


def build(fs: FileSystem, data_dir: Path) -> Path:
    """Make a data directory with a transaction log."""
    if not fs.is_dir(data_dir):
        fs.mkdir(data_dir)
    for partition in PARTITIONS:
        write(fs, log_dir(data_dir, TRANSACTIONS_TOPIC, partition), history())
    return data_dir


def found_at_start(fs: FileSystem, data_dir: Path) -> dict[int, dict[str, TransactionMetadata]]:
    """Return, by partition, the transactional ids that a start finds, read record by record."""
    found = {}
    for partition in PARTITIONS:
        directory, replay = log_dir(data_dir, TRANSACTIONS_TOPIC, partition), TransactionReplay()
        for name in fs.listdir(directory):
            if name.endswith(".log"):
                data = read_whole(fs, directory / name)
                for position, header in iter_batches(data):
                    replay.add_batch(header, data[position : position + header.size_bytes])
        found[partition] = replay.settle()
        assert not replay.damaged
    return found


def size_of(fs: FileSystem, data_dir: Path) -> int:
    """Return the bytes of all segments of the transaction log."""
    return sum(
        len(read_whole(fs, log_dir(data_dir, TRANSACTIONS_TOPIC, partition) / name))
        for partition in PARTITIONS
        for name in fs.listdir(log_dir(data_dir, TRANSACTIONS_TOPIC, partition))
        if name.endswith(".log")
    )
