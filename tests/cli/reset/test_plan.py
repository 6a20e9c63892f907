"""The plan of a restore, and the CSV format of Kafka's reset tool."""

from __future__ import annotations

import pytest

from coordinator.cli.reset.plan import Act, PartitionReset, Reach, Today, make_plan, targets
from coordinator.history.commits import Standing, TopicPartition
from coordinator.history.reset_csv import UnwritableError, one_group, several_groups

P0, P1, P2 = (("t", number) for number in range(3))


def stood(offset: int, metadata: str = "") -> Standing:
    return Standing(offset, metadata, -1, 1000, 5)


def reach(start: int = 0, end: int = 100, *gone: TopicPartition) -> Reach:
    there = [key for key in (P0, P1, P2) if key not in gone]
    return Reach(dict.fromkeys(there, start), dict.fromkeys(there, end), frozenset(there))


def only(steps: list[PartitionReset]) -> PartitionReset:
    (step,) = steps
    return step


def test_offset_and_metadata_are_set_back() -> None:
    step = only(make_plan({P0: stood(7, "note")}, {P0: Today(9, "")}, reach(), delete_new=False))
    assert (step.act, step.now, step.then, step.target, step.change, step.metadata) == (Act.COMMIT, 9, 7, 7, -2, "note")


def test_equal_offset_is_unchanged_unless_its_metadata_differs() -> None:
    assert only(make_plan({P0: stood(7)}, {P0: Today(7, "")}, reach(), delete_new=False)).act is Act.SAME
    assert only(make_plan({P0: stood(7, "a")}, {P0: Today(7, "b")}, reach(), delete_new=False)).act is Act.COMMIT


def test_a_partition_without_an_offset_then_is_left_alone_or_deleted() -> None:
    assert only(make_plan({}, {P0: Today(7, "")}, reach(), delete_new=False)).act is Act.LEAVE
    assert only(make_plan({}, {P0: Today(7, "")}, reach(), delete_new=True)).act is Act.DELETE
    assert only(make_plan({P0: None}, {P0: Today(7, "")}, reach(), delete_new=True)).act is Act.DELETE
    assert only(make_plan({P0: None}, {}, reach(), delete_new=True)).act is Act.SAME


def test_an_offset_that_is_deleted_today_is_set_again() -> None:
    step = only(make_plan({P0: stood(7)}, {}, reach(), delete_new=False))
    assert (step.act, step.now, step.target, step.change) == (Act.COMMIT, None, 7, None)


@pytest.mark.parametrize(("start", "end", "target"), [(10, 100, 10), (0, 5, 5), (7, 7, 7)])
def test_offset_outside_the_log_is_moved_to_the_nearest_in_it(start: int, end: int, target: int) -> None:
    step = only(make_plan({P0: stood(7)}, {P0: Today(50, "")}, reach(start, end), delete_new=False))
    assert (step.act, step.then, step.target) == (Act.COMMIT, 7, target)
    assert ("its log now" in step.note) == (target != 7)


def test_deleted_partition_is_named_and_not_committed() -> None:
    steps = make_plan({P0: stood(7), P1: stood(8)}, {}, reach(0, 100, P1), delete_new=False)
    assert [step.act for step in steps] == [Act.COMMIT, Act.GONE]
    assert targets(steps) == {P0: 7}


def test_plan_without_brokers_has_the_past_offsets() -> None:
    steps = make_plan({P1: stood(8), P0: stood(7)}, None, None, delete_new=False)
    assert [(step.partition, step.now, step.target) for step in steps] == [(0, None, 7), (1, None, 8)]


def test_the_csv_has_no_header_and_a_line_for_each_partition() -> None:
    offsets = {P1: 8, P0: 7}
    assert one_group(offsets) == "t,0,7\nt,1,8\n"
    assert several_groups({"b": {P0: 1}, "a": offsets}) == "a,t,0,7\na,t,1,8\nb,t,0,1\n"


def test_names_with_commas_and_quotes_are_quoted() -> None:
    assert several_groups({'the "shop", Köln': {P0: 1}}) == '"the ""shop"", Köln",t,0,1\n'


def test_a_name_with_a_line_break_cannot_be_written() -> None:
    with pytest.raises(UnwritableError, match="line break"):
        several_groups({"two\nlines": {P0: 1}})
