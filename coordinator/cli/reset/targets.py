"""The new offset of a partition for each target of kafka-consumer-groups --reset-offsets.

Pure: what is known of a partition comes in, and the offset goes out with a note. An offset outside the log becomes the
nearest one in it, as in Kafka. Source: Kafka's `ConsumerGroupCommand.OffsetsUtils`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from coordinator.cli.errors import CliError
from coordinator.history.times import UNITS_MS, parse_span

_DURATION: Final = re.compile(
    r"([-+]?)P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE
)
_NO_ZONE: Final = re.compile(r"T[^Z+-]*$")


class PartitionFacts(NamedTuple):
    """Facts about a partition that a target may need."""

    start: int
    end: int
    current: int | None = None  # None: no committed offset
    at_time: int = -1  # the first offset at or after the time; -1: no record is as young
    in_file: int = -1


class Target(NamedTuple):
    """A new offset and a remark; None: it cannot be said."""

    offset: int | None
    note: str = ""


def within(offset: int, facts: PartitionFacts) -> Target:
    """Return the offset, or the nearest one in the log."""
    if offset < facts.start:
        return Target(facts.start, f"its log begins at {facts.start}, so {offset} becomes that")
    if offset > facts.end:
        return Target(facts.end, f"its log ends at {facts.end}, so {offset} becomes that")
    return Target(offset)


def _current(facts: PartitionFacts, value: int) -> Target:
    return Target(facts.end, "it has no offset: set to the end") if facts.current is None else Target(facts.current)


def _shifted(facts: PartitionFacts, value: int) -> Target:
    if facts.current is None:
        return Target(None, "it has no offset that could be shifted")
    return within(facts.current + value, facts)


def _at_time(facts: PartitionFacts, value: int) -> Target:
    if facts.at_time < 0:
        return Target(facts.end, "it has no record since then: set to the end")
    return Target(facts.at_time)


# By the name of the option. The second argument is the option's number, if it has one.
TARGETS: Final[Mapping[str, Callable[[PartitionFacts, int], Target]]] = {
    "to_earliest": lambda facts, _: Target(facts.start),
    "to_latest": lambda facts, _: Target(facts.end),
    "to_current": _current,
    "to_offset": lambda facts, value: within(value, facts),
    "shift_by": _shifted,
    "to_datetime": _at_time,
    "by_duration": _at_time,
    "from_file": lambda facts, _: within(facts.in_file, facts),
}


def parse_datetime(text: str) -> int:
    """Parse Kafka's `YYYY-MM-DDTHH:mm:SS.sss`, with a zone or in UTC, in ms."""
    try:
        if "T" not in text:
            raise ValueError(text)
        moment = datetime.fromisoformat(f"{text}+00:00" if _NO_ZONE.search(text) else text)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise CliError(
            f"--to-datetime {text!r} is not a time; write 2026-11-20T14:05:00.000 (UTC), or with a zone as in "
            "2026-11-20T14:05:00+01:00"
        ) from None


def parse_duration(text: str) -> int:
    """Parse an ISO 8601 duration such as `PT1H30M` or `P1DT2H`, or a span such as `1h30m`, in ms."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        try:
            return parse_span(text)
        except ValueError:
            raise CliError(f"--by-duration {text!r} is not a duration; write PT15M, PT1H30M, P1D or 1h30m") from None
    sign, days, hours, minutes, seconds, fraction = found.groups()
    whole = (int(days or 0) * UNITS_MS["d"], int(hours or 0) * UNITS_MS["h"], int(minutes or 0) * UNITS_MS["m"])
    milliseconds = int(seconds or 0) * 1000 + int((fraction or "").ljust(3, "0")[:3])
    return (sum(whole) + milliseconds) * (-1 if sign == "-" else 1)
