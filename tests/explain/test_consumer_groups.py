"""Verdicts about KIP-848 groups: who keeps partitions, who is evicted, who is away, and who keeps a migration open."""

from __future__ import annotations

import random

import pytest

from coordinator.cli.groups.explain import page
from coordinator.config.config import Config
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding
from protocol.error_codes import ErrorCode
from tests.core.consumer_group.test_migration import classic_group, settled
from tests.explain.consumer_play import ConsumerPlay
from tests.support.consumer_world import ConsumerWorld


def test_a_member_that_does_not_give_up_partitions_is_named_with_them() -> None:
    play = ConsumerPlay()
    (slow,) = play.join("slow-1")
    slow.is_busy = True
    play.join("web-1")
    play.wait(12)
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_REVOCATION
    assert verdict.sentence == (
        "Waiting 12 s for slow-1 (pod-slow-1, librdkafka 2.16) to give up 3 partitions (orders 3-5), at most 4 m 48 s "
        "more; 1 member waits for them"
    )
    assert verdict.culprit.client_id == "slow-1" and verdict.at_most_ms == 288_000
    assert "does not poll" in verdict.advice


def test_it_is_waited_for_through_further_rebalances_and_falls_behind() -> None:
    play = ConsumerPlay()
    (slow,) = play.join("slow-1")
    slow.is_busy = True
    for number in range(3):
        play.wait(4)
        play.join(f"web-{number}")
    play.wait(4)
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_REVOCATION
    assert verdict.sentence.startswith("Waiting 12 s for slow-1")
    assert verdict.sentence.endswith("; it is at epoch 2, the group at 5")


def test_a_dead_member_among_those_that_have_to_give_up_is_named_as_dead() -> None:
    play = ConsumerPlay()
    (dead,) = play.join("dead-1")
    dead.is_busy = True
    play.join("web-1")
    dead.is_silent = True
    play.wait(30)
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_REVOCATION
    assert "; it has been silent for 30 s, and its session ends in 15 s" in verdict.sentence
    assert "sends no heartbeats" in verdict.advice


def test_a_member_that_hears_nothing_of_its_new_assignment_is_named() -> None:
    play = ConsumerPlay()
    (dead,) = play.join("dead-1")
    dead.is_silent = True
    play.join("web-1")
    play.wait(20)
    verdict = play.verdict()
    assert verdict.code is Finding.SILENT_MEMBER and verdict.culprit.client_id == "dead-1"
    assert verdict.sentence == (
        "Waiting 20 s for dead-1 (pod-dead-1, librdkafka 2.16), which has not taken up its new assignment; it has been "
        "silent for 20 s, and its session ends in 25 s"
    )


def test_a_rebalance_without_a_culprit_tells_how_far_it_is() -> None:
    play = ConsumerPlay()
    play.join("web-1")
    play.world.beat("B", 0, topics=["orders"], client_id="web-2")
    play.world.advance("1s")
    verdict = play.verdict()
    assert verdict.code is Finding.REBALANCING
    assert verdict.sentence == (
        "Rebalancing for 1 s because a new member joined (web-2 (127.0.0.1)); 0 of 2 members have all partitions of "
        "epoch 3"
    )


def test_a_member_that_is_removed_for_not_giving_up_is_named_once_and_in_a_loop() -> None:
    play = ConsumerPlay(topics={"orders": 60})
    (slow,) = play.join("slow-1", rebalance_timeout_ms=20_000)
    slow.is_busy = True
    play.join("web-1")
    play.wait(21)
    slow.is_busy = False
    play.settle()
    verdict = play.verdict()
    assert verdict.code is Finding.NOT_REVOKED
    assert verdict.sentence == (
        "slow-1 (pod-slow-1, librdkafka 2.16) was removed once at 22:13, because it did not give up its partitions "
        "within its rebalance timeout of 20 s, and has come back"
    )
    for number in range(2, 4):
        slow.is_busy = True
        play.join(f"web-{number}")
        play.wait(21)
        slow.is_busy = False
        play.settle()
    verdict = play.verdict()
    assert verdict.code is Finding.REVOCATION_LOOP and verdict.culprit.client_id == "slow-1"
    assert verdict.sentence.startswith("slow-1 (pod-slow-1, librdkafka 2.16) was removed 3 times since 22:13, because")
    assert Finding.POLL_INTERVAL not in play.codes()


def test_a_member_whose_session_ends_although_it_lives_is_named_with_the_setting_of_the_coordinator() -> None:
    play = ConsumerPlay()
    frozen, _ = play.join("web-1", "web-2")
    for _ in range(2):
        frozen.is_silent = True
        play.wait(50)
        frozen.is_silent = False
        play.settle()
    verdict = play.verdict()
    assert verdict.code is Finding.SESSION_TOO_SHORT and verdict.culprit.client_id == "web-1"
    assert "its session timeout of 45 s is shorter than its gaps, up to 50 s" in verdict.sentence
    assert verdict.advice.startswith("Raise group.consumer.session.timeout.ms of the coordinator above 50 s")


