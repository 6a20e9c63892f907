"""Text of clients in the daemon's log: it forges no line, and the number of lines is limited."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from coordinator.core.events.model import Cause, ClientInfo, Rebalance, RebalanceOutcome, Trigger
from coordinator.server.line_limit import BURST, PER_SECOND, RARE, LineLimit, rare
from coordinator.server.log_format import JsonFormatter, LineFormatter
from coordinator.server.runtime import rebalance_fields


def record_of(message: str, *arguments: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error is not None else None
    return logging.LogRecord("coordinator.connection", logging.WARNING, __file__, 1, message, arguments, exc_info)


@pytest.mark.parametrize(
    "name",
    [
        "a\n2026-01-01 00:00:00.000 ERROR   forged",
        "a\r\nforged",
        "a\x1b[2Jforged",
        "a\x85forged",
        "a\u2028forged",
        "a\u202eforged",
        "a\x00forged",
        "<script>alert(1)</script>forged",
        '"}\n{"level": "ERROR", "message": "forged',
    ],
)
def test_name_of_a_client_stays_within_its_line(name: str) -> None:
    record = record_of("connection closed client=%s", name)
    line = LineFormatter().format(record)
    assert len(line.splitlines()) == 1 and line.isprintable() and "<" not in line
    assert line.endswith("forged"), "nothing is lost"
    in_json = JsonFormatter().format(record)
    assert len(in_json.splitlines()) == 1 and in_json.isascii() and in_json.isprintable() and "<" not in in_json
    parsed = json.loads(in_json)
    assert parsed["client"] == name, "the field is what the client sent"
    assert parsed["message"].isprintable() and "<" not in parsed["message"]


def in_json(message: str, *arguments: object, node_id: int | None = None, **given: object) -> dict[str, Any]:
    """Return the line of JSON for a log call without its time."""
    record = record_of(message, *arguments)
    record.__dict__.update(given)
    parsed: dict[str, Any] = json.loads(JsonFormatter(node_id).format(record))
    assert parsed.pop("time").endswith("Z")
    return parsed


def test_each_value_with_a_key_is_a_field_of_the_json_line() -> None:
    line = in_json("ready %s at=%s:%d load_ms=%d%% build=%r; ratio=%.2f", "now", "127.0.0.1", 9092, 7, "plain", 0.333)
    assert line == {
        "level": "WARNING",
        "logger": "coordinator.connection",
        "message": "ready now at=127.0.0.1:9092 load_ms=7% build='plain'; ratio=0.33",
        "at": "127.0.0.1:9092",
        "load_ms": 7,
        "build": "plain",
        "ratio": 0.333,
    }


def test_fields_that_a_call_gives_are_in_the_json_line_and_replace_nothing_of_it() -> None:
    line = in_json("rebalance %s", "in words", node_id=3, fields={"group": "orders", "ms": None, "level": "forged"})
    assert line == {
        "level": "WARNING",
        "logger": "coordinator.connection",
        "message": "rebalance in words",
        "node": 3,
        "group": "orders",
        "ms": None,
    }


def test_json_line_has_a_maximum_length() -> None:
    line = JsonFormatter().format(record_of("a=%s", "c" * 32_000))
    assert len(line) < 2 * 2200


def test_time_of_a_json_line_is_rfc_3339_in_utc() -> None:
    record = record_of("text")
    record.created = 1_767_225_600.25
    assert json.loads(JsonFormatter().format(record))["time"] == "2026-01-01T00:00:00.250Z"


def test_traceback_is_a_field_of_the_json_line() -> None:
    try:
        raise ValueError("a\nforged")
    except ValueError as error:
        line = JsonFormatter().format(record_of("failed", error=error))
    assert len(line.splitlines()) == 1
    assert "ValueError: a\nforged" in json.loads(line)["traceback"]


def test_fields_of_a_rebalance_name_the_member_that_caused_it() -> None:
    rebalance = Rebalance(
        group="orders",
        at_ms=1_000,
        trigger=Trigger(Cause.MEMBER_LEFT, ClientInfo("web-1-uuid", "", "w@b-1", "10.0.0.7"), "stopped"),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=4,
        generation=5,
        join_ms=30,
        sync_ms=5,
    )
    assert rebalance_fields(rebalance) == {
        "group": "orders",
        "generation": 5,
        "cause": "member_left",
        "member": "web-1-uuid",
        "client": "w@b-1",
        "host": "10.0.0.7",
        "ms": 35,
    }


def test_names_in_other_scripts_are_left_as_they_are() -> None:
    assert LineFormatter().format(record_of("client=%s", "groupe-été-注文")).endswith("client=groupe-été-注文")


def test_line_has_a_maximum_length() -> None:
    assert len(LineFormatter().format(record_of("client=%s", "c" * 32_000))) < 2200


def test_traceback_is_indented_with_any_error_text() -> None:
    try:
        raise ValueError("a\n2026-01-01 00:00:00.000 ERROR   forged")
    except ValueError as error:
        lines = LineFormatter().format(record_of("failed", error=error)).split("\n")
    assert len(lines) > 3
    assert all(line.startswith("    ") for line in lines[1:])


def test_a_flood_of_one_kind_is_cut_short_and_counted() -> None:
    now = [0.0]
    limit = LineLimit(lambda: now[0])
    passed = [limit.filter(record_of("closed client=%s", str(number))) for number in range(BURST + 500)]
    assert sum(passed) == BURST
    assert limit.filter(record_of("something else client=%s", "x")), "another kind is not concerned"
    now[0] += 1.0
    record = record_of("closed client=%s", "y")
    assert limit.filter(record)
    assert record.getMessage() == "closed client=y (and 500 lines of this kind that were left out before)"
    assert sum(limit.filter(record_of("closed client=%s", "z")) for _ in range(100)) == PER_SECOND - 1


def test_lines_that_any_client_can_cause_are_limited_to_one_a_minute_after_five() -> None:
    now = [0.0]
    limit = LineLimit(lambda: now[0])

    def refused() -> logging.LogRecord:
        record = record_of("node refused node=%d", -1)
        record.__dict__.update(RARE)
        return record

    passed = 0
    for _ in range(3600):
        now[0] += 1.0
        passed += sum(limit.filter(refused()) for _ in range(10))
    assert 60 <= passed <= 5 + 60
    assert limit.filter(record_of("something else client=%s", "x"))


def knock(source: str, kind: str = "TLS") -> logging.LogRecord:
    record = record_of("connection closed client=%s", source)
    record.__dict__.update(rare(kind, source))
    return record


def test_a_client_that_tries_again_for_ever_is_named_once_a_minute_and_hides_no_other() -> None:
    now = [0.0]
    limit = LineLimit(lambda: now[0])
    assert sum(limit.filter(knock("10.0.0.1")) for _ in range(1000)) == 1
    assert limit.filter(knock("10.0.0.2")) and limit.filter(knock("10.0.0.1", "HTTP"))
    now[0] += 61.0
    record = knock("10.0.0.1")
    assert limit.filter(record)
    assert "(and 999 lines of this kind that were left out before)" in record.getMessage()


def test_as_many_sources_as_allowed_are_told_apart_and_one_more_replaces_the_oldest() -> None:
    limit = LineLimit(lambda: 0.0, most_sources=3)
    assert [limit.filter(knock(source)) for source in "abcabc"] == [True] * 3 + [False] * 3, "each is named once"
    assert limit.filter(knock("d"))
    assert [limit.filter(knock(source)) for source in "bcd"] == [False] * 3
    assert limit.filter(knock("a")), "it is told as a new one"


def test_many_clients_of_one_kind_cause_few_lines() -> None:
    now = [0.0]
    limit = LineLimit(lambda: now[0])
    assert sum(limit.filter(knock(f"client-{number}")) for number in range(10_000)) == 5
    assert limit.filter(record_of("connection closed client=%s", "x")), "ordinary lines have their own limit"
