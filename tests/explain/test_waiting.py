"""Rules about this moment: who a rebalance waits for, how long at most, and who has fallen silent."""

from __future__ import annotations

from coordinator.config.config import Config
from coordinator.explain.verdict import Finding
from tests.explain.play import Play, protocols


def test_a_slow_joiner_is_named_while_it_is_waited_for(play: Play) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    web.join(protocols=protocols("orders", "refunds"))  # it waits, because slow-1 does not rejoin
    play.wait("38s", slow)
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_JOINER
    assert verdict.sentence == "Waiting 38 s for slow-1 (pod-slow-1, librdkafka 2.16), at most 4 m 22 s more"
    assert verdict.culprit.client_id == "slow-1" and verdict.at_most_ms == 262_000
    assert "does not poll" in verdict.advice


def test_a_silent_one_among_those_waited_for_is_named_with_the_end_of_its_session(play: Play) -> None:
    dead, slow, web = play.clients("dead-1", "slow-1", "web-2", session_timeout="45s", rebalance_timeout="5m")
    web.join(protocols=(*web.protocols, ("roundrobin", web.protocols[0][1])))
    play.wait("36s", slow)
    verdict = play.verdict()
    assert verdict.code is Finding.SILENT_MEMBER
    assert verdict.culprit.client_id == dead.client_id
    assert verdict.sentence == (
        "Waiting 36 s for dead-1 (pod-dead-1, librdkafka 2.16) and 1 more, at most 4 m 24 s more; "
        "it has been silent for 36 s, and its session ends in 9 s"
    )


def test_a_slow_leader_is_named(play: Play) -> None:
    first, second = play.clients("web-1", "web-2")
    first.join()
    second.join()
    second.sync()
    play.wait("12s", first)
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_LEADER and verdict.culprit.client_id == "web-1"
    assert verdict.sentence == (
        "Waiting 12 s for the assignments of the leader, web-1 (pod-web-1, librdkafka 2.16), at most 48 s more"
    )


def test_a_disk_that_takes_no_assignments_is_named_and_no_client(play: Play) -> None:
    first, second = play.clients("web-1", "web-2")
    with play.cluster.log_held():
        first.join()
        second.join()
        first.sync()
        second.sync()
        play.wait("3s")
        verdict = play.verdict()
        assert verdict.code is Finding.DISK and not verdict.culprit.is_known
        assert verdict.sentence.startswith("Waiting 3 s for the coordinator's own disk")
        play.cluster.fail_appends()
    verdict = play.verdict()
    assert verdict.code is Finding.DISK
    assert verdict.sentence.startswith(
        "The coordinator could not write the group's assignments to its disk, last at 22:13"
    )
    play.rebalance([first, second])
    play.wait("1m", first, second)
    assert play.codes() == [Finding.HEALTHY], "it could, later"


def test_a_member_without_heartbeats_is_not_called_alive(play: Play) -> None:
    first, second = play.clients("web-1", "web-2", session_timeout="45s", rebalance_timeout="5m")
    first.join()
    play.wait("17s")
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_JOINER and verdict.culprit.client_id == "web-2"
    assert verdict.sentence.endswith("; it was last heard 17 s ago")
    assert verdict.advice.startswith("If web-2 is dead, its session ends in 28 s")
    second.heartbeat()
    assert "is alive, because it sends heartbeats" in play.verdict().advice


def test_the_initial_delay_is_no_fault(play: Play) -> None:
    play.client("web-1").join()
    play.wait("1s")
    verdict = play.verdict()
    assert verdict.code is Finding.INITIAL_DELAY
    assert verdict.sentence == (
        "Starting: 1 member joined an empty group 1 s ago, which waits for more of them, at most 2 s more"
    )


def test_a_rebalance_of_a_few_seconds_is_no_fault(play: Play) -> None:
    first, second = play.clients("web-1", "web-2")
    play.wait("10m", first, second)
    play.client("web-3").join()
    play.wait("2s", first, second)
    verdict = play.verdict()
    assert verdict.code is Finding.REBALANCING and verdict.culprit.client_id == "web-3"
    assert verdict.sentence == (
        "Rebalancing for 2 s because a new member joined (web-3 (pod-web-3, librdkafka 2.16)); "
        "1 of 3 members have joined"
    )


def test_a_member_that_has_fallen_silent_is_named_before_its_session_ends(play: Play) -> None:
    first, dead = play.clients("web-1", "web-2", session_timeout="45s")
    play.wait("31s", first)
    verdict = play.verdict()
    assert verdict.code is Finding.SILENT_MEMBER and verdict.culprit.client_id == dead.client_id
    assert verdict.sentence == (
        "Stable, but web-2 (pod-web-2, librdkafka 2.16) has been silent for 31 s; its session ends in 14 s"
    )
    assert "Its 3 partitions stand still." in verdict.advice


def test_a_client_that_asked_for_an_id_and_vanished_is_named() -> None:
    play = Play(Config(group_initial_rebalance_delay_ms=0))
    (web,) = play.clients("web-1", session_timeout="30s")
    play.cluster.join(client_id="ghost")  # answered MEMBER_ID_REQUIRED
    web.join(protocols=(*web.protocols, ("roundrobin", b"")))
    play.wait("6s")
    verdict = play.verdict()
    assert verdict.code is Finding.SLOW_JOINER and verdict.culprit.client_id == "ghost"
    assert "asked for a member id" in verdict.advice
