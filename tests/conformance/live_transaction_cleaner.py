"""Logs of real transactions, compacted by Kafka's cleaner and by ours: byte for byte, and served by a Kafka afterwards.

The logs hold what a Kafka and a daemon write for the same transactions: states of transactional ids, and offsets of
groups that were committed, aborted and left open. Kafka cleans up to the last stable offset, so both clean the segments
before it. live_cleaner.py compares random logs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.compaction.rules import horizon_of
from coordinator.core.transactions.states import TransactionState
from protocol.record_batch import ControlType, control_type, iter_batches
from tests.compaction.logs import DAY_MS, Segment, compacted, replayed
from tests.compaction.oracle import compact_partition
from tests.compaction.transactions import loaded
from tests.conformance.cleaner import KafkaCleaner, Seen, read_segments, seen
from tests.conformance.live_transactions import end, has_decided_all, has_nothing_undecided, make_topics, servers
from tests.conformance.transaction_exchange import (
    INTERNAL,
    differences,
    fill_transactional_ids,
    go_on,
    hand_over,
    told_of_ids,
)
from tests.conformance.transactions import await_coordinator

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

OFFSETS, STATES = INTERNAL
RETENTION_MS = 60_000


@pytest.fixture(scope="module")
def cleaner() -> Iterator[KafkaCleaner]:
    with KafkaCleaner() as running:
        yield running


@pytest.fixture(scope="module", params=["Kafka", "daemon"])
def data_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a server that was stopped while transactions were open."""
    kafka, ours = servers(tmp_path_factory.mktemp(request.param))
    with kafka:
        make_topics(kafka, ours)
        if request.param == "Kafka":
            fill_transactional_ids(kafka.port)
    if request.param == "Kafka":
        return kafka.data_dir
    with ours:
        fill_transactional_ids(ours.port)
    return ours.data_dir


def cut(directory: Path, *, batches: int = 5) -> list[Segment]:
    """Return a log in segments of so many batches, none of which holds the first undecided record in its middle."""
    whole = b"".join(segment.data for segment in read_segments(directory, 1 << 40))
    stable = first_undecided(whole)
    found: list[Segment] = []
    count = 0
    for position, header in iter_batches(whole):
        if not found or count == batches or header.base_offset == stable:
            found.append(Segment(header.base_offset))
            count = 0
        found[-1].data += whole[position : position + header.size_bytes]
        count += 1
    return found


def first_undecided(data: bytes) -> int | None:
    """Return the first offset of the oldest transaction without a marker."""
    begun: dict[int, int] = {}
    for _, header in iter_batches(data):
        if header.is_control:
            begun.pop(header.producer_id, None)
        elif header.is_transactional:
            begun.setdefault(header.producer_id, header.base_offset)
    return min(begun.values(), default=None)


def is_marker(batch: Seen) -> bool:
    return batch.header.is_control and any(control_type(each) is not ControlType.UNKNOWN for each in batch.records)


def test_both_cleaners_write_the_same_bytes_of_offsets_in_transactions(cleaner: KafkaCleaner, data_dir: Path) -> None:
    """Markers without data get a horizon and are dropped after it; a producer's last batch stays for a day before."""
    segments = cut(data_dir / OFFSETS)
    stable = first_undecided(b"".join(each.data for each in segments))
    assert stable is not None
    closed = [each for each in segments if each.base_offset < stable]
    undecided = [each for each in segments if each.base_offset >= stable]
    rest = Segment(stable, b"".join(each.data for each in undecided))
    before = [batch for _, batch in seen(closed)]
    assert {control_type(each) for batch in before if is_marker(batch) for each in batch.records} == {
        ControlType.ABORT,
        ControlType.COMMIT,
    }
    assert any(not batch.header.is_transactional for _, batch in seen([rest])), "offsets behind open transactions"
    now_ms = max(batch.header.max_timestamp for _, batch in seen(segments)) + 1000
    markers, horizons = [sum(map(is_marker, before))], [0]
    for pause_ms in (0, RETENTION_MS - 1, RETENTION_MS + 1, DAY_MS + 1, RETENTION_MS + 1, RETENTION_MS + 1):
        now_ms += pause_ms
        theirs = cleaner.clean(
            closed, rest, now_ms=now_ms, clean_up_to=stable, high_watermark=stable, delete_retention_ms=RETENTION_MS
        )
        ours, _ = compacted(compact_partition, closed, stable, now_ms, delete_retention_ms=RETENTION_MS)
        assert seen(ours) == seen(theirs)
        assert replayed([*ours, rest]) == replayed([*closed, rest])
        assert replayed([*ours, rest], then_commit=True) == replayed([*closed, rest], then_commit=True)
        closed = ours
        found = [batch for _, batch in seen(ours)]
        markers.append(sum(map(is_marker, found)))
        horizons.append(sum(horizon_of(batch.header) is not None for batch in found))
    assert markers == [8, 8, 8, 3, 3, 3, 2], "six have no data any more, and one of them is a producer's last batch"
    assert horizons == [0, 0, 5, 0, 0, 1, 0]
    assert [len(batch.records) for batch in found if batch.header.is_transactional] == [1, 1, 1, 1]


def test_both_cleaners_write_the_same_bytes_of_the_states_of_transactional_ids(
    cleaner: KafkaCleaner, data_dir: Path
) -> None:
    segments = cut(data_dir / STATES)
    closed, active = segments[:-1], segments[-1]
    assert {each.state for each in loaded(segments).values()} == {
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    }
    now_ms = int(time.time() * 1000)
    for _ in range(2):
        theirs = cleaner.clean(closed, active, now_ms=now_ms)
        ours, result = compacted(compact_partition, closed, active.base_offset, now_ms)
        assert seen(ours) == seen(theirs)
        assert loaded([*ours, active]) == loaded(segments)
        closed = ours
    assert result.stats.records_after == len(loaded(closed))


@pytest.mark.parametrize("kafka_ends", ["stop", "kill"])
def test_a_kafka_serves_the_transactions_of_logs_that_a_daemon_compacted(
    kafka_ends: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours cleans beyond the last stable offset, too, and keeps what is undecided."""
    kafka, ours = servers(tmp_path)
    with kafka:
        make_topics(kafka, ours)
        end(kafka, kafka_ends)
    with ours:
        opened = fill_transactional_ids(ours.port)
        expected = told_of_ids(ours.port)
    before = {name: records_in(ours.data_dir / name) for name in INTERNAL}
    command = ["compact", "--data-dir", str(ours.data_dir), "--roll", "--mode", "single"]
    assert main([*command, "--min-cleanable-dirty-ratio", "0"]) == 0, capsys.readouterr().out
    after = {name: records_in(ours.data_dir / name) for name in INTERNAL}
    assert after[OFFSETS] < before[OFFSETS]
    assert after[STATES] < before[STATES] / 2
    hand_over(ours.data_dir, kafka.data_dir)
    with kafka:
        await_coordinator(kafka.port)
        assert not differences(expected, told_of_ids(kafka.port))
        has_nothing_undecided(kafka.port)
        go_on(kafka.port, opened)
        has_decided_all(kafka.port)


def records_in(directory: Path) -> int:
    return sum(len(batch.records) for _, batch in seen(read_segments(directory, 1 << 40)))
