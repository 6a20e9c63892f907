"""The tables of states in docs/states.md are what happens: no other change is seen, and each one is."""

from __future__ import annotations

import random
from typing import Any

from coordinator.core.consumer_group.states import MEMBER_NAMES, MEMBER_TRANSITIONS, START, TRANSITIONS
from tests.core.consumer_group.test_migration import classic_group
from tests.support.consumer_world import ConsumerWorld


class Watched(ConsumerWorld):
    """A world that notes each change of a state, of the group and of its members."""

    def __init__(self, **options: Any) -> None:
        self.seen: set[tuple[str, str]] = set()
        self.seen_of_members: set[tuple[str, str]] = set()
        self._before: tuple[str, dict[str, str]] | None = None
        super().__init__({"t": 6}, **options)

    def check(self) -> None:
        super().check()
        group = self.core.consumer_group_ids.get("g") if hasattr(self, "core") else None
        if group is None:
            self._before = None
            return
        members = {member_id: MEMBER_NAMES[member.state] for member_id, member in group.members.items()}
        state, former = self._before if self._before is not None else (START, {})
        self.seen.add((state, group.state.value))
        if state != START:  # an upgrade brings members with it
            self.seen_of_members |= {(former.get(each, START), now) for each, now in members.items()}
        self._before = group.state.value, members


def changes(seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(source, target) for source, target in seen if source != target}


def test_the_tables_are_what_happens() -> None:
    seen: set[tuple[str, str]] = set()
    seen_of_members: set[tuple[str, str]] = set()
    for seed in range(16):
        world = Watched()
        chance = random.Random(seed)
        if seed % 5 == 0:
            classic_group(world, ({"t": [0, 1, 2]}, {"t": [3, 4, 5]}))
        owned: dict[str, dict[str, list[int]]] = {}
        for _ in range(80):
            member_id = chance.choice("ABCS")
            instance_id = "s" if member_id == "S" else None
            group = world.core.consumer_group_ids.get("g")
            member = group.members.get(member_id) if group is not None else None
            deed = chance.randrange(9 if seed % 2 else 4)
            if member is None or member.is_away:
                if deed < 3:
                    world.beat(member_id, 0, topics=["t"], instance_id=instance_id)
                    owned[member_id] = {}
            elif deed == 0:
                world.beat(member_id, -2 if instance_id and chance.random() < 0.5 else -1, instance_id=instance_id)
            elif deed == 1:
                topics = chance.choice([["t"], ["t", "u"], ["u"]])
                world.beat(member_id, member.epoch, topics=topics, instance_id=instance_id)
            elif deed == 2:
                world.advance("5s")
            else:
                world.beat(member_id, member.epoch, owned=world.assigned(member_id), instance_id=instance_id)
        seen |= changes(world.seen)
        seen_of_members |= changes(world.seen_of_members)
    world = Watched()
    world.beat("S", 0, topics=["t"], instance_id="s")
    world.beat("S", -2, instance_id="s")
    world.advance("46s")  # rare in the others: the only member is away, and its session ends
    seen |= changes(world.seen)
    assert seen == {(source, target) for source, target, _ in TRANSITIONS}
    assert seen_of_members == {(source, target) for source, target, _ in MEMBER_TRANSITIONS}
