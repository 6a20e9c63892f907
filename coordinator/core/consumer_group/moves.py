"""Partitions that change their owners in a KIP-848 group, and for how long they have none.

Each event names the members that it touched, so that a rebalance costs as much as its reconciliation. A partition is
without an owner from the event that takes it from a member to the one that gives it to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, merged
from coordinator.core.consumer_group.clients import client_of, key_of
from coordinator.core.events.model import NAMED_AT_MOST, ClientInfo, Share

if TYPE_CHECKING:
    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.notes import MemberStep


def owned_by(member: ConsumerMember | None) -> Assignment:
    """Return the partitions that no other member can get: the assigned ones, and those still to be given up."""
    if member is None:
        return NOTHING_ASSIGNED
    return merged(member.assigned, member.pending) if member.pending else member.assigned


class PartitionMoves:
    """The moves of the current rebalance. Partitions without an owner are carried to the next one."""

    __slots__ = ("_clients", "_free", "_gained", "_lost", "is_known", "moved", "unowned_ms")

    def __init__(self) -> None:
        self._free: dict[tuple[bytes, int], tuple[int, str]] = {}  # since when, and the key of the last owner
        self.begin()

    def begin(self) -> None:
        """Count anew, for a rebalance that begins."""
        self.moved = 0
        self.unowned_ms = 0
        self.is_known = True  # False: too many partitions were without an owner at once
        self._lost: dict[str, int] = {}
        self._gained: dict[str, int] = {}
        self._clients: dict[str, ClientInfo] = {}

    def follow(self, group: ConsumerGroup, step: MemberStep, now_ms: int, most_free: int) -> None:
        """Count what a member has lost and gained in one event."""
        member = step.after if step.after is not None else step.before
        if member is None or step.is_same_owner:
            return
        before, after = owned_by(step.before), owned_by(step.after)
        key = key_of(member)
        free = self._free
        changed = False
        for topic_id in {**before, **after}:
            old, new = before.get(topic_id, ()), after.get(topic_id, ())
            if old == new:
                continue
            changed = True
            for partition in set(old).difference(new):
                if len(free) >= most_free:
                    self.is_known = False
                    break
                free[topic_id, partition] = now_ms, key
            for partition in set(new).difference(old):
                since_ms, former = free.pop((topic_id, partition), (now_ms, ""))
                self.unowned_ms += now_ms - since_ms
                if former == key:
                    continue
                _add(self._gained, key)
                if former:
                    self.moved += 1
                    _add(self._lost, former)
        if changed:
            self._clients[key] = client_of(group, member)

    def shares(self) -> list[Share]:
        """Return the members that lost or gained most so far."""
        lost = dict(self._lost)
        for _, key in self._free.values():
            if key in self._clients:  # in this rebalance
                _add(lost, key)
        gained = self._gained
        most = sorted(lost.keys() | gained.keys(), key=lambda key: (-lost.get(key, 0) - gained.get(key, 0), key))
        return [
            Share(self._clients.get(key, ClientInfo(member_id=key)), lost.get(key, 0), gained.get(key, 0))
            for key in most[:NAMED_AT_MOST]
        ]

    def settled(self) -> None:
        """Forget the partitions that have no owner although the group is Stable: no member subscribes to them."""
        self._free.clear()


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
