"""The states of KIP-848 groups and of their members as tables, for docs/states.md.

They are not enforced: the state of a group follows from its epochs and members. A test compares the tables with what
happens in random groups. Source: Kafka's `ConsumerGroup.ConsumerGroupState` and `MemberState`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from coordinator.core.consumer_group.group import ConsumerGroupState
from coordinator.core.consumer_group.member import STABLE, UNKNOWN, UNRELEASED, UNREVOKED

EMPTY: Final = ConsumerGroupState.EMPTY.value
ASSIGNING: Final = ConsumerGroupState.ASSIGNING.value
RECONCILING: Final = ConsumerGroupState.RECONCILING.value
STABLE_GROUP: Final = ConsumerGroupState.STABLE.value
DEAD: Final = ConsumerGroupState.DEAD.value
START: Final = "[*]"

MEANING: Final = {
    EMPTY: "No members. Its committed offsets stay.",
    ASSIGNING: "The group epoch was raised, and the target of that epoch is not computed yet.",
    RECONCILING: "A member has not all of its target yet, has something to give up, or is a static one that is away.",
    STABLE_GROUP: "Each member has its target.",
    DEAD: "Being deleted, or no longer coordinated by this node. Final.",
}

MEMBER_NAMES: Final = {STABLE: "Stable", UNREVOKED: "Unrevoked", UNRELEASED: "Unreleased", UNKNOWN: "Unknown"}
MEMBER_MEANING: Final = {
    STABLE: "It has its target, as far as it has heard of it.",
    UNREVOKED: "It was told to give up partitions and has not said that it did, for at most its rebalance timeout.",
    UNRELEASED: "It waits for partitions of its target that others hold.",
    UNKNOWN: "Written by a later version: the member is told to give up all and to join again.",
}


class StateChange(NamedTuple):
    """A row of a table: from, to, and when."""

    source: str
    target: str
    when: str


TRANSITIONS: Final = (
    StateChange(START, STABLE_GROUP, "the first member joins and has all at once"),
    StateChange(START, RECONCILING, "a classic group with members is upgraded"),
    StateChange(EMPTY, STABLE_GROUP, "a member joins and has all at once"),
    StateChange(
        STABLE_GROUP,
        RECONCILING,
        "a member joins or subscribes to something else, topics change, or a static member is away",
    ),
    StateChange(STABLE_GROUP, ASSIGNING, "a member goes: the next heartbeat computes the target"),
    StateChange(STABLE_GROUP, EMPTY, "the last member goes"),
    StateChange(RECONCILING, STABLE_GROUP, "the last member has all of its target, or a static one is back"),
    StateChange(RECONCILING, ASSIGNING, "a member goes"),
    StateChange(RECONCILING, EMPTY, "the last member goes"),
    StateChange(ASSIGNING, RECONCILING, "the target is computed"),
    StateChange(ASSIGNING, STABLE_GROUP, "the target is computed, and its member has all at once"),
    StateChange(ASSIGNING, EMPTY, "the last member goes"),
)
MEMBER_TRANSITIONS: Final = (
    StateChange(START, "Stable", "it joins, and its target is free"),
    StateChange(START, "Unreleased", "it joins, and others hold a part of its target"),
    StateChange("Stable", "Unrevoked", "it has to give up partitions"),
    StateChange("Stable", "Unreleased", "others hold a part of its new target"),
    StateChange("Unrevoked", "Stable", "it has given them up, and its target is free"),
    StateChange("Unrevoked", "Unreleased", "it has given them up, and others hold a part of its target"),
    StateChange("Unreleased", "Stable", "what it waited for is free"),
    StateChange("Unreleased", "Unrevoked", "a new target takes partitions from it"),
)
