"""The five states of a group and the transitions between them.

The table `TRANSITIONS` is the state machine. `ENTERED_FROM`, which `Group.transition` enforces, and docs/states.md are
computed from it. A transition that is not in the table is a broken invariant. Stable never becomes Empty directly (a
group whose last member leaves passes PreparingRebalance, even if for no time), Empty never becomes Stable (only loading
makes Stable groups), and a second trigger in PreparingRebalance changes no state.

The values are the names on the wire (ListGroups, DescribeGroups). Source: Kafka's `ClassicGroupState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple


class GroupState(Enum):
    """State of a group, explained in `MEANING`."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # States are compared by identity. Enum's __hash__ is Python code, too slow for dicts on hot paths.
    __hash__ = object.__hash__


class Transition(NamedTuple):
    source: GroupState
    target: GroupState
    when: str


EMPTY: Final = GroupState.EMPTY
PREPARING_REBALANCE: Final = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
DEAD: Final = GroupState.DEAD

TRANSITIONS: Final = (
    Transition(EMPTY, PREPARING_REBALANCE, "the first member joins; the initial delay begins"),
    Transition(PREPARING_REBALANCE, EMPTY, "the join phase ends without members"),
    Transition(PREPARING_REBALANCE, COMPLETING_REBALANCE, "the join phase ends with members: a new generation"),
    Transition(COMPLETING_REBALANCE, PREPARING_REBALANCE, "a member joins, leaves, changes or times out"),
    Transition(COMPLETING_REBALANCE, STABLE, "the leader's assignments are durable"),
    Transition(STABLE, PREPARING_REBALANCE, "a member joins, leaves, changes or times out; the leader rejoins"),
    Transition(EMPTY, DEAD, "the group is being deleted, or its partition unloaded"),
    Transition(PREPARING_REBALANCE, DEAD, "the partition is unloaded"),
    Transition(COMPLETING_REBALANCE, DEAD, "the partition is unloaded"),
    Transition(STABLE, DEAD, "the partition is unloaded"),
    Transition(DEAD, DEAD, "unloaded while being deleted"),
)

# States in which members use the offsets, so that the group cannot be deleted.
WITH_MEMBERS: Final = frozenset({PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE})

ENTERED_FROM: Final[Mapping[GroupState, frozenset[GroupState]]] = MappingProxyType(
    {
        target: frozenset(transition.source for transition in TRANSITIONS if transition.target is target)
        for target in GroupState
    }
)

MEANING: Final[Mapping[GroupState, str]] = MappingProxyType(
    {
        EMPTY: "No members. Holds offsets, or waits for a client that was given a member id to join with it.",
        PREPARING_REBALANCE: "Members (re)join; JoinGroup requests are parked until all have joined, or the deadline.",
        COMPLETING_REBALANCE: "A new generation; SyncGroup requests are parked until the assignments are durable.",
        STABLE: "Each member of the generation has, or can fetch, its assignment.",
        DEAD: "Being deleted, or no longer coordinated by this node. Final.",
    }
)
