"""The five states of a group and the only ways from one to another.

The machine is the table `TRANSITIONS`; everything else is read from it: `ENTERED_FROM`, which `Group.transition` obeys,
and docs/states.md. What is not in the table is a broken invariant. Note what is missing: Stable never becomes Empty
directly (a group whose last member leaves passes PreparingRebalance, even if that takes no time), Empty never becomes
Stable (only loading makes Stable groups), and a second trigger while preparing changes nothing.

The values are the names on the wire (ListGroups, DescribeGroups). Source: spec 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple


class GroupState(Enum):
    """Where a group is in its life. See `MEANING`."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # Identity is all that is asked of a state, also in dicts on hot paths; Enum's own __hash__ is Python code.
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
    Transition(PREPARING_REBALANCE, EMPTY, "the join phase ends and nobody is left"),
    Transition(PREPARING_REBALANCE, COMPLETING_REBALANCE, "the join phase ends with members: a new generation"),
    Transition(COMPLETING_REBALANCE, PREPARING_REBALANCE, "a member joins, leaves, changes or falls silent"),
    Transition(COMPLETING_REBALANCE, STABLE, "the leader's assignments are durable"),
    Transition(STABLE, PREPARING_REBALANCE, "a member joins, leaves, changes or falls silent; the leader rejoins"),
    Transition(EMPTY, DEAD, "the group is being deleted, or its partition unloaded"),
    Transition(PREPARING_REBALANCE, DEAD, "the partition is unloaded"),
    Transition(COMPLETING_REBALANCE, DEAD, "the partition is unloaded"),
    Transition(STABLE, DEAD, "the partition is unloaded"),
    Transition(DEAD, DEAD, "unloaded while being deleted"),
)

ENTERED_FROM: Final[Mapping[GroupState, frozenset[GroupState]]] = MappingProxyType(
    {
        target: frozenset(transition.source for transition in TRANSITIONS if transition.target is target)
        for target in GroupState
    }
)

MEANING: Final[Mapping[GroupState, str]] = MappingProxyType(
    {
        EMPTY: "No members. Holds offsets, or waits for a member that was given an id to join with it.",
        PREPARING_REBALANCE: "Members (re)join; their JoinGroup requests are parked until all have, or time is up.",
        COMPLETING_REBALANCE: "A new generation is known; SyncGroup requests are parked until the leader's is durable.",
        STABLE: "Every member of the generation has, or can fetch, its assignment.",
        DEAD: "Being deleted, or no longer coordinated here. Nothing leads out of it.",
    }
)
