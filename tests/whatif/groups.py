"""Groups for the tests of what-if runs: three members, twelve partitions, and short words for what happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from coordinator.core.events.model import Incident, IncidentKind, Rebalance
from coordinator.whatif.player import Played, play
from coordinator.whatif.spec import PlayedGroup, PlayedMember, Stimulus, StimulusAction

T0: Final = 1_700_000_000_000
HOUR: Final = 3_600_000
PARTITIONS: Final = 12


def group_of(size: int = 3, *, static: bool = False, assignor: str = "range", **member: Any) -> PlayedGroup:
    """Return a group of members `m0`, `m1`, ... without an initial delay."""
    members = tuple(
        PlayedMember(f"m{number}", client_id=f"c{number}", instance_id=f"i{number}" if static else None, **member)
        for number in range(size)
    )
    broker = {"group_initial_rebalance_delay_ms": 100}
    return PlayedGroup("orders-service", members, {"orders": PARTITIONS}, assignor, broker=broker)


def starts(group: PlayedGroup) -> list[Stimulus]:
    return [Stimulus(T0, StimulusAction.START, member.name) for member in group.members]


def after_start(group: PlayedGroup, *stimuli: Stimulus, seed: int = 1) -> Played:
    """Play a group that has been stable for an hour. The first rebalance is left out of the events."""
    played = play(group, [*starts(group), *stimuli], seed)
    first = rebalances(played)[0]
    assert first.members_after == len(group.members)
    played.events = [event for event in played.events if event.at_ms >= T0 + HOUR]
    return played


def at(hour: float, action: StimulusAction, member: str = "", **fields: Any) -> Stimulus:
    return Stimulus(T0 + round(hour * HOUR), action, member, **fields)


def rebalances(played: Played) -> list[Rebalance]:
    return [event for event in played.events if isinstance(event, Rebalance)]


def causes(played: Played) -> list[str]:
    return [event.trigger.cause.value for event in rebalances(played)]


def incidents(played: Played) -> list[IncidentKind]:
    return [event.what for event in played.events if isinstance(event, Incident)]


def unowned_ms(events: Sequence[Rebalance]) -> int:
    return sum(event.unowned_partition_ms for event in events)
