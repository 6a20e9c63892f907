"""A ConsumerGroupHeartbeat by its template does exactly what a decoded one does, or the template declines."""

from __future__ import annotations

import random
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.consumer_group.groups import ConsumerGroupHeartbeat
from coordinator.core.consumer_group.heartbeat_template import ConsumerHeartbeatTemplate
from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Ticket
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.core.consumer_group.test_random_groups import Client, steps
from tests.support.call import Call
from tests.support.consumer_world import ConsumerWorld

LIBRDKAFKA = ClientSoftware("librdkafka", "2.16.0")
JAVA = ClientSoftware("apache-kafka-java", "4.4.0")
VERSION = 1


def ticket_of(call: Call, software: ClientSoftware = UNKNOWN_SOFTWARE, client_id: str = "client") -> Ticket:
    return Ticket(
        call,
        api_key=int(ApiKey.CONSUMER_GROUP_HEARTBEAT),
        version=VERSION,
        client_id=client_id,
        client_host="/127.0.0.1",
        client_software=software,
    )


def template_of(
    world: ConsumerWorld,
    member_id: str = "A",
    epoch: int = 2,
    *,
    software: ClientSoftware = UNKNOWN_SOFTWARE,
    client_id: str = "client",
    **fields: Any,
) -> ConsumerHeartbeatTemplate | None:
    fields = {"subscribed_topic_names": None, "topic_partitions": None, **fields}
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **fields)
    command = ConsumerGroupHeartbeat(request, needs_member_id=True)
    ticket = ticket_of(Call("consumer_heartbeat", VERSION), software, client_id)
    return world.core.consumer_heartbeat_template(command, ticket, world.clock.now_ms)


def alone(**options: Any) -> ConsumerWorld:
    world = ConsumerWorld({"t": 4}, **options)
    world.beat("A", 0, topics=["t"])
    world.beat("A", 2)
    return world


def given(world: ConsumerWorld, **options: Any) -> ConsumerHeartbeatTemplate:
    template = template_of(world, **options)
    assert template is not None
    return template


def renews(world: ConsumerWorld, template: ConsumerHeartbeatTemplate) -> bool:
    return template.renew(world.clock.now_ms)


def test_it_answers_as_a_decoded_heartbeat_is_answered() -> None:
    world = alone()
    assert given(world).response == world.beat("A", 2).answer


def test_there_is_none_while_the_interval_grows() -> None:
    world = alone()
    world.beat("B", 0, topics=["t"])
    world.beat("A", 2)
    told = world.beat("A", 2, owned={"t": [0, 1]}, software=LIBRDKAFKA, can_wait=True).answer
    assert told.heartbeat_interval_ms == 500
    while told.heartbeat_interval_ms < 5000:
        assert template_of(world, epoch=3, software=LIBRDKAFKA) is None
        told = world.beat("A", 3, software=LIBRDKAFKA).answer
    assert given(world, epoch=3, software=LIBRDKAFKA).may_wait


def test_it_renews_the_session() -> None:
    world = alone()
    template = given(world)
    for _ in range(4):
        world.advance("40s")
        assert renews(world, template)
    session = world.consumer_group().sessions["A"]
    assert session.heard_ms == world.clock.now_ms
    world.advance("44s")
    assert "A" in world.consumer_group().members
    world.advance("2s")
    assert "A" not in world.consumer_group().members
    assert not renews(world, template)


def test_a_heartbeat_that_changes_something_has_no_template() -> None:
    world = alone()
    assert template_of(world, epoch=1) is None
    assert template_of(world, "B") is None
    assert template_of(world, client_id="another") is None
    assert template_of(world, subscribed_topic_names=["t"]) is None
    assert template_of(world, rebalance_timeout_ms=1000) is None
    assert template_of(world, instance_id="i") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.beat("B", 0, topics=["t"]),
        lambda world: world.beat("A", 2, topics=["t", "u"]),
        lambda world: world.beat("A", 2, client_id="another"),
        lambda world: world.leave("g", "A"),
        lambda world: world.topics_image.extend("t", 6),
        lambda world: world.topics_image.create("u", 1),
        lambda world: world.group_configs.__setitem__("g", {"consumer.session.timeout.ms": 60_000}),
        lambda world: world.core.given_up(0, world.clock.now_ms),
        lambda world: world.shutdown(),
        lambda world: world.beat("A", 2, software=LIBRDKAFKA, can_wait=True),
    ],
    ids=[
        "newcomer",
        "subscription",
        "client id",
        "left",
        "partitions",
        "topic",
        "settings",
        "given up",
        "stop",
        "held",
    ],
)
def test_it_declines_after(change: Any) -> None:
    world = alone()
    template = given(world)
    assert renews(world, template)
    change(world)
    assert not renews(world, template)


