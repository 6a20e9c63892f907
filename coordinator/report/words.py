"""Costs and numbers as words: "310 partition-minutes", "41 rebalances"."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from coordinator.history.times import local_time

MINUTE_MS: Final = 60_000


def number(value: float) -> str:
    """Return a number with its thousands apart, and a decimal if it is small and not whole."""
    return f"{value:.1f}" if value < 10 and value != int(value) else f"{round(value):,}".replace(",", " ")


def counted(value: int, noun: str) -> str:
    """Return "1 rebalance" or "1 234 rebalances"."""
    return f"{number(value)} {noun}{'s' * (value != 1)}"


def partition_time(ms: float) -> str:
    """Return time of partitions without an owner, in the unit that suits it."""
    for unit_ms, unit in ((100 * 60 * MINUTE_MS, "hour"), (MINUTE_MS, "minute")):
        if ms >= unit_ms:
            return f"{number(ms / (60 * MINUTE_MS if unit == 'hour' else MINUTE_MS))} partition-{unit}s"
    return f"{number(ms / 1000)} partition-seconds"


def cost(rebalances: int, lost_ms: float, read_twice: int = 0) -> str:
    """Return what rebalances cost, as a list for a sentence."""
    parts = [counted(rebalances, "rebalance")]
    parts += [f"{partition_time(lost_ms)} without an owner"] if lost_ms else []
    parts += [f"up to {counted(read_twice, 'record')} read twice"] if read_twice else []
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def utc_day(number: int) -> str:
    """Return the date of a day, counted from 1970 in UTC."""
    return datetime.fromtimestamp(number * 86_400, UTC).date().isoformat()


def day(at_ms: int) -> str:
    """Return the local date of a time."""
    return local_time(at_ms)[:10]