def test_a_crash_loop_and_a_restart_loop_are_told_apart() -> None:
    play = ConsumerPlay()
    (crashing, _) = play.join("web-1", "web-2")
    for _ in range(3):
        crashing.is_silent = True
        play.wait(46)
        crashing.is_silent = False
        play.start(crashing)
        play.wait(5)
    assert play.verdict().code is Finding.CRASH_LOOP
    play = ConsumerPlay()
    (restarting, _) = play.join("web-1", "web-2")
    for _ in range(4):
        play.stop(restarting)
        play.wait(5)
        play.start(restarting)
        play.wait(5)
    assert play.verdict().code in {Finding.RESTART_LOOP, Finding.POLL_INTERVAL}
    assert play.verdict().culprit.client_id == "web-1"


def test_a_program_that_subscribes_again_and_again_is_named() -> None:
    play = ConsumerPlay(topics={"orders": 6, "refunds": 2})
    (web,) = play.join("web-1")
    for number in range(4):
        play.world.beat(
            web.member_id, web.epoch, topics=["orders", "refunds"][: 1 + number % 2][::-1], client_id="web-1"
        )
        play.wait(3)
    assert Finding.SUBSCRIPTION_FLAPPING in play.codes()


def test_more_members_than_partitions() -> None:
    play = ConsumerPlay(topics={"orders": 1})
    play.join("web-1", "web-2")
    play.wait(18)
    verdict = play.verdict()
    assert verdict.code is Finding.IDLE_MEMBERS
    assert verdict.sentence.startswith(
        "Stable for 18 s, but 1 of 2 members has nothing to do: there is only 1 partition"
    )


def test_names_and_patterns_that_match_nothing() -> None:
    play = ConsumerPlay()
    play.join("web-1", topics=["ordrs"])
    play.wait(10)
    verdict = play.verdict()
    assert verdict.code is Finding.NO_TOPICS and verdict.culprit.client_id == "web-1"
    assert verdict.sentence == "Stable for 10 s, but there is nothing to read: no topic matches ordrs"
    play.world.topics_image.create("ordrs", 1)
    play.wait(10)
    assert play.verdict().code is Finding.HEALTHY
    play.join("rex-1", topics=[], subscribed_topic_regex="x.*")
    play.wait(15)
    assert play.verdict().sentence.endswith("but a part of its subscriptions has nothing to read: no topic matches x.*")


def test_a_stable_group_is_healthy() -> None:
    play = ConsumerPlay()
    play.join("web-1", "web-2", "web-3")
    play.wait(30)
    (verdict,) = explain(play.story())
    assert (verdict.code, verdict.sentence) == (Finding.HEALTHY, "Healthy for 30 s: 3 members, 6 partitions")


def test_a_slow_rebalance_is_told_of_when_it_is_over() -> None:
    play = ConsumerPlay()
    (slow,) = play.join("slow-1")
    slow.is_busy = True
    play.join("web-1")
    play.wait(9)
    slow.is_busy = False
    slow.owned = {"orders": [0, 1, 2]}
    play.settle()
    verdict = play.verdict()
    assert verdict.code is Finding.PAST_SLOW_REVOCATION
    assert verdict.sentence == (
        "Stable for 0 ms; the rebalance at 22:13 took 9 s, because slow-1 (pod-slow-1, librdkafka 2.16) took 9 s to "
        "give up its partitions"
    )
    lines = page(play.story(), 5).split("\n")
    assert "LATE-MEMBER" in lines[3] and "LAST-TO-JOIN" not in lines[3]
    assert "slow-1 (+9 s)" in lines[5] and "3 of 6" in lines[5]


def test_a_static_member_that_has_closed_is_named_until_it_is_back() -> None:
    play = ConsumerPlay()
    (static,) = play.join("db-1", instance_id="db-1")
    play.join("web-1")
    play.world.beat(static.member_id, -2, instance_id="db-1", client_id="db-1")
    play.on_stage.remove(static)
    play.wait(12)
    verdict = play.verdict()
    assert verdict.code is Finding.STATIC_AWAY and verdict.at_most_ms == 33_000
    assert verdict.sentence == (
        "db-1 (pod-db-1, librdkafka 2.16) closed 12 s ago and may come back, because it has a group.instance.id; its 3 "
        "partitions stand still, at most 33 s more"
    )
    assert play.codes() == [Finding.STATIC_AWAY]
    play.start(static)
    play.wait(6)
    assert play.verdict().code is Finding.HEALTHY


