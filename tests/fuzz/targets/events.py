"""Events of groups and stories as JSON: a value that is written as it was read, or an error of msgspec's."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from coordinator.core.events.model import (
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Share,
    Story,
    Trigger,
    decode_event,
    decode_story,
    encode,
)
from tests.fuzz.edits import edited
from tests.fuzz.texts import other_json

CLIENT: Final = ClientInfo("m-1", "i", "c", "10.0.0.1", "java 4")
EXAMPLES: Final = (
    Rebalance(
        group="g",
        at_ms=1_000,
        trigger=Trigger(next(iter(Cause)), CLIENT, "because"),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=1,
        generation=2,
        join_ms=5,
        sync_ms=6,
        changes=[Change(ChangeKind.DROPPED, CLIENT, 5)],
        counts={"dropped": 2},
        shares=[Share(CLIENT, 1, 2)],
    ),
    *(Incident(group="g", at_ms=1_000, what=kind, member=CLIENT, other=CLIENT, waited_ms=5) for kind in IncidentKind),
    Story(at_ms=7, state=LiveGroup(group="g", at_ms=7, state="Stable", members=[LiveMember(member=CLIENT)])),
)


def check(data: bytes) -> None:
    try:
        event = decode_event(data)
    except msgspec.MsgspecError:
        pass
    else:
        assert decode_event(encode(event)) == event
        assert event.text()
    try:
        story = decode_story(data)
    except msgspec.MsgspecError:
        return
    assert decode_story(encode(story)) == story


def seeds() -> list[bytes]:
    return [encode(each) for each in EXAMPLES]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.1 or not data:
        data = chance.choice(seeds())
    return other_json(data, chance) if kind < 0.7 else edited(data, chance)
