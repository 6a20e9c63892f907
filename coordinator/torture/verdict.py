"""The verdict on one schedule: what became of the records, and of the application."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class FailureKind(StrEnum):
    """A way in which an application failed."""

    LOST = "lost"  # committed past records that no copy processed
    STUCK = "stuck"  # records wait and nothing is committed any more
    LOOPING = "looping"  # the group rebalances again and again, with nothing to cause it
    WENT_BACK = "went_back"  # a commit below what was committed before: what follows is processed again
    NOT_OWNER = "not_owner"  # a commit for a partition that the member had given up
    READ_AGAIN = "read_again"  # from below what was committed before the first step: a position was reset
    ABANDONED = (
        "abandoned"  # joined as a new member while its old one was in the group, which waits for that one in vain
    )
    EXITED = "exited"  # a copy ended by itself
    # of an application that processes exactly once
    TWICE = "twice"  # the output has a record more than once
    UNCOMMITTED = "uncommitted"  # the output has a record of a transaction that was aborted
    HELD_BACK = "held_back"  # a transaction stays open, and readers of committed records wait for it


class Failure(msgspec.Struct, frozen=True):
    """One failure, with a sentence that says what happened."""

    kind: FailureKind
    sentence: str


class ScheduleVerdict(msgspec.Struct, kw_only=True):
    """The outcome of one schedule."""

    failures: list[Failure] = []
    has_begun: bool = True  # the copies joined and committed before the first step
    records: int = 0  # produced
    processed_twice: int | None = None  # values that the application wrote again; None: it names no output
    restarts: int = 0  # of copies that ended by themselves, of an application that processes exactly once
    missed_faults: int = 0  # waited for a stage that no transaction was at
    sent_twice: int = 0  # records that were fetched more than once; most of them are not processed again
    rebalances: int = 0
    longest_standstill_s: float = 0.0  # the longest time without a commit while records waited
    took_s: float = 0.0
    last_lines: dict[str, str] = {}  # by copy, of those that failed

    @property
    def is_good(self) -> bool:
        """True if nothing failed."""
        return not self.failures

    def has_like(self, other: ScheduleVerdict) -> bool:
        """Return True if it fails in one of the ways of another one: shrinking must not change the bug."""
        return bool({each.kind for each in self.failures} & {each.kind for each in other.failures})

    def text(self) -> str:
        """Say it in one line."""
        if self.is_good:
            twice = f", {self.processed_twice} processed twice" if self.processed_twice else ""
            still = f"at most {self.longest_standstill_s:.1f} s without a commit"
            return f"ok: {self.records} records, none lost{twice}; {still}"
        return "; ".join(f"{each.kind.value.upper()}: {each.sentence}" for each in self.failures)
