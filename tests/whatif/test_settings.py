"""The settings of what-if runs: Kafka's names, their values, and what is refused."""

from __future__ import annotations

import pytest

from coordinator.whatif.settings import RECORDED, SettingError, parse_alternatives, parse_settings
from tests.whatif.groups import group_of


def test_settings_change_the_members_and_the_coordinator() -> None:
    settings = parse_settings(
        [
            "session.timeout.ms=30000",
            "heartbeat.interval.ms=1000",
            "max.poll.interval.ms=60000",
            "partition.assignment.strategy=cooperative-sticky",
            "group.initial.rebalance.delay.ms=0",
            "group.heartbeat.park.ms=5750",
            "group.protocol=classic",
        ]
    )
    group = settings.applied(group_of())
    member = group.members[2]
    assert (member.session_timeout_ms, member.heartbeat_interval_ms, member.rebalance_timeout_ms) == (
        30_000,
        1_000,
        60_000,
    )
    assert member.is_parked
    assert group.assignor == "cooperative-sticky"
    assert group.broker["group_initial_rebalance_delay_ms"] == 0


def test_static_gives_each_member_an_instance_id_of_its_own_and_takes_it() -> None:
    static = parse_settings(["static=true"]).applied(group_of())
    assert [member.instance_id for member in static.members] == ["m0", "m1", "m2"]
    assert {each.instance_id for each in parse_settings(["static=false"]).applied(static).members} == {None}


def test_alternatives_are_those_set_together_and_each_that_is_tried() -> None:
    found = parse_alternatives(["static=true", "session.timeout.ms=30000"], ["static=true", "group.protocol=classic"])
    assert [settings.name for settings in found] == [
        RECORDED,
        "static=true, session.timeout.ms=30000",
        "static=true",
        "group.protocol=classic",
    ]


@pytest.mark.parametrize(
    ("pair", "match"),
    [
        ("session.timeout=1", "choose of: group.heartbeat.park.ms, .*, session.timeout.ms, static"),
        ("session.timeout.ms", "has no value; write session.timeout.ms=VALUE"),
        ("session.timeout.ms=10s", "session.timeout.ms=10s: give a whole number of milliseconds"),
        ("session.timeout.ms=0", "above 0"),
        ("static=yes", "give true or false"),
        ("partition.assignment.strategy=best", "give one of range, roundrobin, sticky, cooperative-sticky"),
        ("group.protocol=consumer", "only the classic protocol is modelled"),
    ],
)
def test_an_error_says_what_to_write(pair: str, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        parse_settings([pair])


@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        (["session.timeout.ms=1000"], "outside of group.min.session.timeout.ms=6000"),
        (["group.max.session.timeout.ms=10000"], "session.timeout.ms=45000 is outside"),
        (["heartbeat.interval.ms=45000"], "not below session.timeout.ms=45000"),
    ],
)
def test_timeouts_that_exclude_each_other_are_refused(pairs: list[str], match: str) -> None:
    with pytest.raises(SettingError, match=match):
        parse_settings(pairs).applied(group_of())


def test_a_lower_limit_admits_a_shorter_timeout() -> None:
    pairs = ["session.timeout.ms=4000", "group.min.session.timeout.ms=1000"]
    assert parse_settings(pairs).applied(group_of()).members[0].session_timeout_ms == 4_000
