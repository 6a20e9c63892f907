"""Rules about clients that come and go, and the restarts that must not be taken for loops."""

from __future__ import annotations

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware
from coordinator.explain.verdict import Finding
from tests.explain.play import JAVA, Play, protocols
from tests.support.scripted_member import Member


def poll_loop(play: Play, slow: Member, web: Member, turns: int, reason: str | None = None) -> None:
    """Let a client exceed its poll interval of 8 s, and return after 14 s: a period of 22 s. It is away at the end."""
    for turn in range(turns):
        play.wait("8s", slow, web)
        slow.leave(reason)
        play.rebalance([web])
        play.wait("4s", web)
        if turn < turns - 1:
            play.wait("10s", web)
            play.returns(slow, [web])


def test_a_poll_interval_that_is_exceeded_is_concluded_from_the_cycle(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7", rebalance_timeout="8s")
    poll_loop(play, slow, web, 7)
    assert play.cluster.state() == "Stable"  # while the slow one is away, nothing else shows it
    verdict = play.verdict()
    assert verdict.code is Finding.POLL_INTERVAL and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "Rebalanced 13 times since 22:13, each time because web-7 (pod-web-7, librdkafka 2.16) left or came back; it "
        "left 7 times, 8 s after it got its partitions, every 22 s; looks like max.poll.interval.ms; it has been away "
        "for 4 s"
    )
    assert "(8 s now)" in verdict.advice
    assert len(verdict.evidence) == 7
    play.wait("10s", web)
    play.returns(slow, [web])
    assert play.verdict().code is Finding.POLL_INTERVAL and "away" not in play.verdict().sentence


