"""Random members of both protocols in one group, which is upgraded and downgraded as they come and go.

After each event the invariants are checked (no partition with two holders among them), and the log is the group. In the
end all members of the consumer protocol leave, and the classic group settles; then they come back, the group settles
again, and each client has what the coordinator says.
"""

from __future__ import annotations

import random

import pytest

from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from tests.core.consumer_group.test_random_groups import TOPICS, Client, assert_is_the_log, change_topic
from tests.support.call import Call
from tests.support.consumer_world import ConsumerWorld

STEPS = 150
REJOINS = {ErrorCode.REBALANCE_IN_PROGRESS}


class ClassicClient:
    """A consumer of the classic protocol: it rejoins when it is told to; an eager one gives up everything first."""

    def __init__(self, world: ConsumerWorld, number: int, dice: random.Random) -> None:
        self.world, self.dice = world, dice
        self.instance_id = f"k{number}" if number < 1 else None
        self.is_eager = dice.random() < 0.3
        self.topics = ["t1"]
        self.member_id = ""
        self.generation = -1
        self.owned: dict[str, list[int]] = {}
        self.waiting: Call | None = None  # a JoinGroup or SyncGroup without an answer
        self.node = world.core  # that it was sent to

    def step(self) -> None:
        """Send the next request, unless one waits for its answer."""
        if self.waiting is not None:
            call, self.waiting = self.waiting, None
            if call.is_parked and self.node is not self.world.core:  # it has crashed
                self.generation = -1
            else:
                self._hear(call)
        elif self.generation < 0:
            self._join()
        else:
            call = self.world.heartbeat("g", self.member_id, self.generation, instance_id=self.instance_id)
            if call.error in REJOINS:
                self._join()
            elif call.error is not ErrorCode.NONE:
                self._lose(call.error)

    def _join(self) -> None:
        if self.is_eager:
            self.owned = {}
        parts = [TopicPartitions(topic, some) for topic, some in self.owned.items()]
        metadata = encode_subscription(Subscription(topics=self.topics, owned_partitions=parts), 1)
        call = self.world.join(
            "g",
            self.member_id,
            instance_id=self.instance_id,
            protocols=(("range", metadata),),
            version=5 if self.instance_id is not None else 4,
        )
        self._hear(call)

    def _hear(self, call: Call) -> None:
        if call.is_parked:
            self.waiting, self.node = call, self.world.core
        elif call.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = call.answer.member_id
        elif call.error is not ErrorCode.NONE:
            self._lose(call.error)
        elif call.api == "join":
            self.member_id, self.generation = call.answer.member_id, call.answer.generation_id
            self._sync({each.member_id: decode_subscription(each.metadata).topics for each in call.answer.members})
        else:
            given = decode_assignment(call.answer.assignment).assigned_partitions
            self.owned = {each.topic: list(each.partitions) for each in given if each.partitions}

    def _sync(self, members: dict[str, list[str]]) -> None:
        shares: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in members}
        for name in sorted({topic for topics in members.values() for topic in topics}):
            topic = self.world.topics_image.by_name(name)
            readers = sorted(member_id for member_id, topics in members.items() if name in topics)
            for partition in range(topic.partitions if topic is not None else 0):
                shares[readers[partition % len(readers)]].setdefault(name, []).append(partition)
        assignments = {
            member_id: encode_assignment(
                Assignment(assigned_partitions=[TopicPartitions(topic, some) for topic, some in share.items()]), 1
            )
            for member_id, share in shares.items()
        }
        self._hear(
            self.world.sync("g", self.member_id, self.generation, assignments, instance_id=self.instance_id, version=4)
        )

    def _lose(self, error: ErrorCode) -> None:
        if error not in REJOINS:
            self.owned, self.generation = {}, -1
        if error in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}:
            self.member_id = ""
        elif error in REJOINS and self.generation >= 0 and self.waiting is None:
            self.generation = -1

    def leave(self) -> None:
        if self.member_id and self.waiting is None:
            self.world.leave("g", (self.member_id, None))
            self.member_id, self.generation, self.owned = "", -1, {}


def change_something(world: ConsumerWorld, client: Client | ClassicClient, dice: random.Random) -> None:
    step = dice.choices(("step", "subscribe", "leave", "time", "topic", "fail", "crash"), (70, 5, 8, 10, 4, 4, 2))[0]
    if step == "step":
        move(client, is_prompt=False)
    elif step == "subscribe":
        topics = dice.sample(TOPICS, dice.randint(1, 3))
        if isinstance(client, Client):
            client.subscribe(topics, None)
        else:
            client.topics = topics
    elif step == "leave":
        client.leave()
    elif step == "time":
        world.advance(dice.choice(("1s", "4s", "11s")))
    elif step == "topic":
        change_topic(world, dice)
    elif step == "fail":
        world.failing_with = dice.choice((ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS))
        move(client, is_prompt=False)
        client.leave()
        world.failing_with = None
    else:
        world.crash_and_recover()


def move(client: Client | ClassicClient, *, is_prompt: bool) -> None:
    if isinstance(client, Client):
        client.beat(is_prompt=is_prompt)
    else:
        client.step()


@pytest.mark.parametrize("seed", range(25))
def test_a_random_mixed_group_is_its_log_and_settles(seed: int) -> None:
    dice = random.Random(seed)
    world = ConsumerWorld({"t1": 3, "t2": 2, "a1": 1})
    last = Client(world, "m0", "i0" if seed % 2 else None, random.Random(seed))
    clients: list[Client | ClassicClient] = [last]
    clients += [
        Client(world, f"m{number}", None, random.Random(seed + number)) for number in range(1, dice.randint(1, 3))
    ]
    clients += [ClassicClient(world, number, dice) for number in range(dice.randint(1, 4))]
    for _ in range(STEPS):
        change_something(world, dice.choice(clients), dice)
        assert_is_the_log(world)
    for client in clients:
        if isinstance(client, Client):
            client.leave_for_good()
    for _ in range(60):  # the session of one that was lost in a failed append ends
        for client in clients:
            if isinstance(client, ClassicClient):
                client.step()
        world.advance("1s")
    assert world.state() == "Stable"
    assert not world.core.consumer_group_ids
    for _ in range(60):  # longer than a session: a static member whose departure was not written joins then
        for client in clients:
            move(client, is_prompt=True)
        world.advance("1s")
    group = world.consumer_group()
    assert group.state.value == "Stable", group
    assert_is_the_log(world)
    assert len(group.members) == len(clients)
    for client in clients:
        if isinstance(client, ClassicClient):
            assert world.assigned(client.member_id) == {topic: some for topic, some in client.owned.items() if some}
    assigned = sum(map(len, group.holders.values()))
    topics = [world.topics_image.by_name(name) for name in group.subscribed_names()]
    assert assigned == sum(topic.partitions for topic in topics if topic is not None)
    world.new_records()
    for client in clients:
        move(client, is_prompt=True)
    assert world.new_records() == "", "a stable group wrote records"
