"""Subscriptions and the checks of pushes (KIP-714). Error codes and ids are those of Apache Kafka 4.4.0."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.topics.client_metrics import Subscription, subscription_of
from coordinator.telemetry.instances import ClientFacts, ClientInstance, ClientInstances, uuid_text
from protocol.error_codes import ErrorCode
from protocol.messages.push_telemetry import PushTelemetryRequest

ID = b"0123456789abcdef"
CLIENT = ClientFacts("app", "apache-kafka-java", "4.4.0", "127.0.0.1", "50000")
INTERVAL_MS = 100_000
SUBSCRIPTIONS = (Subscription(("org.apache.kafka.x",), INTERVAL_MS, {}),)
OK = ErrorCode.NONE
THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Connection:
    is_closed = False


@pytest.fixture
def instance() -> ClientInstance:
    return ClientInstance(ID, CLIENT, Connection(), SUBSCRIPTIONS)


def pushed(instance: ClientInstance, now_ms: int, **changes: Any) -> ErrorCode:
    fields: dict[str, Any] = {"subscription_id": instance.subscription_id, "terminating": False, "compression_type": 0}
    request = PushTelemetryRequest(client_instance_id=ID, metrics=b"", **(fields | changes))
    return instance.check_push(request, 1000, now_ms)


def test_the_subscription_id_is_that_of_kafka(instance: ClientInstance) -> None:
    assert (instance.metrics, instance.interval_ms) == (["org.apache.kafka.x"], INTERVAL_MS)
    assert instance.subscription_id == -944394840  # as Kafka 4.4 answered for this id, prefix and interval
    assert uuid_text(ID) == "MDEyMzQ1Njc4OWFiY2RlZg"


def test_a_client_that_asks_again_within_its_interval_is_throttled(instance: ClientInstance) -> None:
    assert instance.check_get(0) is OK
    assert instance.check_get(INTERVAL_MS - 1) is THROTTLED
    assert instance.check_get(INTERVAL_MS) is OK


def test_the_first_push_after_a_get_may_come_early_and_the_next_one_may_not(instance: ClientInstance) -> None:
    assert instance.check_get(0) is OK
    assert pushed(instance, 10) is OK
    assert pushed(instance, 20) is THROTTLED
    assert pushed(instance, 10 + INTERVAL_MS) is OK
    assert instance.check_get(20 + INTERVAL_MS) is THROTTLED


def test_a_push_may_end_early_and_nothing_follows_it(instance: ClientInstance) -> None:
    assert instance.check_get(0) is OK
    assert pushed(instance, 10) is OK
    assert pushed(instance, 20, terminating=True) is OK
    assert pushed(instance, 30 + INTERVAL_MS) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"subscription_id": 5}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 9}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_after_a_refusal_that_asks_for_it_the_client_may_get_its_subscription_at_once(
    instance: ClientInstance, changes: dict[str, int], error: ErrorCode
) -> None:
    assert instance.check_get(0) is OK
    assert pushed(instance, 10, **changes) is error
    assert instance.check_get(20) is OK
    assert instance.check_get(30) is THROTTLED


def test_a_push_that_is_too_large_is_refused(instance: ClientInstance) -> None:
    assert instance.check_get(0) is OK
    request = PushTelemetryRequest(ID, instance.subscription_id, False, 0, b"x" * 1001)
    assert instance.check_push(request, 1000, 10) is ErrorCode.TELEMETRY_TOO_LARGE
    assert instance.check_get(20) is THROTTLED


@pytest.mark.parametrize(
    ("match", "is_for"),
    [
        ("", True),
        ("client_id=a.*", True),
        ("client_id=ap", False),  # an expression matches a value as a whole
        ("client_software_name=apache-kafka-java,client_software_version=4\\..*", True),
        ("client_software_name=apache-kafka-java,client_source_port=1", False),
        (f"client_instance_id={uuid_text(ID)},client_source_address=127.*", True),
    ],
)
def test_a_subscription_is_for_the_clients_that_match_all_its_expressions(match: str, is_for: bool) -> None:
    subscription = subscription_of({"metrics": "org.a,org.b", "match": match})
    found = ClientInstance(ID, CLIENT, Connection(), (subscription,))
    assert found.metrics == (["org.a", "org.b"] if is_for else [])


def test_subscriptions_are_merged_with_the_shortest_interval() -> None:
    subscriptions = (Subscription(("b", "a"), 5_000, {}), Subscription(("b", "c"), 3_000, {}))
    merged = ClientInstance(ID, CLIENT, Connection(), subscriptions)
    assert (merged.metrics, merged.interval_ms) == (["a", "b", "c"], 3_000)
    everything = ClientInstance(ID, CLIENT, Connection(), (*subscriptions, Subscription(("*",), 400_000, {})))
    assert everything.metrics == ["*"]
    assert ClientInstance(ID, CLIENT, Connection(), ()).interval_ms == 300_000


def test_an_instance_begins_anew_after_a_change_of_subscriptions() -> None:
    instances, connection = ClientInstances(9), Connection()
    first = instances.heard_of(ID, CLIENT, connection, SUBSCRIPTIONS, 0)
    assert instances.heard_of(ID, CLIENT, connection, SUBSCRIPTIONS, 1) is first
    other = (*SUBSCRIPTIONS, Subscription(("*",), 200_000, {}))
    second = instances.heard_of(ID, CLIENT, connection, other, 2)
    assert second is not first
    assert second.subscription_id != first.subscription_id


def test_an_instance_begins_anew_when_the_connection_that_began_it_is_closed() -> None:
    instances, first, second = ClientInstances(9), Connection(), Connection()
    known = instances.heard_of(ID, CLIENT, first, SUBSCRIPTIONS, 0)
    assert instances.heard_of(ID, CLIENT, second, SUBSCRIPTIONS, 1) is known
    first.is_closed = True
    assert instances.heard_of(ID, CLIENT, second, SUBSCRIPTIONS, 2) is not known


def test_the_silent_ones_are_forgotten_after_three_intervals() -> None:
    instances = ClientInstances(9)
    instances.heard_of(b"a" * 16, CLIENT, Connection(), SUBSCRIPTIONS, 0)
    instances.heard_of(b"b" * 16, CLIENT, Connection(), SUBSCRIPTIONS, 10)
    assert instances.forget(3 * INTERVAL_MS - 1) == []
    assert instances.forget(3 * INTERVAL_MS) == [b"a" * 16]
    assert len(instances) == 1


def test_the_one_that_was_silent_for_longest_makes_room() -> None:
    instances = ClientInstances(2)
    for name in (b"a", b"b", b"a", b"c"):
        instances.heard_of(name * 16, CLIENT, Connection(), SUBSCRIPTIONS, 0)
    assert instances.forget(0) == [b"b" * 16]
    assert b"a" * 16 in instances
