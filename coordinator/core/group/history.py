"""The record of a rebalance: its cause, its phases and its outcome, in plain words for an operator.

A rebalance begins with a trigger (a cause and the member that caused it), has a join phase and, if members remain, a
sync phase. It ends Stable, Empty, or interrupted by the next trigger. `Rebalance` collects these facts and `text()`
describes them. The newest `group.max.rebalance.history` records stay with the group, and each one is handed to the
runtime's log when it ends.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from coordinator.core.group.member import Member

NAMED_AT_MOST: Final = 10  # members named in one record; beyond that only their number
LONGEST_REASON: Final = 255  # characters; Kafka's clients truncate it to the same length (KIP-800)
LONGEST_NAME: Final = 120  # characters of a member id or client
UUID_CHARS: Final = 36  # the end of a member id, which makes it unique


class Cause(Enum):
    """Cause of a rebalance. The value completes the sentence 'because ...'."""

    MEMBER_JOINED = "a new member joined"
    PROTOCOLS_CHANGED = "a member rejoined with other protocols or another subscription"
    LEADER_REJOINED = "the leader rejoined"
    STATIC_MEMBER_REPLACED = "a static member was replaced by its next run"
    MEMBER_LEFT = "a member left"
    SESSION_EXPIRED = "a member fell silent for its session timeout"
    NO_SYNC = "a member sent no SyncGroup within the rebalance timeout"
    APPEND_FAILED = "the assignments could not be written to the log"
    OVER_FULL = "the group was loaded with more members than group.max.size"


class Trigger(NamedTuple):
    """A cause, and the member that it came from."""

    cause: Cause
    member_id: str = ""
    client: str = ""  # client id and host, as in "orders-1@/10.0.0.7"
    reason: str = ""  # as given by the client, if any

    @classmethod
    def by(cls, cause: Cause, member: Member, reason: str | None = None) -> Trigger:
        client = f"{member.client_id}@{member.client_host}"
        return cls(cause, _shortened(member.member_id), _shortened(client), (reason or "")[:LONGEST_REASON])


def _shortened(name: str) -> str:
    """Cut the middle out of a long name. Names come from clients, and records outlive their members."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - UUID_CHARS - 3]}...{name[-UUID_CHARS:]}"


class RebalanceOutcome(Enum):
    RUNNING = "running"
    STABLE = "stable"
    EMPTY = "empty"
    INTERRUPTED = "interrupted"


class Rebalance:
    """The facts of one rebalance. `started_ms` is a time of the core's clock; the other times are durations."""

    __slots__ = (
        "generation",
        "group_id",
        "join_ms",
        "members_after",
        "not_back",
        "not_back_count",
        "outcome",
        "previous_generation",
        "started_ms",
        "sync_ms",
        "trigger",
    )

    def __init__(self, group_id: str, trigger: Trigger, generation: int, now_ms: int) -> None:
        self.group_id = group_id
        self.trigger = trigger
        self.previous_generation = generation
        self.generation = generation  # the new one, once the join phase is complete
        self.members_after = 0
        self.started_ms = now_ms
        self.join_ms = -1  # duration of the join phase; -1: not complete
        self.sync_ms = -1
        self.outcome = RebalanceOutcome.RUNNING
        self.not_back: tuple[str, ...] = ()  # members dropped because they did not rejoin in time
        self.not_back_count = 0

    def dropped(self, member_id: str) -> None:
        self.not_back_count += 1
        if len(self.not_back) < NAMED_AT_MOST:
            self.not_back += (_shortened(member_id),)

    def joined(self, generation: int, members: int, now_ms: int) -> None:
        """Record the end of the join phase."""
        self.generation = generation
        self.members_after = members
        self.join_ms = now_ms - self.started_ms

    def ended(self, outcome: RebalanceOutcome, now_ms: int) -> None:
        self.outcome = outcome
        if self.join_ms >= 0:
            self.sync_ms = now_ms - self.started_ms - self.join_ms

    def text(self) -> str:
        """Return the record as one or two sentences."""
        trigger = self.trigger
        text = f"Group {self.group_id} left generation {self.previous_generation} because {trigger.cause.value}"
        if trigger.member_id:
            text += f" ({trigger.member_id}, client {trigger.client})"
        if trigger.reason:
            text += f', giving as its reason "{trigger.reason}"'
        if self.join_ms < 0:
            return text + (
                "; members are rejoining." if self.outcome is RebalanceOutcome.RUNNING else "; it was cut short."
            )
        members = "1 member" if self.members_after == 1 else f"{self.members_after} members"
        text += f". {members} joined within {self.join_ms} ms"
        if self.not_back_count:
            text += f", without {', '.join(self.not_back)}"
            more = self.not_back_count - len(self.not_back)
            text += f" and {more} more" if more else ""
        text += f"; generation {self.generation} "
        if self.outcome is RebalanceOutcome.STABLE:
            return f"{text}was stable after another {self.sync_ms} ms."
        if self.outcome is RebalanceOutcome.EMPTY:
            return f"{text}is empty."
        if self.outcome is RebalanceOutcome.INTERRUPTED:
            return f"{text}ended after another {self.sync_ms} ms, before it was stable."
        return f"{text}waits for its leader's assignments."

    def __repr__(self) -> str:
        return f"<Rebalance {self.text()}>"
