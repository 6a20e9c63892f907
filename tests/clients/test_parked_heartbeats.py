"""Parked heartbeats with real clients: a member hears of a rebalance when it begins, not at its next heartbeat."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.conftest import Crew
from tests.support.daemon import Daemon
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

RELEASED = 'coordinator_parked_heartbeats_released_total{reason="%s"}'
HELD = 'coordinator_held_syncs_released_total{reason="%s"}'
PARKED = 'kafka_server_delayed_operation_purgatory_num_delayed_operations{delayed_operation="ParkedHeartbeat"}'
HEARTBEATS = 'kafka_server_requests_total{api="HEARTBEAT"}'
SLOW: dict[str, Any] = {"heartbeat_ms": 3_000, "session_timeout_ms": 30_000, "rebalance_timeout_ms": 60_000}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that parks heartbeats for long, so that one is parked almost all the time; aiokafka's by client id."""
    overrides = (
        "group.initial.rebalance.delay.ms=0",
        "group.heartbeat.park.ms=9000",
        "group.heartbeat.park.client.ids=parked-*",
    )
    with Daemon(tmp_path_factory.mktemp("daemon"), overrides=overrides, http="127.0.0.1:0") as running:
        yield running


class Figures:
    """The metrics of a daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._port = re.findall(r"http listen=127.0.0.1:(\d+)", daemon.log_text())[-1]

    def __getitem__(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics") as answer:
            found = re.search(f"^{re.escape(name)} (.*)$", answer.read().decode(), re.MULTILINE)
        return float(found[1]) if found is not None else 0.0


@pytest.fixture
def figures(daemon: Daemon) -> Figures:
    return Figures(daemon)


def await_parked(figures: Figures, members: int) -> None:
    """Wait until a heartbeat has just been parked, and those of all members are."""
    heartbeats = figures[HEARTBEATS]
    eventually(lambda: figures[HEARTBEATS] > heartbeats and figures[PARKED] == members, "heartbeats are parked")


def test_a_member_hears_of_a_join_and_a_leave_when_they_happen(crew: Crew, figures: Figures, library: str) -> None:
    crew.topic(4)
    first = crew.join(library, "parked-a", **SLOW)
    crew.settles(first)
    await_parked(figures, 1)
    released = figures[RELEASED % "rebalance"]
    second = crew.join(library, "parked-b", **SLOW)
    assert sorted(map(len, crew.settles(first, second).values())) == [2, 2]
    assert figures[RELEASED % "rebalance"] == released + 1, "the join released the heartbeat of the first"

    await_parked(figures, 2)
    crew.leave(second)
    assert len(crew.settles(first)["parked-a"]) == 4
    assert figures[RELEASED % "rebalance"] == released + 2
    crew.leave(first)


def test_a_member_reads_and_commits_while_its_heartbeat_is_parked(crew: Crew, figures: Figures, library: str) -> None:
    topic = crew.topic(2)
    member = crew.join(library, "parked-a", **SLOW)
    crew.settles(member)
    await_parked(figures, 1)
    over = figures[RELEASED % "time_over"]
    crew.produce(topic, {0: [b"a"], 1: [b"b"]})
    eventually(lambda: sorted(member.values()) == [b"a", b"b"], "the records are read")
    member.commit({(topic, 0): 1})
    assert member.committed((topic, 0)) == 1
    assert figures[RELEASED % "time_over"] == over, "neither waited for the heartbeat"
    crew.leave(member)


@pytest.mark.parametrize("library", ["confluent-kafka", "kafka-python"])
def test_a_newcomer_of_a_cooperative_group_hears_of_the_second_round_at_once(
    crew: Crew, figures: Figures, library: str
) -> None:
    topic = crew.topic(4)
    first = crew.join(library, "parked-a", assignor="cooperative-sticky", **SLOW)
    crew.settles(first)
    await_parked(figures, 1)
    held = figures[HELD % "rebalance"]
    for _ in range(5):  # a SyncGroup that comes after the owner's JoinGroup is refused at once, and need not wait
        second = crew.join(library, "parked-b", assignor="cooperative-sticky", **SLOW)
        assert sorted(map(len, crew.settles(first, second).values())) == [2, 2]
        if figures[HELD % "rebalance"] > held:
            break
        crew.leave(second)
        crew.settles(first)
    else:
        pytest.fail("no SyncGroup of a first round waited for the second round")
    crew.produce(topic, {index: [b"%d" % index] for index in range(4)})
    eventually(lambda: len(first.received) + len(second.received) >= 4, "everything is read")
    crew.leave(second)
    crew.leave(first)


def test_a_client_that_is_not_on_the_list_is_answered_at_once(crew: Crew, figures: Figures) -> None:
    crew.topic(2)
    member = crew.join("aiokafka", "another")
    crew.settles(member)
    heartbeats = figures[HEARTBEATS]

    def has_sent_more() -> bool:
        assert figures[PARKED] == 0
        return figures[HEARTBEATS] > heartbeats + 3

    eventually(has_sent_more, "it goes on with heartbeats")
