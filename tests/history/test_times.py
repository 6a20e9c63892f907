"""Parsing and formatting of times and spans."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from coordinator.cli.arguments import join_negative
from coordinator.history.times import ago, local_time, parse_moment, parse_span, span

NOW_MS = 1_795_183_500_000  # 2026-11-20T14:05:00Z


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("2026-11-20T14:05Z", NOW_MS),
        ("2026-11-20T14:05:00.250Z", NOW_MS + 250),
        ("2026-11-20T15:05+01:00", NOW_MS),
        ("2026-11-20T15:05", NOW_MS),
        ("2026-11-20 15:05:01", NOW_MS + 1000),
        ("2026-11-20", NOW_MS - 15 * 3_600_000 - 5 * 60_000),
        ("2026-07-01T02:00", 1_782_864_000_000),  # summer time
        ("now", NOW_MS),
        ("-15m", NOW_MS - 900_000),
        ("-1h30m", NOW_MS - 5_400_000),
        ("-2d", NOW_MS - 172_800_000),
    ],
)
@pytest.mark.usefixtures("berlin")
def test_a_time_is_iso_with_or_without_zone_or_a_span_before_now(text: str, moment_ms: int) -> None:
    assert parse_moment(text, NOW_MS) == moment_ms


@pytest.mark.parametrize(
    "text", ["", "yesterday", "14:05", "-", "-5", "-m", "15m", "2026-13-01", "-1h-", "99999-01-01"]
)
def test_invalid_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        parse_moment(text, NOW_MS)


@pytest.mark.parametrize(("text", "span_ms"), [("250ms", 250), ("10m", 600_000), ("1h30m", 5_400_000), ("1.5s", 1500)])
def test_a_span_is_a_number_with_its_unit_or_several(text: str, span_ms: int) -> None:
    assert parse_span(text) == span_ms


@pytest.mark.parametrize("text", ["", "0s", "10", "m", "-1m", "1x"])
def test_invalid_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a span of time"):
        parse_span(text)


@pytest.mark.usefixtures("berlin")
def test_printed_time_can_be_parsed_again() -> None:
    assert local_time(NOW_MS + 7) == "2026-11-20T15:05:00.007+01:00"
    for moment_ms in (NOW_MS, -1, 0, 1_782_864_000_123, -62_135_000_000_000, 253_402_000_000_000):
        assert parse_moment(local_time(moment_ms), 0) == moment_ms


@pytest.mark.parametrize("moment_ms", [2**62, -(2**62), 253_402_300_799_999, -62_135_596_800_000])
def test_time_outside_the_calendar_is_printed_as_a_number(moment_ms: int) -> None:
    assert local_time(moment_ms) == str(moment_ms)


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1500, "1.5s"),
        (59_000, "59s"),
        (60_000, "1m"),
        (3_723_000, "1h 2m"),
        (10**9, "11d 13h"),
    ],
)
def test_spans_have_their_two_largest_units(span_ms: int, text: str) -> None:
    assert span(span_ms) == text
    assert ago(NOW_MS - span_ms, NOW_MS) == f"{text} ago"


def test_future_time_is_printed_as_such() -> None:
    assert ago(NOW_MS + 5000, NOW_MS) == "in 5s"


def test_time_that_begins_with_a_minus_may_follow_its_option() -> None:
    assert join_negative(["restore", "g", "--at", "-15m"]) == ["restore", "g", "--at=-15m"]
    assert join_negative(["--since", "-1h", "--json"]) == ["--since=-1h", "--json"]
    assert join_negative(["--at", "--json"]) == ["--at", "--json"]
    assert join_negative(["--partition", "-1"]) == ["--partition", "-1"]
