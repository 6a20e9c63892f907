"""A verdict: one sentence about a group, its cause as a code, the client that causes it, and one piece of advice."""

from __future__ import annotations

from enum import Enum

import msgspec

from coordinator.core.events.model import NOBODY, ClientInfo


class Finding(Enum):
    """The cause that a verdict names. The value is its name in JSON."""

    NO_SUCH_GROUP = "no_such_group"
    DISK = "disk"
    SHARED_INSTANCE_ID = "shared_instance_id"  # two processes with one group.instance.id
    SLOW_JOINER = "slow_joiner"
    SLOW_LEADER = "slow_leader"
    NOT_POLLING = "not_polling"  # its client tells so, and it has not left yet
    POLL_INTERVAL = "poll_interval"
    SESSION_TOO_SHORT = "session_too_short"
    CRASH_LOOP = "crash_loop"
    RESTART_LOOP = "restart_loop"  # leaves in good order and returns, again and again
    UNKNOWN_MEMBER_LOOP = "unknown_member_loop"
    SUBSCRIPTION_FLAPPING = "subscription_flapping"
    LEADER_REJOINS = "leader_rejoins"
    ASSIGNORS_DISJOINT = "assignors_disjoint"
    GROUP_FULL = "group_full"
    ROLLING_DEPLOY = "rolling_deploy"
    STALE_COMMITS = "stale_commits"
    SILENT_MEMBER = "silent_member"
    INITIAL_DELAY = "initial_delay"
    REBALANCING = "rebalancing"
    COMES_AND_GOES = "comes_and_goes"  # observed: it is not known whether it leaves or loses its session
    SLOW_REVOCATION = "slow_revocation"  # KIP-848
    SLOW_REBALANCE = "slow_rebalance"  # observed: it is not known which member it waits for
    REVOCATION_LOOP = "revocation_loop"  # removed again and again, because it did not give up its partitions
    NOT_REVOKED = "not_revoked"  # the same, once
    STATIC_AWAY = "static_away"  # a static member that has closed and may come back
    ASSIGNOR_FAILED = "assignor_failed"  # an assignor of a user
    NO_TOPICS = "no_topics"  # no topic matches a subscription
    MIGRATION = "migration"  # of a group from one protocol to the other
    JOIN_REFUSED = "join_refused"  # of a client of the consumer protocol
    PAST_SLOW_REVOCATION = "past_slow_revocation"
    PAST_SLOW_REBALANCE = "past_slow_rebalance"
    HELD_BACK = "held_back"  # an open transaction holds readers of committed records back
    OFFSETS_PENDING = "offsets_pending"  # an open transaction has offsets of the group
    NOT_EXPLAINED = "not_explained"  # observed: a share or streams group
    MEMBER_LOST = "member_lost"
    PAST_SLOW_JOINER = "past_slow_joiner"
    PAST_SLOW_LEADER = "past_slow_leader"
    JUST_RESTARTED = "just_restarted"
    IDLE_MEMBERS = "idle_members"  # more members than partitions
    EMPTY = "empty"
    HEALTHY = "healthy"


class GroupVerdict(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A verdict. Times are in milliseconds; `since_ms` is since the epoch."""

    code: Finding
    sentence: str  # what it is now and why
    advice: str = ""
    culprit: ClientInfo = NOBODY
    evidence: list[int] = []  # positions in the story's events; one past the last is the current rebalance
    since_ms: int = -1  # -1: not known
    at_most_ms: int = -1  # how much longer it lasts at most; -1: not known
