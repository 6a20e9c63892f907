"""Rules about a group that waits for nothing now."""

from __future__ import annotations

from coordinator.explain.rules import RULES, explain
from coordinator.explain.verdict import Finding
from tests.explain.play import Play


def test_a_healthy_group(play: Play) -> None:
    members = play.clients("web-1", "web-2", "web-3")
    play.wait("192m", *members)
    (verdict,) = explain(play.story())
    assert verdict.code is Finding.HEALTHY and not verdict.culprit.is_known
    assert verdict.sentence == "Healthy for 3 h 12 m: 3 members, 6 partitions"


def test_more_members_than_partitions(play: Play) -> None:
    play.partitions = 2
    members = play.clients("web-1", "web-2", "web-3", "web-4")
    play.wait("10s", *members)
    verdict = play.verdict()
    assert verdict.code is Finding.IDLE_MEMBERS and verdict.culprit.client_id == "web-3"
    assert verdict.sentence == (
        "Stable for 10 s, but 2 of 4 members have nothing to do: there are only 2 partitions "
        "(web-3 (pod-web-3, librdkafka 2.16) and 1 more)"
    )


def test_a_member_that_is_lost(play: Play) -> None:
    web, _dead = play.clients("web-1", "web-7")
    play.wait("11s", web)
    play.rebalance([web])
    play.wait("1m", web)
    verdict = play.verdict()
    assert verdict.code is Finding.MEMBER_LOST and verdict.culprit.client_id == "web-7"
    assert verdict.sentence.startswith("Stable for 1 m without web-7 (pod-web-7, librdkafka 2.16), which fell silent")
    assert "session timeout of 10 s at 22:13 and has not come back" in verdict.sentence


def test_a_member_that_left_without_a_reason_is_named(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7")
    play.wait("10s", web, slow)
    slow.leave()
    play.rebalance([web])
    play.wait("5s", web)
    verdict = play.verdict()
    assert verdict.code is Finding.MEMBER_LOST and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "Stable for 5 s without web-7 (pod-web-7, librdkafka 2.16), which left at 22:13 and has not come back"
    )
    assert "max.poll.interval.ms (1 m)" in verdict.advice
    play.wait("10m", web)
    assert play.codes() == [Finding.HEALTHY]


def test_a_slow_joiner_is_named_afterwards(play: Play) -> None:
    first, slow = play.clients("web-1", "slow-1", rebalance_timeout="5m")
    first.join()
    play.wait("38s", slow)
    slow.join()
    play.sync([first, slow])
    play.wait("3m", first, slow)
    verdict = play.verdict()
    assert verdict.code is Finding.PAST_SLOW_JOINER and verdict.culprit.client_id == "slow-1"
    assert verdict.sentence == (
        "Stable for 3 m; the rebalance at 22:13 took 38 s, because slow-1 (pod-slow-1, librdkafka 2.16) was the last "
        "to rejoin, 38 s after the others"
    )


def test_a_member_that_did_not_rejoin_at_all_is_named_afterwards(play: Play) -> None:
    first, slow = play.clients("web-1", "slow-1")
    first.join()
    play.wait("60s", slow)
    play.sync([first])
    verdict = play.verdict()
    assert verdict.code is Finding.PAST_SLOW_JOINER and verdict.culprit.client_id == "slow-1"
    assert "did not rejoin within 1 m and was dropped" in verdict.sentence


def test_a_slow_leader_is_named_afterwards(play: Play) -> None:
    first, second = play.clients("web-1", "web-2")
    first.join()
    second.join()
    play.wait("9s", first, second)
    play.sync([first, second])
    verdict = play.verdict()
    assert verdict.code is Finding.PAST_SLOW_LEADER and verdict.culprit.client_id == "web-1"
    assert (
        "because its leader, web-1 (pod-web-1, librdkafka 2.16), took 9 s to send the assignments" in verdict.sentence
    )


def test_a_restart_of_the_coordinator(play: Play) -> None:
    first, second = play.clients("web-1", "web-2", session_timeout="45s")
    play.wait("20s", first, second)
    play.cluster.crash_and_recover()
    play.wait("12s", first)
    verdict = play.verdict()
    assert verdict.code is Finding.JUST_RESTARTED and verdict.culprit.client_id == "web-2"
    assert verdict.sentence == "Stable; the coordinator was restarted 12 s ago; 1 member not heard since"
    play.wait("2m", first, second)
    assert Finding.JUST_RESTARTED not in play.codes()


def test_an_empty_group_names_who_left_last(play: Play) -> None:
    (web,) = play.clients("web-1")
    web.leave("the consumer is being closed")
    play.wait("5m")
    verdict = play.verdict()
    assert verdict.code is Finding.EMPTY and verdict.culprit.client_id == "web-1"
    assert verdict.sentence == (
        "Empty for 5 m: the last member, web-1 (pod-web-1, librdkafka 2.16), left at 22:13 "
        '("the consumer is being closed")'
    )


def test_a_group_of_offsets_alone(play: Play) -> None:
    play.cluster.commit("g", {("orders", 0): 5})
    assert play.verdict().sentence == "Empty: it has never had members, only offsets"


def test_a_group_that_was_deleted(play: Play) -> None:
    (web,) = play.clients("web-1")
    web.leave()
    play.cluster.delete_groups("g")
    verdict = play.verdict()
    assert verdict.code is Finding.NO_SUCH_GROUP
    assert verdict.sentence == "There is no such group now; its last event was at 22:13"


def test_rules_stand_in_the_order_of_their_priority() -> None:
    assert [rule.priority for rule in RULES] == sorted(rule.priority for rule in RULES)
    assert len({rule.verdict for rule in RULES}) == len(RULES)