def test_it_declines_while_records_are_not_durable() -> None:
    world = alone()
    world.beat("B", 0, topics=["t"])
    world.beat("A", 2, owned={"t": [0, 1]})
    world.beat("B", 3, owned={})
    template = given(world, epoch=3)
    with world.log_held():
        world.beat("A", 3, client_id="another")
        assert not renews(world, template)
        world.fail_appends()
    assert world.told(world.beat("A", 3))[0] == 3


def test_it_declines_where_the_timer_would_have_to_be_moved_earlier() -> None:
    world = alone()
    template = given(world)
    world.consumer_group().sessions["A"].start(100_000, world.core._context)
    timer = world.consumer_group().sessions["A"].timer
    assert timer is not None
    timer.fires_at_ms = world.clock.now_ms + 100_000
    assert not renews(world, template)


def test_one_whose_interval_differs_from_answer_to_answer_is_not_answered_at_once() -> None:
    world = alone()
    template = given(world, software=JAVA)
    assert not renews(world, template)
    assert template.may_wait


@pytest.mark.parametrize("software", [LIBRDKAFKA, JAVA])
def test_one_that_waits_hears_of_the_next_step(software: ClientSoftware) -> None:
    world = alone()
    template = given(world, software=software)
    call = Call("consumer_heartbeat", VERSION)
    held = world.core.park_heartbeat(template, ticket_of(call, software), world.clock.now_ms)
    assert held is not None
    assert call.is_parked
    assert world.consumer_group().held["A"] is held
    again = Call("consumer_heartbeat", VERSION)
    assert world.core.park_heartbeat(template, ticket_of(again, software), world.clock.now_ms) is None
    world.beat("B", 0, topics=["t"])
    assert world.told(call) == (2, {"t": [0, 1]})


def test_none_waits_where_that_is_off() -> None:
    world = alone(config=Config(group_heartbeat_park_ms=0))
    template = given(world, software=LIBRDKAFKA)
    assert not template.may_wait
    ticket = ticket_of(Call("consumer_heartbeat", VERSION), LIBRDKAFKA)
    assert world.core.park_heartbeat(template, ticket, world.clock.now_ms) is None


class ShadowedWorld(ConsumerWorld):
    """Keeps a template of each heartbeat that has one, and compares what it says with what a decoded one does."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.templates: dict[str, tuple[ConsumerHeartbeatTemplate, Any]] = {}
        self.renewed = self.declined = 0
        super().__init__(topics)

    def send(self, api: str, request: Any, version: int, **sender: Any) -> Call:
        call = super().send(api, request, version, **sender)
        if api == "consumer_heartbeat" and version == VERSION:
            request = codec.decode_request(
                int(ApiKey.CONSUMER_GROUP_HEARTBEAT), version, codec.encode_request(request, version), 0
            )
            command = ConsumerGroupHeartbeat(request, needs_member_id=True)
            template = self.core.consumer_heartbeat_template(command, ticket_of(call), self.clock.now_ms)
            if template is not None:
                self.templates[request.member_id] = template, request
        return call

    def crash_and_recover(self, *args: Any, **options: Any) -> Any:
        self.templates.clear()  # they are of connections to the process that has ended
        return super().crash_and_recover(*args, **options)

    def compare(self) -> None:
        for template, request in list(self.templates.values()):
            if not template.renew(self.clock.now_ms):
                self.declined += 1
                continue
            self.renewed += 1
            group = self.consumer_group()
            session = group.sessions[request.member_id]
            deadline_ms = session.deadline_ms
            self.new_records()
            call = super().send("consumer_heartbeat", request, VERSION)
            assert call.answer == template.response
            assert self.new_records() == ""
            assert session is group.sessions[request.member_id]
            assert session.deadline_ms == deadline_ms


def test_random_members_are_answered_alike() -> None:
    renewed = declined = 0
    for seed in range(30):
        dice = random.Random(seed)
        world = ShadowedWorld({"t1": 3, "t2": 2, "a1": 1})
        clients = [
            Client(world, f"m{number}", f"i{number}" if number < 2 else None, random.Random(seed + number))
            for number in range(dice.randint(1, 4))
        ]
        for _ in steps(world, clients, dice):
            world.compare()
            if dice.random() < 0.3:
                for client in clients:
                    client.beat(is_prompt=True)
                world.compare()
        renewed += world.renewed
        declined += world.declined
    assert renewed > 500, renewed
    assert declined > 500, declined


def test_an_answer_with_an_error_has_no_template() -> None:
    world = alone()
    assert world.beat("A", 9).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert template_of(world, epoch=9) is None
