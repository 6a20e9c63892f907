"""The input of a run: a group, its members, the reaction times of its clients, and what happens to them.

Everything is plain data, so that a Spark task can receive it. Times are in milliseconds: `at_ms` since the epoch,
`*_ms` otherwise durations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from math import exp
from statistics import NormalDist
from typing import Any, Final, NamedTuple

# The standard normal distribution as equally likely values, which costs one random number.
NORMAL: Final = tuple(NormalDist().inv_cdf((number + 0.5) / 256) for number in range(256))


class Latency(NamedTuple):
    """A duration with a lognormal distribution. `spread` is the standard deviation of its logarithm."""

    median_ms: float
    spread: float = 0.3

    def durations_ms(self) -> tuple[int, ...]:
        """Return the durations, each as likely as the others."""
        return _durations_ms(self)


@lru_cache(256)
def _durations_ms(latency: Latency) -> tuple[int, ...]:
    median_ms, spread = latency
    return tuple(round(max(median_ms, 0) * exp(spread * each)) for each in NORMAL)


class Reactions(NamedTuple):
    """The model of the clients' reaction times and of the disk. A run draws each of them by its seed."""

    join: Latency = Latency(10)  # from the news of a rebalance to the JoinGroup, with the callback of revocation
    sync: Latency = Latency(3)  # from the answer to JoinGroup to the SyncGroup of a follower
    plan: Latency = Latency(5)  # the same for the leader, which computes the assignments
    append: Latency = Latency(0)  # until a record is durable


REACTIONS: Final = Reactions()


@dataclass(frozen=True, slots=True)
class PlayedMember:
    """A consumer process. `name` is its key in stimuli."""

    name: str
    client_id: str = "consumer"
    host: str = "127.0.0.1"
    software: str = ""  # name and version, as in "apache-kafka-java 4.4.0"
    instance_id: str | None = None  # group.instance.id: a static member
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000  # max.poll.interval.ms in most clients
    heartbeat_interval_ms: int = 3_000
    is_parked: bool = False  # its heartbeats are parked (docs/parked-heartbeats.md)


@dataclass(frozen=True, slots=True)
class PlayedGroup:
    """A group with all members that ever appear in it. A member is down until a stimulus starts it."""

    group: str
    members: tuple[PlayedMember, ...]
    topics: Mapping[str, int]  # number of partitions by name; all members subscribe to all of them
    assignor: str = "range"  # a name in partition.assignment.strategy, see `assignors`
    reactions: Reactions = REACTIONS
    broker: Mapping[str, Any] = field(default_factory=dict)  # settings of the coordinator, by their Python names
    commit_every_ms: int = 0  # all members commit at once; 0: no commits
    records_per_s: float = 10.0  # of each partition, for the committed offsets


class StimulusAction(Enum):
    """A thing that happens to a member, or to the group."""

    START = "start"
    STOP = "stop"  # it closes: a dynamic member leaves the group, a static one does not
    CRASH = "crash"  # silent for good
    PAUSE = "pause"  # silent for `for_ms`, then it goes on
    RESTART = "restart"  # it closes, and starts again after `for_ms`
    SLOW_POLL = "slow_poll"  # it processes for `for_ms` without a poll, and sends heartbeats meanwhile
    NO_SYNC = "no_sync"  # it falls silent for `for_ms` before its next SyncGroup
    RESUBSCRIBE = "resubscribe"  # it rejoins with another subscription
    FORCE = "force"  # the group is made to rebalance
    GROW = "grow"  # `topic` gets `partitions` more; the leader notices and rejoins


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One thing that happens. `member` is the name of a PlayedMember; empty for FORCE and GROW."""

    at_ms: int
    action: StimulusAction
    member: str = ""
    for_ms: int = 0
    reason: str = ""  # STOP: of the LeaveGroup (KIP-800)
    topic: str = ""
    partitions: int = 0
