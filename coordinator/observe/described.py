"""Answers to DescribeGroups between two records of a classic group: its state, and the ids of its members.

The log has no record of a rebalance that runs. The answers tell that it runs, since when at least, and whether its
first visible change was a new member or a missing one. They do not tell which member has not rejoined yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from coordinator.core.events.model import Change, ChangeKind, ClientInfo

SETTLED: Final = frozenset({"Stable", "Empty", "Dead"})
RECENT_MS: Final = 30_000  # an answer is the present state for so long
AT_END_MS: Final = 3_000  # before the record of a generation


class Description(NamedTuple):
    """An answer to DescribeGroups."""

    at_ms: int
    state: str
    members: Mapping[str, ClientInfo]  # by member id


@dataclass(slots=True)
class Polls:
    """The answers since the last record of a group."""

    last: Description | None = None
    began_ms: int = -1  # the first answer that showed a rebalance; -1: none does
    first_change: Change | None = None  # what the first of these answers had, and the record had not
    is_same_members: bool = False  # the first of these answers had the members of the record
    _absent: dict[str, int] = field(default_factory=dict)  # members of the record, and when they were missing first

    def add(self, description: Description, members: Collection[str]) -> None:
        """Take an answer; `members` are those of the last record."""
        self.last = description
        if description.state in SETTLED:
            self.began_ms, self.first_change, self.is_same_members = -1, None, False
        present = description.members
        if description.state == "Dead":
            return
        for member_id in members:
            if member_id in present:
                self._absent.pop(member_id, None)
            else:
                self._absent.setdefault(member_id, description.at_ms)
        if description.state in SETTLED or self.began_ms >= 0:
            return
        self.began_ms = description.at_ms
        came = [client for member_id, client in present.items() if member_id not in members]
        gone = [member_id for member_id in members if member_id not in present]
        self.is_same_members = not came and not gone
        if came and not gone:
            self.first_change = Change(ChangeKind.JOINED, came[0])
        elif gone and not came:
            self.first_change = Change(ChangeKind.GONE, ClientInfo(member_id=gone[0]))

    def absent_since_ms(self, member_id: str) -> int:
        """Return when a member of the record was missing first, and has been since; -1: it was not."""
        return self._absent.get(member_id, -1)

    def was_member_at_end(self, member_id: str, at_ms: int) -> bool:
        """Return whether a member was there until just before `at_ms`."""
        last = self.last
        return last is not None and member_id in last.members and at_ms - last.at_ms <= AT_END_MS

    def state_at(self, now_ms: int) -> str:
        """Return the state that was described lately, or the empty string."""
        return self.last.state if self.last is not None and now_ms - self.last.at_ms <= RECENT_MS else ""


def description(at_ms: int, state: str, members: Sequence[ClientInfo]) -> Description:
    """Return an answer of a coordinator."""
    return Description(at_ms, state, {client.member_id: client for client in members})
