"""Text of clients in the daemon's log: it forges no line, and the number of lines is limited."""

from __future__ import annotations

import logging

import pytest

from coordinator.server.line_limit import BURST, PER_SECOND, RARE, LineLimit
from coordinator.server.log_format import LineFormatter


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
    ],
)
def test_name_of_a_client_stays_within_its_line(name: str) -> None:
    line = LineFormatter().format(record_of("connection closed client=%s", name))
    assert len(line.splitlines()) == 1 and line.isprintable()
    assert line.endswith("forged"), "nothing is lost"


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
