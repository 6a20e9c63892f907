"""Rows of committed state are correct when they are yielded, and a reload of the partition is detected."""

from __future__ import annotations

import pytest

from coordinator.core import committed_rows as module
from coordinator.core.committed_rows import Row, StateChangedError
from tests.support.cluster import Cluster

ALL = 2**63 - 1


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return three groups with commits; each list of rows has one row."""
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 1)
    made = Cluster(partitions=1)
    for number, group in enumerate("abc"):
        made.commit(group, {("t", 0): number, ("t", 1): 10 + number})
    return made


def drawn(cluster: Cluster, below: int = ALL) -> list[Row]:
    rows = cluster.core.committed_rows(0, below)
    assert rows is not None
    return [row for some in rows for row in some]


def test_row_holds_a_committed_offset_and_the_log_offset_of_its_record(cluster: Cluster) -> None:
    rows = {row[:4]: row[4] for row in drawn(cluster) if len(row) > 2}
    assert rows == {
        ("a", "t", 0, 0): 0,
        ("a", "t", 1, 1): 10,
        ("b", "t", 0, 2): 1,
        ("b", "t", 1, 3): 11,
        ("c", "t", 0, 4): 2,
        ("c", "t", 1, 5): 12,
    }


def test_only_rows_of_records_below_the_offset_are_yielded(cluster: Cluster) -> None:
    cluster.commit("a", {("t", 0): 99})
    assert [row[:4] for row in drawn(cluster, 3)] == [("a", "t", 1, 1), ("b", "t", 0, 2)]
    assert drawn(cluster, 0) == []


def test_row_of_a_group_holds_the_log_offset_of_its_newest_record(cluster: Cluster) -> None:
    cluster.stable_group("members", members=1)
    (row,) = [row for row in drawn(cluster) if len(row) == 2]
    offsets = [record.offset for record in cluster.written("members")]
    assert row == ("members", offsets[-1])


def test_commits_and_deletions_between_two_lists_leave_rows_correct(cluster: Cluster) -> None:
    rows = cluster.core.committed_rows(0, 6)
    assert rows is not None
    first = next(rows)
    cluster.delete_groups("b")
    cluster.commit("c", {("t", 0): 50})
    cluster.commit("new", {("t", 0): 1})
    found = [*first, *(row for some in rows for row in some)]
    assert [row[:4] for row in found] == [("a", "t", 0, 0), ("a", "t", 1, 1), ("c", "t", 1, 5)]


@pytest.mark.parametrize("taken", [0, 1])
def test_reload_of_the_partition_raises_even_before_the_first_row(cluster: Cluster, taken: int) -> None:
    rows = cluster.core.committed_rows(0, ALL)
    assert rows is not None
    for _ in range(taken):
        next(rows)
    cluster.load_one(0)
    with pytest.raises(StateChangedError):
        list(rows)


def test_partition_that_is_loading_has_no_rows(cluster: Cluster) -> None:
    rows = cluster.core.committed_rows(0, ALL)
    cluster.core.load_begin(0)
    assert cluster.core.committed_rows(0, ALL) is None
    assert rows is not None
    with pytest.raises(StateChangedError):
        next(rows)