def test_one_departure_with_javas_reason_is_enough(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7", rebalance_timeout="5m", software=JAVA)
    poll_loop(play, slow, web, 1, "consumer poll timeout has expired.")
    verdict = play.verdict()
    assert verdict.code is Finding.POLL_INTERVAL
    assert verdict.sentence == (
        "web-7 (pod-web-7, apache-kafka-java 4.4.0) left at 22:13 8 s after it got its partitions; "
        "it exceeded its max.poll.interval.ms; it has been away for 4 s"
    )


def test_one_departure_at_the_limit_is_enough_without_a_reason(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7", rebalance_timeout="8s")
    poll_loop(play, slow, web, 1)
    assert play.verdict().code is Finding.POLL_INTERVAL


def test_aiokafka_whose_rebalance_timeout_is_another_is_recognised_by_its_cycle(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7", rebalance_timeout="60s", software=UNKNOWN_SOFTWARE)
    poll_loop(play, slow, web, 3)
    assert play.verdict().code is Finding.POLL_INTERVAL


def test_a_slow_one_of_four_threads_with_one_client_id_is_a_loop_and_their_deploy_is_none(play: Play) -> None:
    threads = [play.client("app") for _ in range(4)]
    play.rebalance(threads)
    *rest, slow = threads
    for _ in range(3):
        play.wait("60s", slow, *rest)
        slow.leave()
        play.rebalance(rest)
        play.wait("5s", *rest)
        play.returns(slow, rest)
    assert play.verdict().code is Finding.POLL_INTERVAL
    assert play.verdict().culprit.client_id == "app"


def test_a_consumer_that_is_closed_in_good_order_has_not_exceeded_its_poll_interval(play: Play) -> None:
    web, other = play.clients("web-1", "web-7", rebalance_timeout="8s", software=JAVA)
    poll_loop(play, other, web, 1, "the consumer is being closed")
    assert play.codes() == [Finding.HEALTHY]


def test_a_crash_loop(play: Play) -> None:
    web, crashing = play.clients("web-1", "web-7")
    for _ in range(3):
        play.wait("3s", web, crashing)
        play.wait("11s", web)  # its session of 10 s ends
        play.rebalance([web])
        play.wait("2s", web)
        play.returns(crashing, [web])
    verdict = play.verdict()
    assert verdict.code is Finding.CRASH_LOOP and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "web-7 (pod-web-7, librdkafka 2.16) vanished 3 times since 22:13, 3 s after it got its partitions and without "
        "leaving; a new run of it joined each time, so this looks like a crash loop"
    )
    assert "session timeout of 10 s" in verdict.advice


def test_a_crash_loop_whose_next_run_comes_before_the_session_of_the_last_one_ends(play: Play) -> None:
    web, crashing = play.clients("web-1", "web-7", session_timeout="45s")
    for _ in range(3):
        play.wait("5s", web, crashing)
        crashing.member_id = ""  # killed, and started again at once
        web.join()
        crashing.join()
        play.cluster.advance("50s")  # the rebalance waits for the session of the last run
        play.sync([web, crashing])
    assert play.verdict().code is Finding.CRASH_LOOP
    assert play.verdict().culprit.client_id == "web-7"


def test_a_crash_loop_is_known_while_its_next_run_waits_for_the_session_of_the_last_one(play: Play) -> None:
    web, crashing = play.clients("web-1", "web-7", session_timeout="6s")
    for _ in range(2):
        play.wait("4s", web, crashing)
        crashing.member_id = ""
        crashing.join()
        web.join()
        play.cluster.advance("7s")
        play.sync([web, crashing])
    assert play.codes() == [Finding.CRASH_LOOP]


def test_a_session_timeout_that_is_shorter_than_the_gaps(play: Play) -> None:
    web, paused = play.clients("web-1", "web-7", session_timeout="6s")
    for _ in range(2):
        play.wait("9s", web)
        play.rebalance([web])
        paused.heartbeat()  # it lives
        play.returns(paused, [web])
        play.wait("30s", web, paused)
    verdict = play.verdict()
    assert verdict.code is Finding.SESSION_TOO_SHORT and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "web-7 (pod-web-7, librdkafka 2.16) was removed twice since 22:13 although it lived: "
        "its session timeout of 6 s is shorter than its gaps, up to 9 s"
    )


def test_a_crash_is_no_short_session_if_another_process_of_the_same_name_is_refused(play: Play) -> None:
    web, dead = play.clients("web-1", "web-7")
    play.wait("11s", web)
    play.rebalance([web])
    play.cluster.heartbeat("g", "web-7-of-another-run", 1, **dead.sender)
    assert play.verdict().code is Finding.MEMBER_LOST


def test_a_rolling_restart_is_none_of_these(play: Play) -> None:
    members = play.clients("web-1", "web-2", "web-3", "web-4")
    play.wait("1h", *members)
    for member in list(members):
        others = [each for each in members if each is not member]
        member.leave()
        play.rebalance(others)
        play.wait("4s", *others)
        member.software = ClientSoftware("librdkafka", "2.17")
        play.returns(member, others)
        play.wait("4s", *members)
    verdict = play.verdict()
    assert play.codes() == [Finding.ROLLING_DEPLOY]
    assert verdict.sentence.startswith(
        "Rolling restart since 23:13: replaced so far: 4 clients, each once, librdkafka 2.16 by librdkafka 2.17; "
        "8 rebalances took"
    )
    play.wait("5m", *members)
    assert play.codes() == [Finding.HEALTHY]


def roll(play: Play, members: list[Member], pause: str) -> None:
    """Replace one client after another, each away for 8 s."""
    for member in members:
        others = [each for each in members if each is not member]
        member.leave()
        play.rebalance(others)
        play.wait("8s", *others)
        play.returns(member, others)
        play.wait(pause, *members)


def test_deploys_a_few_hours_apart_are_no_loop(play: Play) -> None:
    members = play.clients("web-1", "web-2", "web-3", software=JAVA)
    for _ in range(3):
        play.wait("3h", *members)
        roll(play, members, "10s")
    play.wait("1h", *members)
    assert play.codes() == [Finding.HEALTHY]


def test_a_deploy_at_the_pace_of_the_poll_interval_is_none(play: Play) -> None:
    members = play.clients("web-1", "web-2", "web-3", rebalance_timeout="5m")
    play.wait("1h", *members)
    roll(play, members, "5m")
    assert Finding.POLL_INTERVAL not in play.codes()


def test_a_job_that_is_started_again_and_again(play: Play) -> None:
    web, job = play.clients("web-1", "job", rebalance_timeout="5m")
    for _ in range(4):
        play.wait("15s", web, job)
        job.leave()
        play.rebalance([web])
        play.wait("20s", web)
        play.returns(job, [web])
    verdict = play.verdict()
    assert verdict.code is Finding.RESTART_LOOP and verdict.culprit.client_id == "job"
    assert "every 35 s" in verdict.sentence


def test_a_subscription_that_changes_all_the_time(play: Play) -> None:
    web, flapping = play.clients("web-1", "web-7")
    for turn in range(4):
        flapping.protocols = protocols("orders", *(["refunds"] if turn % 2 == 0 else []))
        play.rebalance([flapping, web])
        play.wait("10s", web, flapping)
    verdict = play.verdict()
    assert verdict.code is Finding.SUBSCRIPTION_FLAPPING and verdict.culprit.client_id == "web-7"
    assert verdict.sentence == (
        "Rebalanced 4 times since 22:13 because web-7 (pod-web-7, librdkafka 2.16) "
        "rejoined with other topics or assignors"
    )


def test_second_rounds_of_cooperative_rebalances_are_no_flapping(play: Play) -> None:
    """The member rejoins with other partitions in its metadata, but for the same topics."""
    web, other = play.clients("web-1", "web-7", protocols=protocols("orders", names=["cooperative-sticky"]))
    for turn in range(4):
        other.protocols = protocols("orders", names=["cooperative-sticky"], user_data=bytes([turn]))
        play.rebalance([other, web])
        play.wait("10s", web, other)
    assert play.codes() == [Finding.HEALTHY]


def test_a_leader_that_rejoins_again_and_again(play: Play) -> None:
    web, other = play.clients("web-1", "web-7")
    for _ in range(3):
        play.rebalance([web, other])
        play.wait("10s", web, other)
    assert play.verdict().code is Finding.LEADER_REJOINS and play.verdict().culprit.client_id == "web-1"


def test_incidents_of_a_poll_loop_are_told_beside_it(play: Play) -> None:
    web, slow = play.clients("web-1", "web-7", rebalance_timeout="8s")
    poll_loop(play, slow, web, 2)
    slow.commit({("orders", 0): 7})
    assert play.codes() == [Finding.POLL_INTERVAL, Finding.STALE_COMMITS]
