"""The part of a group that does not depend on its protocol: where it belongs, and its appends in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.core.shard import Shard
    from protocol.error_codes import ErrorCode


class AnyGroup:
    """A classic or a KIP-848 group."""

    __slots__ = (
        "group_id",
        "in_flight",
        "is_recorded",
        "lag",
        "record_offset",
        "shard",
        "state_timestamp_ms",
        "unknown_ends",
    )

    def __init__(self, group_id: str, shard: Shard, wall_ms: int) -> None:
        self.group_id = group_id
        self.shard = shard
        self.state_timestamp_ms = wall_ms  # since when it has its state; -1: unknown, as in records of old versions
        self.in_flight = 0  # appends of this group that are not durable yet
        self.is_recorded = False  # one of its records is durable; until then the group is not listed
        self.record_offset = -1  # log offset of its newest durable record; -1: it has none
        self.lag = -1  # over all partitions whose end is known, when it was looked at last; -1: not known
        self.unknown_ends = 0  # committed partitions whose end was not known then

    @property
    def is_dead(self) -> bool:
        """True if the group is being deleted, or is no longer coordinated here."""
        raise NotImplementedError

    @property
    def is_simple(self) -> bool:
        """True if the group only stores offsets (`ClassicGroup.isSimpleGroup`)."""
        return False

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether members read `topic`."""
        raise NotImplementedError

    @property
    def has_members(self) -> bool:
        """True unless it is Empty or Dead."""
        raise NotImplementedError

    @property
    def keeps_all_offsets(self) -> bool:
        """True while no offset of the group may expire, because it is not known which ones its members use."""
        return False

    @property
    def idle_since_ms(self) -> int:
        """The time from which the age of its offsets counts; -1: the time of each commit."""
        return -1

    @property
    def may_expire(self) -> bool:
        """True if the group itself expires with its last offset."""
        return not self.has_members

    def check_delete(self) -> ErrorCode:
        """Return the error of a DeleteGroups for this group."""
        raise NotImplementedError

    def check_offset_delete(self) -> ErrorCode:
        """Return the error of an OffsetDelete for the group as a whole."""
        raise NotImplementedError

    def tombstones(self) -> tuple[tuple[bytes, bytes | None], ...]:
        """Return the records that delete the group, without its offsets."""
        raise NotImplementedError

    def begin_deletion(self, wall_ms: int) -> None:
        """Make the group Dead, until its tombstones are durable or have failed."""
        raise NotImplementedError

    def end_deletion(self) -> None:
        """Serve the group again as it was: its tombstones were not written."""
        raise NotImplementedError

    def cancel_timers(self) -> None:
        """Cancel the timers of the group and of its members."""
        raise NotImplementedError
