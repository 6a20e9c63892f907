"""Rows of a DataFrame are decoded to what the log itself is decoded to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from coordinator.columnar.columns import offsets_table
from coordinator.columnar.kernel import read_batches, read_records
from coordinator.columnar.row_columns import ROWS, records_of_rows
from coordinator.history.rows import rows_of
from tests.compaction.logs import ANYTHING, LogWriter, Segment, seeded


def rows_of_segment(segment: Segment, *, knows_batches: bool) -> tuple[pa.Table, pa.Table]:
    """Return a segment as rows with bytes, and its decoded table."""
    batches, _ = read_batches(segment.data, path=Path("segment"))
    records = read_records(segment.data, batches, path=Path("segment"))
    raw = offsets_table(batches, records, log_partition=3, is_offsets_log=False)
    keys, values = records.keys(), records.values()
    in_transaction = [bool(each) for each in batches.is_transactional[records.batch]]
    columns = {
        "log_partition": raw["log_partition"],
        "log_offset": raw["log_offset"],
        "timestamp_ms": raw["timestamp_ms"],
        "key": pa.array(
            [
                None if kind == "marker" else key
                for kind, key in zip(raw["kind"].to_pylist(), keys.to_pylist(), strict=True)
            ],
            pa.binary(),
        ),
        "value": values,
        "batch_offset": raw["batch_offset"] if knows_batches else pa.nulls(len(records), pa.int64()),
        "producer_id": pa.array(
            [
                each if inside else None
                for each, inside in zip(raw["producer_id"].to_pylist(), in_transaction, strict=True)
            ],
            pa.int64(),
        ),
        "producer_epoch": raw["producer_epoch"],
        "marker": raw["marker"],
    }
    return pa.table([columns[name] for name in ROWS.names], schema=ROWS), raw


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_decoded_as_the_log_is(seed: int) -> None:
    for segment in LogWriter().write(seeded(seed, 150, ANYTHING)).segments:
        batches, _ = read_batches(segment.data, path=Path("segment"))
        records = read_records(segment.data, batches, path=Path("segment"))
        expected = rows_of(batches, records, log_partition=3)
        rows, _ = rows_of_segment(segment, knows_batches=True)
        for cut in (rows, pa.concat_tables([rows.slice(0, 3), rows.slice(3)])):
            found = rows_of(*records_of_rows(cut), log_partition=3)
            assert found.commits.equals(expected.commits)
            assert found.groups.equals(expected.groups)
            assert found.consumers.equals(expected.consumers)
            assert found.transactions.equals(expected.transactions)


def test_without_batches_records_of_one_time_are_one_event() -> None:
    rows = pa.Table.from_pylist(
        [
            {"log_partition": 0, "log_offset": offset, "timestamp_ms": at_ms}
            for offset, at_ms in ((5, 1), (6, 1), (8, 1), (9, 2))
        ],
        ROWS,
    )
    batches, records = records_of_rows(rows)
    assert batches.base_offset.tolist() == [5, 5, 8, 9]
    assert records.key_len.tolist() == [-1] * 4


def test_no_rows_are_no_records() -> None:
    _, records = records_of_rows(ROWS.empty_table())
    assert len(records) == 0
