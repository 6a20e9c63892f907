"""Schedules: generated from a seed, said in words, written and read again."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.simulation import shared_faults
from coordinator.simulation.faults import TAKE
from coordinator.testing.transaction_stages import TransactionStage, stage_of
from coordinator.testing.verbs import api_of, error_of_name
from coordinator.torture.play import COPY_STEPS
from coordinator.torture.schedule import (
    FIRST,
    FIRST_OF_TRANSACTIONS,
    STEPS,
    Schedule,
    Step,
    read_schedule,
    schedules,
    write_schedule,
)
from coordinator.torture.take import SERVER_STEPS


def some(count: int, seed: int = 1, *, exactly_once: bool = False) -> list[Schedule]:
    return list(itertools.islice(schedules(seed, copies=2, exactly_once=exactly_once), count))


def test_a_seed_gives_the_same_schedules_again() -> None:
    assert some(100) == some(100)
    assert some(100, 2)[len(FIRST) :] != some(100)[len(FIRST) :]
    assert some(100, 2)[: len(FIRST)] == [Schedule(each.steps, 2, each.number) for each in some(100)[: len(FIRST)]]


def test_every_step_is_known_and_can_be_said_and_done() -> None:
    assert STEPS.keys() == SERVER_STEPS | COPY_STEPS | TAKE.keys() | shared_faults.TAKE.keys()
    for schedule in some(300) + some(300, exactly_once=True):
        assert 1 <= len(schedule.steps) <= 6
        for step in schedule.steps:
            assert step.text()
            if step.at:
                assert stage_of(step.at)
            if step.api:
                assert api_of(step.api) in ERROR_RESPONSES
            if step.error:
                assert error_of_name(step.error)


def test_faults_of_transactions_come_first_and_mix_with_those_of_groups() -> None:
    played = some(300, exactly_once=True)
    alone = len(FIRST_OF_TRANSACTIONS)
    assert tuple(each.steps for each in played[:alone]) == FIRST_OF_TRANSACTIONS
    assert tuple(each.steps for each in played[alone : alone + len(FIRST)]) == FIRST
    mixed = [{bool(step.at) for step in each.steps} for each in played[alone + len(FIRST) :]]
    assert {True, False} in mixed
    assert {(step.do, step.at) for steps in FIRST_OF_TRANSACTIONS for step in steps if step.do == "crash_at"} == {
        ("crash_at", each) for each in TransactionStage if not each.endswith("Abort")
    }
    assert not any(step.at for each in some(300) for step in each.steps), "an application without transactions"


def test_a_stage_in_words() -> None:
    assert Step("crash_at", copy=1, at="Markers", ms=300).text() == (
        "when a transaction of copy 1 is at Markers, the server crashes, and starts 300 ms later"
    )
    assert Step("fence_at", at="Records", times=3).text() == (
        "when a transaction of any copy is at Records (time 3), a rival takes its transactional id"
    )


def test_a_schedule_survives_its_file() -> None:
    for schedule in some(100):
        assert read_schedule(write_schedule(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "truncated"),
        ("{}", "missing required field `steps`"),
        ('{"steps": [{"do": 1}]}', "Expected `str`, got `int` - at `$.steps[0].do`"),
        ('{"steps": [{"verb": "kick"}]}', "unknown field `verb`"),
        ('{"steps": [{"do": "kik"}]}', "there is no step 'kik'; there are: rebalance, kick, expire"),
    ],
)
def test_a_file_that_is_no_schedule(text: str, sentence: str) -> None:
    with pytest.raises(msgspec.MsgspecError) as caught:
        read_schedule(text)
    assert sentence in str(caught.value)


def test_a_schedule_in_words() -> None:
    schedule = Schedule(
        (
            Step("fail_next", copy=2, api="JoinGroup", error="NOT_COORDINATOR", times=3),
            Step("rebalance", after_ms=200),
            Step("delay", api="SyncGroup", ms=1500),
        )
    )
    assert schedule.text().splitlines() == [
        "1. the next 3 JoinGroup requests of copy 2 are answered NOT_COORDINATOR",
        "2. 200 ms later: the group is forced to rebalance",
        "3. the next SyncGroup request of any copy is delayed by 1500 ms",
    ]
    assert schedule.without(0, 2).steps == schedule.steps[2:]