def test_a_second_process_with_an_instance_id_is_named() -> None:
    play = ConsumerPlay()
    play.join("db-1", instance_id="db")
    play.join("db-2", instance_id="db")
    verdict = play.verdict()
    assert verdict.code is Finding.SHARED_INSTANCE_ID
    assert verdict.sentence.endswith("its group.instance.id is held by db-1 on pod-db-1, which has not left")


def test_a_client_that_is_refused_is_named_with_the_reason() -> None:
    play = ConsumerPlay()
    play.join("web-1")
    play.join("web-2", server_assignor="mine")
    assert play.verdict().code is Finding.JOIN_REFUSED
    assert play.verdict().sentence == (
        "The group is stable; web-2 (pod-web-2, librdkafka 2.16) cannot join it with the consumer protocol: there is "
        "no assignor mine here"
    )


def test_late_commits_are_told_of() -> None:
    play = ConsumerPlay()
    web, _ = play.join("web-1", "web-2")
    play.world.commit("g", {("orders", 0): 1, ("orders", 5): 1}, member_id=web.member_id, generation=web.epoch - 1)
    assert play.verdict().code is Finding.STALE_COMMITS
    assert "STALE_MEMBER_EPOCH" in play.verdict().sentence


def test_the_members_that_keep_a_migration_open_are_named() -> None:
    world, one, _ = settled()
    world.advance("1s")
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None
    verdict = explain(story)[0]
    assert verdict.code is Finding.MIGRATION and verdict.culprit.member_id == one.member_id
    assert verdict.sentence.startswith(
        "Stable for 1 s; 2 of 3 members still use the classic protocol: client (127.0.0.1)"
    )


def test_a_classic_member_that_blocks_a_migration_is_named_as_one() -> None:
    world, one, two = settled()
    world.beat("B", 0, topics=["t"])
    for _ in range(12):
        world.advance("1s")
        one.heartbeat()
        two.heartbeat()
        for name in ("A", "B"):
            world.beat(name, world.consumer_group().members[name].epoch, owned=world.assigned(name))
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None and story.state is not None
    verdict = explain(story)[0]
    assert verdict.code is Finding.SLOW_JOINER and verdict.culprit.member_id in {one.member_id, two.member_id}
    assert verdict.sentence == (
        "Waiting 12 s for client (127.0.0.1) and 1 more to rejoin, at most 49 s more; it uses the classic protocol"
    )
    assert "does not poll" in verdict.advice


def test_a_refused_upgrade_and_the_way_back_are_told_of() -> None:
    world = ConsumerWorld({"t": 4}, config=Config(group_consumer_migration_policy="disabled"))
    classic_group(world, ({"t": [0, 1, 2, 3]},))
    assert world.beat("A", 0, topics=["t"], client_id="new-1").error is ErrorCode.GROUP_ID_NOT_FOUND
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None
    assert explain(story)[0].code is Finding.JOIN_REFUSED
    assert explain(story)[0].sentence == (
        "The group is stable; new-1 (127.0.0.1) cannot join it with the consumer protocol: Cannot upgrade the classic "
        "group g to consumer group: the online upgrade is disabled"
    )
    world, one, two = settled()
    world.beat("A", -1)
    for member in (one, two):
        member.join()
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None
    assert Finding.MIGRATION in {verdict.code for verdict in explain(story)}


@pytest.mark.parametrize("seed", range(8))
def test_there_is_always_a_verdict(seed: int) -> None:
    chance = random.Random(seed)
    play = ConsumerPlay(Config(group_consumer_max_size=4))
    clients = play.join("web-1", "web-2", rebalance_timeout_ms=20_000) + play.join("db-1", instance_id="db")
    for _ in range(60):
        client = chance.choice(clients)
        deed = chance.randrange(7)
        if deed == 0 and client in play.on_stage:
            play.stop(client)
        elif deed == 1:
            play.start(client)
        elif deed == 2:
            client.is_busy = not client.is_busy
        elif deed == 3:
            client.is_silent = not client.is_silent
        elif deed == 4:
            play.world.topics_image.extend("orders", chance.randrange(1, 9))
        elif deed == 5:
            play.world.beat("db-x", 0, topics=["orders", "none"], instance_id=chance.choice([None, "db"]))
        play.wait(chance.choice([0, 1, 6, 30]))
        story = play.story()
        for verdict in explain(story):
            assert verdict.sentence and "  " not in verdict.sentence and "None" not in verdict.sentence
            assert all(0 <= position <= len(story.events) for position in verdict.evidence)
        assert page(story, 3).startswith(explain(story)[0].sentence)
