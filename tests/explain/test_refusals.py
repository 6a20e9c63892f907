"""Rules about clients that are refused."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.explain.verdict import Finding
from tests.explain.play import Play, protocols


def test_two_processes_with_one_instance_id_are_both_named(play: Play) -> None:
    (one,) = play.clients("first", instance_id="shop-1")
    two = play.client("second", instance_id="shop-1")
    for turn in range(40):
        new = two if turn % 2 == 0 else one
        new.member_id = ""
        new.join()
        new.sync()
        play.wait("500ms")
    verdict = play.verdict()
    assert verdict.code is Finding.SHARED_INSTANCE_ID and verdict.culprit.client_id == "second"
    assert verdict.sentence == (
        "Two processes have the group.instance.id shop-1: first on pod-first (librdkafka 2.16) and second on "
        "pod-second (librdkafka 2.16), which replaced each other 40 times within 20 s"
    )


def test_requests_under_a_former_id_are_part_of_that_war(play: Play) -> None:
    """aiokafka sends heartbeats without its instance id, and joins again when one is refused."""
    (one,) = play.clients("first", instance_id="shop-1")
    two = play.client("second", instance_id="shop-1")
    for turn in range(20):
        new, old = (two, one) if turn % 2 == 0 else (one, two)
        new.member_id = ""
        new.join()
        new.sync()
        play.cluster.heartbeat("g", old.member_id, old.generation, **old.sender)
    assert play.codes() == [Finding.SHARED_INSTANCE_ID]


def test_one_replacement_whose_former_process_lives_on_is_enough(play: Play) -> None:
    (one,) = play.clients("first", instance_id="shop-1")
    two = play.client("second", instance_id="shop-1")
    two.join()
    two.sync()
    assert play.verdict().code is not Finding.SHARED_INSTANCE_ID  # a restart on another machine
    one.heartbeat()
    assert play.verdict().code is Finding.SHARED_INSTANCE_ID


def test_a_static_member_that_restarts_once_is_well(play: Play) -> None:
    (one,) = play.clients("first", instance_id="shop-1")
    play.wait("1h", one)
    one.member_id = ""
    one.join()
    one.sync()
    assert play.codes() == [Finding.HEALTHY]


def test_a_static_member_that_restarts_in_its_place_is_one_process(play: Play) -> None:
    (one,) = play.clients("shop", instance_id="shop-1")
    for _ in range(3):
        play.wait("2m", one)
        one.member_id = ""
        one.join()
        one.sync()
    verdict = play.verdict()
    assert verdict.code is Finding.RESTART_LOOP and verdict.culprit.client_id == "shop"
    assert verdict.sentence == (
        "shop-1 (pod-shop, librdkafka 2.16) was started again 3 times within 4 m; it keeps its partitions, because it "
        "has a group.instance.id"
    )


def test_disjoint_assignors(play: Play) -> None:
    play.clients("web-1", "web-2", protocols=protocols("orders", names=["cooperative-sticky"]))
    play.client("web-9", protocols=protocols("orders", names=["range", "roundrobin"])).join()
    verdict = play.verdict()
    assert verdict.code is Finding.ASSIGNORS_DISJOINT and verdict.culprit.client_id == "web-9"
    assert verdict.sentence == (
        "The group is stable; web-9 (pod-web-9, librdkafka 2.16) cannot join it: it offers range, roundrobin, "
        "the group uses cooperative-sticky"
    )


def test_a_full_group() -> None:
    play = Play(Config(group_max_size=2))
    play.clients("web-1", "web-2")
    for _ in range(3):
        play.client("web-3").join()
    verdict = play.verdict()
    assert verdict.code is Finding.GROUP_FULL and verdict.culprit.client_id == "web-3"
    assert verdict.sentence == (
        "Full: web-3 (pod-web-3, librdkafka 2.16) was refused 3 times since 22:13, because the group has its 2 members "
        "already (group.max.size)"
    )


def test_a_group_that_has_room_again_is_not_full() -> None:
    play = Play(Config(group_max_size=2))
    web, other = play.clients("web-1", "web-2")
    play.client("web-3").join()
    play.wait("1s", web, other)
    other.leave()
    play.rebalance([web])
    assert Finding.GROUP_FULL not in play.codes()


def test_a_client_that_was_refused_and_is_a_member_now_is_well(play: Play) -> None:
    web, other = play.clients("web-1", "web-2")
    mended = play.client("web-9", protocols=protocols("orders", names=["roundrobin"]))
    mended.join()
    play.wait("1s", web, other)
    mended.protocols = protocols("orders")
    play.rebalance([web, other, mended])
    assert play.codes() == [Finding.HEALTHY]


def test_commits_of_a_client_that_is_no_member(play: Play) -> None:
    play.clients("web-1")
    play.cluster.commit("g", {("orders", 1): 5}, generation=-1, **play.client("batch").sender)
    verdict = play.verdict()
    assert verdict.code is Finding.STALE_COMMITS and verdict.culprit.client_id == "batch"
    assert verdict.sentence == (
        "The group is stable; batch (pod-batch, librdkafka 2.16) commits without being a member: UNKNOWN_MEMBER_ID "
        "once, last at 22:13"
    )


def test_a_client_that_does_not_know_that_it_is_no_member(play: Play) -> None:
    play.clients("web-1")
    lost = play.client("web-7")
    for _ in range(6):
        play.cluster.heartbeat("g", "web-7-of-yesterday", 1, **lost.sender)
    verdict = play.verdict()
    assert verdict.code is Finding.UNKNOWN_MEMBER_LOOP and verdict.culprit.client_id == "web-7"
    assert "its HEARTBEAT was answered UNKNOWN_MEMBER_ID 6 times since 22:13" in verdict.sentence


def test_commits_after_a_revocation(play: Play) -> None:
    web, late = play.clients("web-1", "web-7")
    generation = late.generation
    play.rebalance([web, late])
    late.commit({("orders", 1): 5}, generation=generation)
    verdict = play.verdict()
    assert verdict.code is Finding.STALE_COMMITS and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "The group is stable; web-7 (pod-web-7, librdkafka 2.16) committed once after its partitions were given to "
        "others (ILLEGAL_GENERATION), last at 22:13: those records are read twice"
    )


@pytest.mark.parametrize("minutes", [11])
def test_refusals_are_forgotten_after_a_while(play: Play, minutes: int) -> None:
    web, late = play.clients("web-1", "web-7")
    late.commit({("orders", 1): 5}, generation=7)
    play.wait(f"{minutes}m", web, late)
    assert play.codes() == [Finding.HEALTHY]
