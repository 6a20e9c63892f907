"""Times and durations in the syntax of kafka-consumer-groups, and its CSV."""

from __future__ import annotations

import pytest

from coordinator.cli.errors import CliError
from coordinator.cli.groups.topic_partitions import parse_topic_partitions
from coordinator.cli.reset.targets import parse_datetime, parse_duration
from coordinator.history.reset_csv import UnreadableError, one_group, parse, several_groups


@pytest.mark.parametrize(
    ("text", "wanted_ms"),
    [
        ("1970-01-01T00:00:01.500", 1500),  # UTC, where Kafka's tool is given no zone
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1970-01-01T01:00:00Z", 3_600_000),
        ("1969-12-31T23:00:00-01:00", 0),
        ("2024-02-29T12:00:00.001", 1_709_208_000_001),
    ],
)
def test_time_is_utc_unless_it_names_its_zone(text: str, wanted_ms: int) -> None:
    assert parse_datetime(text) == wanted_ms


@pytest.mark.parametrize("text", ["", "2024-02-29", "2023-02-29T00:00:00", "T", "now", "1709208000000"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(CliError, match="is not a time; write 2026"):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("text", "wanted_ms"),
    [
        ("PT15M", 900_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt1s", 1000),
        ("PT0.0019S", 1),
        ("P0D", 0),
        ("-PT1H", -3_600_000),
        ("1h30m", 5_400_000),
    ],
)
def test_duration_is_iso_8601_or_a_span(text: str, wanted_ms: int) -> None:
    assert parse_duration(text) == wanted_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P1H", "1", "PT-1H", "P1.5D"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(CliError, match="is not a duration; write PT15M"):
        parse_duration(text)


def test_topics_are_named_whole_or_by_partitions() -> None:
    assert parse_topic_partitions(["a", "b:1,2", "b:5", "c:0", "c"]) == {"a": None, "b": {1, 2, 5}, "c": None}
    assert parse_topic_partitions(["c", "c:0"]) == {"c": None}
    for word in ("", ":1", "a:", "a:1,", "a:-1", "a:b", "a:1:2"):
        with pytest.raises(CliError, match="names no partitions"):
            parse_topic_partitions([word])


def test_csv_is_read_as_it_is_written() -> None:
    offsets = {("orders", 0): 7, ("orders", 1): 0, ("a.b", 12): 1 << 62}
    assert parse(one_group(offsets), ["g"]) == {"g": offsets}
    groups = {'with "quotes", and comma': offsets, "other": {("t", 0): 1}}
    assert parse(several_groups(groups), list(groups)) == groups
    assert parse(several_groups(groups), ["other"]) == {"other": {("t", 0): 1}}
    assert parse("\norders , 0 , 7\n\n", ["g"]) == {"g": {("orders", 0): 7}}


@pytest.mark.parametrize("line", ["orders,0", "orders,0,x", "orders,-1,0", "g,orders,0,1,2", "topic,partition,offset"])
def test_line_that_is_not_of_the_csv_is_named(line: str) -> None:
    with pytest.raises(UnreadableError, match="line 2 is "):
        parse(f"orders,0,1\n{line}\n", ["g"])


def test_line_without_a_group_needs_a_single_group() -> None:
    with pytest.raises(UnreadableError, match="line 1 is 'orders,0,1'"):
        parse("orders,0,1\n", ["a", "b"])
