"""Random members of a KIP-848 group: no partition has two holders, the log is the group, and every group settles.

After each event `check_consumer_group` looks at the invariants (no partition with two holders among them), and the
group that a start would restore from the log is compared with the one in memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.restore import restored
from coordinator.core.consumer_group.stored import stored_groups
from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld
from tests.support.memory_rows import assert_rows_are_the_log

TOPICS = ("t1", "t2", "a1", "a2")
STEPS = 150
LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}


class Client:
    """A consumer that follows its assignment, and acknowledges a revocation when it likes to."""

    def __init__(self, world: ConsumerWorld, member_id: str, instance_id: str | None, dice: random.Random) -> None:
        self.world, self.member_id, self.instance_id, self.dice = world, member_id, instance_id, dice
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}
        self.wanted: dict[str, list[int]] | None = None
        self.topics: list[str] = ["t1"]
        self.regex: str | None = None

    def beat(self, *, is_prompt: bool = False) -> None:
        is_join = self.epoch == 0
        acknowledges = self.wanted is not None and (is_prompt or self.dice.random() < 0.5)
        if acknowledges and self.wanted is not None:
            self.owned, self.wanted = self.wanted, None
        self.owned = {name: some for name, some in self.owned.items() if self.world.topics_image.by_name(name)}
        is_told = is_join or acknowledges or is_prompt or self.dice.random() < 0.1
        call = self.world.beat(
            self.member_id,
            self.epoch,
            instance_id=self.instance_id,
            topics=self.topics if is_join else None,
            subscribed_topic_regex=self.regex if is_join else None,
            owned={} if is_join else self.owned if is_told else None,
        )
        self._hear(call)

    def subscribe(self, topics: list[str], regex: str | None) -> None:
        self.topics, self.regex = topics, regex
        if self.epoch > 0:
            call = self.world.beat(
                self.member_id,
                self.epoch,
                topics=topics,
                subscribed_topic_regex=regex or "",
                instance_id=self.instance_id,
            )
            self._hear(call)

    def _hear(self, call: object) -> None:
        from tests.support.call import Call

        assert isinstance(call, Call)
        if call.is_parked:
            return
        if call.error in LOST:
            self.epoch, self.owned, self.wanted = 0, {}, None
        elif call.error is ErrorCode.NONE:
            self.epoch, assignment = self.world.told(call)
            if assignment is not None:
                assignment.pop("?", None)
                self.wanted = assignment

    def leave_for_good(self) -> None:
        self.world.beat(self.member_id, -1, instance_id=self.instance_id)
        self.epoch, self.owned, self.wanted = 0, {}, None

    def leave(self) -> None:
        epoch = -2 if self.instance_id is not None and self.dice.random() < 0.7 else -1
        self.world.beat(self.member_id, epoch, instance_id=self.instance_id)
        self.epoch, self.owned, self.wanted = 0, {}, None


def from_log(world: ConsumerWorld) -> ConsumerGroup | None:
    """Return the group that a start would find in the log."""
    newest: dict[bytes, tuple[bytes, int]] = {}
    for offset, (key, value) in enumerate(world.log.raw(0)):
        if key[:2] not in {b"\0\1", b"\0\2"}:
            newest.pop(key, None)
            if value is not None:
                newest[key] = (value, offset)
    groups, damaged = stored_groups(newest)
    assert damaged == []
    return restored(groups[0], ConsumerWorld().core.partition(0), 0) if groups else None


def assert_is_the_log(world: ConsumerWorld) -> None:
    live, found = world.core.consumer_group_ids.get("g"), from_log(world)
    assert (live is None) == (found is None)
    if live is None or found is None:
        return
    assert (found.epoch, found.assignment_epoch, found.metadata_hash) == (
        live.epoch,
        live.assignment_epoch,
        live.metadata_hash,
    )
    assert found.members == live.members
    assert found.targets == live.targets
    assert found.regexes == live.regexes
    assert found.holders == live.holders


def steps(world: ConsumerWorld, clients: list[Client], dice: random.Random) -> Iterator[str]:
    for _ in range(STEPS):
        client = dice.choice(clients)
        step = dice.choices(("beat", "subscribe", "leave", "time", "topic", "fail", "crash"), (60, 6, 4, 10, 5, 5, 2))[
            0
        ]
        if step == "beat":
            client.beat()
        elif step == "subscribe":
            regex = dice.choice((None, None, "a.*", "t.*"))
            client.subscribe(dice.sample(TOPICS, dice.randint(0, 3)), regex)
        elif step == "leave":
            client.leave()
        elif step == "time":
            world.advance(dice.choice(("1s", "11s", "20s")))
        elif step == "topic":
            change_topic(world, dice)
        elif step == "fail":
            world.failing_with = dice.choice((ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS))
            client.beat()
            client.subscribe(dice.sample(TOPICS, 1), None)
            world.failing_with = None
        else:
            world.crash_and_recover()
        yield step


def change_topic(world: ConsumerWorld, dice: random.Random) -> None:
    name = dice.choice(TOPICS)
    topic = world.topics_image.by_name(name)
    if topic is None:
        world.topics_image.create(name, dice.randint(1, 4))
    elif dice.random() < 0.3:
        world.topics_image.delete(name)
    else:
        world.topics_image.extend(name, topic.partitions + dice.randint(1, 3))


@pytest.mark.parametrize("seed", range(40))
def test_random_group_is_its_log_and_settles(seed: int) -> None:
    dice = random.Random(seed)
    world = ConsumerWorld({"t1": 3, "t2": 2, "a1": 1})
    clients = [
        Client(world, f"m{number}", f"i{number}" if number < 2 else None, random.Random(seed + number))
        for number in range(dice.randint(1, 6))
    ]
    for number, step in enumerate(steps(world, clients, dice)):
        assert_is_the_log(world)
        if number % 10 == 0:
            assert_rows_are_the_log(world)
        assert step
    world.advance("11s")
    for _ in range(12):
        for client in clients:
            client.beat(is_prompt=True)
        world.advance("1s")
    group = world.consumer_group()
    assert group.state.value == "Stable", group
    assert_is_the_log(world)
    assigned = [
        (topic_id, partition)
        for member in group.members.values()
        for topic_id, partitions in member.assigned.items()
        for partition in partitions
    ]
    subscribed = [world.topics_image.by_name(name) for name in group.subscribed_names()]
    everything = [(each.topic_id, number) for each in subscribed if each for number in range(each.partitions)]
    assert sorted(assigned) == sorted(everything)
    world.new_records()
    for client in clients:
        client.beat(is_prompt=True)
    assert world.new_records() == "", "a heartbeat of a stable group wrote records"
