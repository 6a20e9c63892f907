"""Registry of the partitions of the offsets log and of all groups.

A group in `groups` belongs to an active partition, so that most requests need one lookup. The partition of a group is
computed from its id by Kafka's hash, which is cached. A partition that another node owns exists but is never loaded;
requests for its groups get NOT_COORDINATOR.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from coordinator.core.group.checks import fits
from coordinator.core.group.group import Group
from coordinator.core.group.state import GroupState
from coordinator.core.offsets.quarantine import QUARANTINE_ERROR, QuarantinedGroup
from coordinator.core.shard import PartitionState, Shard, partition_for
from coordinator.core.totals import Totals
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.context import Context
    from coordinator.core.offsets.deleted_topics import ForgottenTopic

CACHED_IDS: Final = 1024  # cached ids of groups that do not exist; the others know their partition
MAX_CACHED_ID_CHARS: Final = 255  # ids come from clients, so the cache is bounded in bytes too


class GroupRegistry:
    """All partitions and groups of one node."""

    __slots__ = (
        "consumer_groups",
        "deleted_topics",
        "groups",
        "groups_by_state",
        "is_down",
        "partition_of",
        "partitions",
        "topics_gone",
        "totals",
    )

    def __init__(self, partitions: int, owns: Callable[[int], bool], max_subscribed_topics: int) -> None:
        self.is_down = False  # stopping: all requests are refused
        self.topics_gone = 0  # number of topic deletions; knowledge about topics from before is outdated
        self.deleted_topics: dict[tuple[str, frozenset[int]], ForgottenTopic] = {}  # whose search has not begun yet
        self.groups: dict[str, Group] = {}  # the classic ones
        self.consumer_groups: dict[str, ConsumerGroup] = {}  # those of KIP-848
        self.groups_by_state: dict[GroupState, int] = dict.fromkeys(GroupState, 0)
        self.totals = Totals()
        self.partitions = [
            Shard(number, self.groups, self.groups_by_state, self.totals, max_subscribed_topics, self.consumer_groups)
            for number in range(partitions)
        ]
        for shard in self.partitions:
            if not owns(shard.partition):
                shard.state = PartitionState.NOT_OWNED

        @lru_cache(CACHED_IDS)
        def cached_partition_for(group_id: str) -> int:
            return partition_for(group_id, partitions)

        def partition_of(group_id: str) -> int:
            if len(group_id) <= MAX_CACHED_ID_CHARS:
                return cached_partition_for(group_id)
            return partition_for(group_id, partitions)

        self.partition_of = partition_of

    def find(self, group_id: str) -> AnyGroup | None:
        """Return the classic or KIP-848 group with this id."""
        group = self.groups.get(group_id)
        return self.consumer_groups.get(group_id) if group is None else group

    @property
    def group_count(self) -> int:
        return len(self.groups) + len(self.consumer_groups)

    def shard_of(self, group_id: str) -> Shard:
        group = self.groups.get(group_id)
        if group is not None:
            return group.shard
        return self.partitions[self.partition_of(group_id)]

    def refusal(self, group_id: str) -> ErrorCode:
        """Return the error that refuses requests for a group; NONE if it can be served, even if it does not exist.

        Kafka checks the length of an id only when it writes the record, and then fails with an exception.
        """
        if self.is_down:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not fits(group_id):
            return ErrorCode.INVALID_GROUP_ID
        shard = self.shard_of(group_id)
        quarantined = shard.quarantine.groups
        return QUARANTINE_ERROR if quarantined and group_id in quarantined else shard.error

    def quarantined(self, group_id: str) -> QuarantinedGroup | None:
        """Return the facts on a quarantined group; None if the group is not quarantined."""
        return self.shard_of(group_id).quarantine.groups.get(group_id)

    def create(self, group_id: str, context: Context) -> Group | None:
        """Create an Empty group in an active partition; None if max.groups is reached."""
        if self.group_count >= context.config.max_groups:
            context.counters.refused_groups += 1
            return None
        shard = self.shard_of(group_id)
        group = Group(group_id, shard, context.wall_ms)
        shard.add(group)
        return group
