"""Schedules in the process of a test, with real clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from confluent_kafka import Consumer, KafkaException
from hypothesis import given, settings

from coordinator.testing import Coordinator, CoordinatorTestingError
from coordinator.torture.schedule import Schedule, Step, read_schedule, write_schedule
from coordinator.torture.strategies import fault_schedules, play_schedule, single_faults
from coordinator.torture.take import SERVER_STEPS

CLIENTS = ("web-1", "web-2")


@contextmanager
def consumer(coordinator: Coordinator, client_id: str) -> Iterator[None]:
    """Consume the topic `orders` and commit, in a thread."""
    done = threading.Event()

    def consume() -> None:
        client = Consumer(
            {
                "bootstrap.servers": coordinator.bootstrap_servers,
                "group.id": "shop",
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 3000,
                "heartbeat.interval.ms": 100,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
            }
        )
        client.subscribe(["orders"])
        while not done.is_set():
            message = client.poll(0.05)
            if message is not None and message.error() is None:
                with suppress(KafkaException):  # a rebalance: another member reads it again
                    client.commit(asynchronous=False)
        client.close()

    thread = threading.Thread(target=consume)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def goes_on(schedule: Schedule) -> None:
    with Coordinator(topics={"orders": 2}) as coordinator:
        coordinator.produce("orders", ["1", "2"])
        with consumer(coordinator, CLIENTS[0]), consumer(coordinator, CLIENTS[1]):
            coordinator.wait_stable("shop", members=2, timeout=60)
            coordinator.wait_committed("shop", "orders", 2, timeout=60)
            play_schedule(schedule, coordinator, group="shop", clients=CLIENTS, patience=0.5)
            coordinator.produce("orders", ["3"], partition=0)
            coordinator.produce("orders", ["4"], partition=1)
            coordinator.wait_committed("shop", "orders", 4, timeout=60)


@pytest.mark.integration
@pytest.mark.parametrize(
    "schedule",
    [each for each in single_faults() if each.steps[0].do in {"rebalance", "kick", "crash"}],
    ids=Schedule.text,
)
def test_a_client_goes_on_after_each_fault(schedule: Schedule) -> None:
    goes_on(schedule)


@pytest.mark.integration
@settings(max_examples=4, derandomize=True, deadline=None, database=None)
@given(schedule=fault_schedules(clients=2, longest=3))
def test_a_client_goes_on_after_schedules_of_hypothesis(schedule: Schedule) -> None:
    goes_on(schedule)


@given(schedule=fault_schedules(clients=3, longest=5))
def test_schedules_of_the_strategy_are_complete(schedule: Schedule) -> None:
    assert 1 <= len(schedule.steps) <= 5
    assert all(step.do in SERVER_STEPS and 0 <= step.copy <= 3 for step in schedule.steps)
    assert read_schedule(write_schedule(schedule)) == schedule


def test_a_step_for_a_process_is_refused() -> None:
    with (
        Coordinator() as coordinator,
        pytest.raises(CoordinatorTestingError, match="kill_copy is a step for processes"),
    ):
        play_schedule(Schedule((Step("kill_copy", copy=1),)), coordinator, group="shop", clients=CLIENTS)


def test_a_fault_that_was_not_met_is_taken_back() -> None:
    with Coordinator() as coordinator:
        schedule = Schedule((Step("fail_next", api="Heartbeat", error="NOT_COORDINATOR"),))
        play_schedule(schedule, coordinator, group="shop", clients=CLIENTS, patience=0.01)
        assert coordinator.faults == []
