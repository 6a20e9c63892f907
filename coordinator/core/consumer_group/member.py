"""A member of a KIP-848 group, as an immutable value: each change makes a new one, so that a failed append can restore
the old one.

Its first part comes from its client (record kind 5), the second is how far it has followed the target assignment
(kind 8). Source: Kafka's `ConsumerGroupMember` and `MemberState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment

STABLE: Final = 0  # it has its target, as far as that was free and given
UNREVOKED: Final = 1  # it still has to give up partitions
UNRELEASED: Final = 2  # it waits for partitions that others hold
UNKNOWN: Final = 127  # written by a later version

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2  # a static member that is away for a while
NO_EPOCHS: Final[Mapping[bytes, tuple[int, ...]]] = MappingProxyType({})


class ClassicProtocols(NamedTuple):
    """The part of a member that uses the classic protocol within a KIP-848 group."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]  # (name, metadata), in the order of the client's preference


class ConsumerMember(NamedTuple):
    """One member. `assigned_epochs` and `pending_epochs` have the shape of `assigned` and `pending` (KIP-1251)."""

    member_id: str
    # -- from its client --
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    regex: str = ""  # "": none
    assignor: str | None = None
    rebalance_timeout_ms: int = -1
    classic: ClassicProtocols | None = None
    # -- its assignment --
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Assignment = NOTHING_ASSIGNED
    pending: Assignment = NOTHING_ASSIGNED  # still to be given up
    assigned_epochs: Mapping[bytes, tuple[int, ...]] = NO_EPOCHS  # the member epoch at which it got each partition
    pending_epochs: Mapping[bytes, tuple[int, ...]] = NO_EPOCHS

    @property
    def is_away(self) -> bool:
        """True if it is a static member that left with epoch -2 and has not returned."""
        return self.epoch == STATIC_LEAVE_EPOCH

    def is_reconciled(self, target_epoch: int) -> bool:
        """Return whether it has all that the target of this epoch gives it."""
        return self.state == STABLE and self.epoch == target_epoch
