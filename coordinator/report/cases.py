"""The words of judgement: kinds of findings, a finding, the evidence of a rule, and a group under judgement.

A rule that applies takes the rebalances that it explains, and the rules after it see only the others, so each rebalance
is counted in one finding. So the gain from a setting is what remains once faults are repaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from coordinator.report.material import GroupPast, Row

DEPARTURES: Final = 4  # of a client, host or version, until it is a fault; so many in any period
MOST: Final = 0.6  # the share of one member, host or version that is behind most of it
FLAPS: Final = 12  # rebalances in a day
FLAP_RATIO: Final = 5.0  # against the median day of the group


class ProblemKind(Enum):
    """Kind of a finding. The value is its name in JSON."""

    DUPLICATE_INSTANCE = "duplicate_instance"
    SLOW_POLL = "slow_poll"
    SUBSCRIPTION = "subscription"
    TOPICS = "topics"
    HOST = "host"
    VERSION = "version"
    CRASH_LOOP = "crash_loop"
    MEMBER = "member"
    SLOW_JOIN = "slow_join"
    STATIC = "static"
    SCALING = "scaling"
    COOPERATIVE = "cooperative"
    CONSUMER_PROTOCOL = "consumer_protocol"
    MOVES = "moves"
    FLAPPING = "flapping"
    JOIN_REFUSED = "join_refused"
    COMMIT_REFUSED = "commit_refused"
    DEPLOY_LAG = "deploy_lag"


FAULTS: Final = frozenset(
    map(ProblemKind, ("duplicate_instance", "slow_poll", "host", "version", "crash_loop", "member"))
)


@dataclass(frozen=True, slots=True)
class GroupProblem:
    """A finding about one group, with the rebalances that it explains and what these cost."""

    kind: ProblemKind
    group: str
    subject: str  # a member, host or version; empty: the group itself
    number: int  # of what its sentence counts first
    rebalances: int
    lost_ms: int  # time of partitions without an owner, summed over the partitions
    read_twice: int
    sentence: str
    advice: str


class RuleEvidence(NamedTuple):
    """The answer of a rule that applies. `facts` are for its texts."""

    subject: str
    number: int
    taken: Sequence[Row] = ()  # rows of `causes` that it explains
    lost_ms: float | None = None  # None: that of the taken rows
    facts: Mapping[str, Any] = {}


@dataclass(slots=True)
class Case:
    """A group under judgement: its past, the rebalances that no rule has explained yet, and the kinds found so far."""

    past: GroupPast
    weeks: float
    left: list[Row]
    kinds: set[ProblemKind] = field(default_factory=set)
    explained: set[tuple[str, str]] = field(default_factory=set)

    def a_week(self, number: float, least: float = DEPARTURES) -> float:
        """Return the threshold for the period, from that for seven days."""
        return max(number * self.weeks, least)

    def of(self, why: Collection[str], clients: Collection[str] | None = None) -> list[Row]:
        """Return the rows left with one of these reasons, of these clients."""
        return [row for row in self.left if row["why"] in why and (clients is None or row["client"] in clients)]

    def gone(self, why: Collection[str]) -> list[Row]:
        """Return the departures for these reasons that no finding has explained."""
        rows = self.past.gone
        return [row for row in rows if row["why"] in why and (row["why"], row["client"]) not in self.explained]

    def take(self, rows: Iterable[Row]) -> None:
        """Count these rebalances as explained."""
        self.explained |= {(row["why"], row["client"]) for row in rows}
        self.left = [row for row in self.left if (row["why"], row["client"]) not in self.explained]


def total(rows: Iterable[Row], column: str) -> int:
    """Return the sum of a column."""
    return int(sum(row[column] or 0 for row in rows))


def top(rows: Iterable[Row], key: str, column: str) -> tuple[str, int]:
    """Return the value of `key` with the greatest sum of a column, and that sum."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[key]] += int(row[column] or 0)
    return max(sums.items(), key=lambda each: (each[1], each[0]), default=("", 0))


def culprit(rows: Sequence[Row]) -> str:
    """Return the member, host or version that began most of these rebalances; empty: there is none."""
    rebalances = total(rows, "rebalances")
    for key in ("client", "host", "software"):
        name, most = top(rows, key, "rebalances")
        if name and len({row[key] for row in rows}) > 1 and rebalances and most >= MOST * rebalances:
            return name
    return ""
