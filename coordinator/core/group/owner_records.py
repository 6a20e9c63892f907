"""The owners of a group's partitions after a rebalance, as the console's ownership ribbon needs them.

A member gives up all with its first JoinGroup of a rebalance if that lists no partition as owned, and with its removal.
One that lists some keeps what it has until the next assignments are durable.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import shortened
from coordinator.core.events.owners import GenerationOwners, Holder, OwnersAnswer
from coordinator.core.group.group import CONSUMER
from coordinator.core.group.ownership import HELD, metadata_for, owned_in
from coordinator.core.group.state import STABLE
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.context import Context
    from coordinator.core.events.owner_history import OwnerHistory
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from coordinator.core.group.ownership import Holding, Rejoin
    from coordinator.core.work import Steps

PER_STEP: Final = 500  # members, a few milliseconds if each lists other partitions
# In one answer. Not Final, because tests change it and mypyc inlines Final constants.
MOST_HOLDERS = 10_000


class OwnersAfter:
    """The owners after one rebalance, to be noted in steps. Built when the rebalance ends, before anything changes."""

    __slots__ = ("_assignments", "_generation", "_group_id", "_holdings", "_last", "_members", "_protocol", "_times")

    def __init__(
        self,
        group: Group,
        taken: tuple[dict[str, Holding], dict[str, Rejoin]],
        members: list[Member],
        assignments: Mapping[str, bytes],
        context: Context,
    ) -> None:
        self._group_id = shortened(group.group_id)
        self._generation = group.generation
        self._protocol = group.protocol_name
        self._holdings, self._last = taken
        self._members = members
        self._assignments = assignments
        self._times = context.wall_ms, context.wall_ms - context.now_ms

    def note(self, history: OwnerHistory) -> Steps:
        """Note the owners. The former ones must not be taken apart before this has ended."""
        if not history.keeps_any:
            return
        at_ms, offset_ms = self._times
        gave_up = []
        for number, (key, (_, assignment, first_ms, first)) in enumerate(self._holdings.items(), 1):
            if not number % PER_STEP:
                yield None
            if first_ms == HELD or not assignment:
                continue
            last_ms, last = self._last.get(key, (first_ms, first))
            if not first or owns_nothing(metadata_for(first, self._protocol)):
                gave_up.append((first_ms + offset_ms, shortened(key)))
            elif not last:
                gave_up.append((last_ms + offset_ms, shortened(key)))
        holders = []
        for number, member in enumerate(self._members, 1):
            if not number % PER_STEP:
                yield None
            client_id, host = member.run_as
            key = member.group_instance_id or member.member_id
            given = self._assignments.get(member.member_id, b"")
            holders.append((shortened(key), shortened(client_id), host.lstrip("/"), given))
        history.add(self._group_id, at_ms, self._generation, gave_up, holders)


@lru_cache(maxsize=1024)  # members that own nothing have equal subscriptions
def owns_nothing(metadata: bytes) -> bool:
    """Return whether a subscription lists no partition as owned."""
    try:
        return not any(owned_in(metadata).values())
    except DecodeError:
        return False  # too long to be read


def owners_of(group_id: str, group: Group | None, context: Context) -> OwnersAnswer:
    """Return the owners of a group's partitions, in its newest generations.

    Of a group that has not rebalanced since it was loaded, the assignments in its record are the only ones.
    """
    generations = context.recorder.owners.of(shortened(group_id), MOST_HOLDERS)
    is_loaded = group is not None and group.state is STABLE and group.protocol_type == CONSUMER
    if not generations and group is not None and is_loaded and len(group.members) <= MOST_HOLDERS:
        holders = [
            Holder(
                shortened(member.group_instance_id or member.member_id),
                shortened(member.run_as[0]),
                member.run_as[1].lstrip("/"),
                member.assignment,
            )
            for member in group.members.values()
        ]
        since_ms = group.state_timestamp_ms if group.state_timestamp_ms >= 0 else group.shard.loaded_at_ms
        generations = [GenerationOwners(since_ms, group.generation, [], holders)]
    return OwnersAnswer(at_ms=context.wall_ms, generations=generations)
