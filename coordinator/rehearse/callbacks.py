"""Partitions and their owners, from the requests of the members: each change is a callback of the application.

A member of the classic protocol says in JoinGroup what it keeps, and hears in SyncGroup what it has. One of the
consumer protocol gives up what it is told to, and says so in a heartbeat; until then the partitions are `revoking`.
Times are those of a monotonic clock, in seconds.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final, NamedTuple

NOTHING: Final[frozenset[int]] = frozenset()


class CallbackKind(StrEnum):
    """A callback of a consumer's rebalance listener."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"  # the member was removed without having given its partitions up


class Callback(NamedTuple):
    """A change of what one member owns."""

    at_s: float
    client: str
    kind: CallbackKind
    partitions: tuple[int, ...]
    took_s: float = 0.0  # since the member was told to give them up


class OwnerGap(NamedTuple):
    """A time in which a partition had no owner."""

    partition: int
    from_s: float
    to_s: float


class PartitionRelease(NamedTuple):
    """A partition was given up."""

    partition: int
    client: str
    told_s: float  # when its owner was told to
    at_s: float


class _OwnedPartition(NamedTuple):
    member_id: str
    client: str
    since_s: float


class PartitionOwners:
    """The owner of each partition, and all changes."""

    def __init__(self) -> None:
        self._owners: dict[int, _OwnedPartition] = {}
        self._free_since_s: dict[int, float] = {}
        self._told_s: dict[tuple[str, int], float] = {}  # member and partition: when it was told to give it up
        self._stopping_s: dict[str, float] = {}  # by member: when it was told to end
        self._changed_s: dict[str, float] = {}  # by member: when it was given partitions, or gave some up, last
        self._had: set[tuple[str, int]] = set()  # member and partition: it has given it up
        self.callbacks: list[Callback] = []
        self.gaps: list[OwnerGap] = []
        self.releases: list[PartitionRelease] = []

    def owner_of(self, partition: int) -> str | None:
        """Return the client that owns a partition; None if it has no owner."""
        owner = self._owners.get(partition)
        return None if owner is None else owner.client

    def of_member(self, member_id: str) -> frozenset[int]:
        """Return the partitions of a member."""
        return frozenset(number for number, owner in self._owners.items() if owner.member_id == member_id)

    @property
    def members(self) -> set[str]:
        """The members that own something."""
        return {owner.member_id for owner in self._owners.values()}

    def has_given_up(self, member_id: str, partition: int) -> bool:
        """Return True if a member had a partition, and has it no more."""
        return (member_id, partition) in self._had and partition not in self.of_member(member_id)

    def was_kept(self, partition: int) -> bool:
        """Return True if a partition has an owner which had it already when it was given others, or gave others up."""
        owner = self._owners.get(partition)
        return owner is not None and self._changed_s[owner.member_id] > owner.since_s

    def set(
        self, now_s: float, member_id: str, client: str, owned: Collection[int], revoking: Collection[int] = NOTHING
    ) -> None:
        """Note all that a member owns now. `revoking`: the part that it was told to give up."""
        before = self.of_member(member_id)
        self._release(now_s, before.difference(owned), CallbackKind.REVOKED)
        added = frozenset(owned) - before
        former: dict[str, set[int]] = {}  # by member that was removed, and this is how it shows
        for number in added & self._owners.keys():
            former.setdefault(self._owners[number].member_id, set()).add(number)
        for numbers in former.values():
            self._release(now_s, numbers, CallbackKind.LOST)
        for number in added:
            self._owners[number] = _OwnedPartition(member_id, client, now_s)
            self._had.add((member_id, number))
            if (since_s := self._free_since_s.pop(number, None)) is not None:
                self.gaps.append(OwnerGap(number, since_s, now_s))
        if added:
            self._changed_s[member_id] = now_s
            self.callbacks.append(Callback(now_s, client, CallbackKind.ASSIGNED, tuple(sorted(added))))
        for number in owned:
            if number in revoking:
                self._told_s.setdefault((member_id, number), now_s)
            else:
                self._told_s.pop((member_id, number), None)

    def gone(self, now_s: float, member_id: str, *, is_lost: bool) -> None:
        """Note that a member is not in the group any more. `is_lost`: it did not leave by itself."""
        self._release(now_s, self.of_member(member_id), CallbackKind.LOST if is_lost else CallbackKind.REVOKED)

    def stopping(self, now_s: float, client: str) -> None:
        """Note that a client is told to end, and so to give all up."""
        for owner in self._owners.values():
            if owner.client == client:
                self._stopping_s[owner.member_id] = now_s

    def longest_gap_s(self, partition: int, since_s: float, now_s: float) -> float:
        """Return the longest time without an owner that ended after `since_s`, or goes on."""
        ended = [gap.to_s - gap.from_s for gap in self.gaps if gap.partition == partition and gap.to_s > since_s]
        free_since_s = self._free_since_s.get(partition, now_s)
        return max([*ended, now_s - free_since_s])

    def _release(self, now_s: float, partitions: Collection[int], kind: CallbackKind) -> None:
        client, took_s = "", 0.0
        for number in partitions:
            member_id, client, _ = self._owners.pop(number)
            told_s = min(self._told_s.pop((member_id, number), now_s), self._stopping_s.get(member_id, now_s))
            took_s = max(took_s, now_s - told_s)
            self._changed_s[member_id] = self._free_since_s[number] = now_s
            self.releases.append(PartitionRelease(number, client, told_s, now_s))
        if partitions:
            self.callbacks.append(Callback(now_s, client, kind, tuple(sorted(partitions)), took_s))
