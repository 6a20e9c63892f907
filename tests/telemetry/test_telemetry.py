"""The two requests of one node: answers, what a thread does, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.topics.client_metrics import Subscription
from coordinator.telemetry import telemetry as telemetry_module
from coordinator.telemetry.instances import ClientFacts
from coordinator.telemetry.telemetry import Telemetry
from protocol.compression import Codec, compress
from protocol.error_codes import ErrorCode
from protocol.messages.push_telemetry import PushTelemetryRequest
from tests.telemetry.otlp import metrics_data

ID = b"0123456789abcdef"
CLIENT = ClientFacts("app", "librdkafka", "2.6.0", "127.0.0.1", "50000")
MESSAGE = metrics_data(labels={"group_id": "g"}, gauges={"org.apache.kafka.a": 1.0}).SerializeToString()


class Connection:
    is_closed = False


class Catalogue:
    subscriptions: tuple[Subscription, ...] = ()


class Work:
    """An executor that works when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []

    def run(self, work: Callable[[], Any], then: Callable[[Any, BaseException | None], None]) -> None:
        self.waiting.append((work, then))

    def work(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work, then in waiting:
            try:
                result = work()
            except Exception as error:
                then(None, error)
            else:
                then(result, None)

    async def drained(self) -> None: ...

    def close(self) -> None: ...


class World:
    def __init__(self, **config: Any) -> None:
        self.catalogue: Any = Catalogue()
        self.work = Work()
        self.telemetry = Telemetry(Config(**config), self.catalogue, lambda: b"new-instance-id!", self.work)
        self.connection = Connection()
        self.replies: list[ErrorCode] = []
        self.now_ms = 0

    def get(self, instance_id: bytes = ID) -> Any:
        return self.telemetry.get_subscriptions(instance_id, CLIENT, self.connection, self.now_ms)

    def push(self, data: bytes, codec: int = 0, instance_id: bytes = ID) -> ErrorCode | None:
        subscription_id = self.get(instance_id).subscription_id
        request = PushTelemetryRequest(instance_id, subscription_id, False, codec, data)
        return self.telemetry.push(request, CLIENT, self.connection, self.now_ms, self.replies.append)

    def values(self) -> list[Mapping[str, float]]:
        return [each.values for each in self.telemetry.figures()]


@pytest.fixture
def world() -> World:
    return World()


def test_a_new_client_gets_an_id_and_is_asked_for_the_metrics_of_the_settings(world: World) -> None:
    answer = world.get(bytes(16))
    assert answer.error_code == 0
    assert answer.client_instance_id == b"new-instance-id!"
    assert "org.apache.kafka.consumer.last.poll" in answer.requested_metrics
    assert (answer.push_interval_ms, answer.telemetry_max_bytes, answer.delta_temporality) == (30_000, 262_144, True)
    assert answer.accepted_compression_types == [4, 3, 1, 2]  # zstd, lz4, gzip, snappy


def test_subscriptions_of_the_catalogue_add_to_the_settings(world: World) -> None:
    first = world.get()
    world.catalogue.subscriptions = (Subscription(("org.other",), 5_000, {}),)
    second = world.get()
    assert second.requested_metrics == sorted([*first.requested_metrics, "org.other"])
    assert second.push_interval_ms == 5_000
    assert second.subscription_id != first.subscription_id


def test_without_metrics_of_its_own_the_server_asks_for_nothing() -> None:
    world = World(telemetry_metrics="")
    assert not world.telemetry.is_on
    assert (world.get().requested_metrics, world.get(b"other-instance!!").push_interval_ms) == ([], 300_000)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_push_is_read_by_a_thread_and_answered_then(world: World, codec: Codec) -> None:
    assert world.push(compress(codec, MESSAGE), codec) is None
    assert (world.replies, world.values()) == ([], [])
    world.work.work()
    assert (world.replies, world.values()) == ([ErrorCode.NONE], [{"org.apache.kafka.a": 1.0}])
    assert [each.client for each in world.telemetry.of_group("g")] == [CLIENT]


def test_an_empty_push_is_answered_at_once(world: World) -> None:
    assert world.push(b"") is ErrorCode.NONE
    assert world.work.waiting == []


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (b"garbage", Codec.NONE),
        (b"garbage", Codec.ZSTD),
        (b"garbage", Codec.SNAPPY),
        (compress(Codec.ZSTD, bytes(1 << 20)), Codec.ZSTD),  # above telemetry.max.bytes; so answers Kafka 4.4.0
        (compress(Codec.GZIP, bytes(1 << 20)), Codec.GZIP),
    ],
)
def test_what_cannot_be_read_is_an_invalid_record(world: World, data: bytes, codec: Codec) -> None:
    assert world.push(data, codec) is None
    world.work.work()
    assert world.replies == [ErrorCode.INVALID_RECORD]
    assert world.values() == []
    assert world.telemetry.refused == {"INVALID_RECORD": 1}


@pytest.mark.parametrize("instance_id", [bytes(16), bytes(15) + b"\x01"])
def test_a_push_needs_an_instance_id(world: World, instance_id: bytes) -> None:
    request = PushTelemetryRequest(instance_id, 0, False, 0, MESSAGE)
    assert world.telemetry.push(request, CLIENT, world.connection, 0, world.replies.append) is ErrorCode.INVALID_REQUEST


def test_pushes_above_a_bound_are_throttled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_module, "MOST_WAITING", 2)
    outcomes = [world.push(MESSAGE, instance_id=bytes([n]) * 16) for n in (1, 2, 3)]
    assert outcomes == [None, None, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    world.work.work()
    assert world.push(MESSAGE, instance_id=b"d" * 16) is None


def test_figures_go_with_their_client(world: World) -> None:
    world.push(MESSAGE)
    world.work.work()
    world.now_ms = 90_000
    world.get(b"other-instance!!")
    assert world.values() == []


def test_a_client_that_is_forgotten_before_its_push_was_read_leaves_nothing() -> None:
    world = World(telemetry_max_clients=1)
    world.push(MESSAGE)
    world.get(b"other-instance!!")
    world.work.work()
    assert (world.replies, world.values()) == ([ErrorCode.NONE], [])
