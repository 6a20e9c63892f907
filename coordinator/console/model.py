"""The answers of the console's API, each with one JSON form. docs/console.md describes them.

The page shows nothing else, so that everything on it can be asked for with curl. All times are in milliseconds: `at_ms`
and others that name a moment since the epoch, `*_ms` otherwise durations. -1 stands for "not known", and a field that
has its default is left out. What a cluster cannot tell is a sentence in `unknown`.
"""

from __future__ import annotations

import msgspec

from coordinator.core.events.model import Story
from coordinator.core.transactions.open_rows import OpenRow
from coordinator.explain.verdict import GroupVerdict

UNOWNED = -1  # in place of the position of a member


class ClusterView(msgspec.Struct, kw_only=True):
    """`GET /api/cluster`: what is shown, and what may be done with it."""

    at_ms: int
    kind: str  # "coordinator": of this project, "observed": another Kafka, by its offsets log
    cluster_id: str
    bootstrap_servers: str
    nodes: list[str]  # "1@host:port"
    groups: int
    can_kick: bool  # an admin token is set, and members can be removed with it
    history: str  # empty: the past can be asked for; else why it cannot, as a sentence
    history_from_ms: int = -1
    behind_ms: int = -1  # observed: how far the observer is behind the end of the offsets log
    problem: str = ""  # what keeps these answers from being current, as a sentence
    version: str = ""


class GroupRow(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One group in the list."""

    group: str
    state: str  # as Kafka names it
    type: str = "classic"  # classic, consumer, share, streams
    protocol_type: str = ""
    members: int = -1
    generation: int = -1  # of a consumer group: its epoch
    lag: int = -1  # over all partitions whose end is known
    unknown_partitions: int = 0  # committed ones, whose end is not known
    lags: list[int] = []  # the lag at the last samples, oldest first
    rebalances: int = 0  # since the cluster is watched
    last_rebalance_ms: int = -1


class GroupList(msgspec.Struct, kw_only=True):
    """`GET /api/groups`: one page of the list."""

    at_ms: int
    total: int
    matched: int  # by search and state
    offset: int
    states: dict[str, int]  # of all groups
    groups: list[GroupRow]
    sample_ms: int  # between two values of `lags`
    open_transactions: int = 0  # of all nodes
    transactions: list[OpenRow] = []  # the oldest 50 of them that are open for a second or longer, the oldest first
    problem: str = ""


class RibbonMember(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A member, or a former one, that owned partitions in the time of a ribbon."""

    key: str  # the instance id, or else the member id; the same run of a client keeps its colour by it
    name: str
    client_id: str = ""
    host: str = ""
    is_member: bool = False  # still


class RibbonRow(msgspec.Struct, kw_only=True):
    """The owners of one partition. A span is its start, its end, and the position of its member or UNOWNED."""

    topic: str
    partition: int
    spans: list[tuple[int, int, int]]  # in order of time, without gaps or overlaps


class Seam(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A rebalance in a ribbon."""

    at_ms: int
    ended_ms: int  # of one that is running: now
    generation: int
    cause: str = ""  # a `Cause`; empty: not known
    culprit: str = ""
    outcome: str = ""
    event: int = -1  # its position in the story's events; one past the last: the current one


class Ribbon(msgspec.Struct, kw_only=True):
    """The owners of a group's partitions over time."""

    from_ms: int
    until_ms: int
    known_from_ms: int  # nothing is known of the time before
    members: list[RibbonMember]
    rows: list[RibbonRow]
    seams: list[Seam]
    rows_left_out: int = 0  # beyond the most that are shown


class PartitionLag(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One partition with a committed offset."""

    topic: str
    partition: int
    committed: int
    end: int = -1
    lag: int = -1
    committed_ms: int = -1
    owner: int = UNOWNED  # position in the ribbon's members
    held_at: int = -1  # the last stable offset, if a transaction that is open for long holds the group back there
    held_by: str = ""  # its transactional id; empty: not known


class Lag(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The lag of a group and how it develops."""

    total: int = -1
    per_s: float | None = None  # records per second: above 0 it grows; None: not known
    samples: list[int] = []  # of the total, oldest first
    sample_ms: int = 0
    partitions: list[PartitionLag] = []  # those with the longest lag first
    partitions_left_out: int = 0


class MemberFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Facts that events tell of a member, beside `story.state.members`."""

    member_id: str
    age_ms: int = -1  # since it joined under this member id
    evictions: int = 0  # times that the same client was removed, within the events that are kept
    departures: int = 0  # times that it left by itself


class GroupPage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`GET /api/group`: all that is known of one group, now or at a past moment."""

    group: str
    at_ms: int
    verdicts: list[GroupVerdict]  # as `coordinator groups explain`, the headline first
    story: Story
    type: str = "classic"
    is_past: bool = False
    facts: list[MemberFacts] = []
    ribbon: Ribbon | None = None
    lag: Lag | None = None
    unknown: list[str] = []  # sentences
    problem: str = ""


class Kicked(msgspec.Struct, kw_only=True):
    """`POST /api/kick`: the member that was removed."""

    group: str
    member_id: str


class Problem(msgspec.Struct, kw_only=True):
    """The body of every answer that is no success: one sentence that says what to do."""

    error: str
