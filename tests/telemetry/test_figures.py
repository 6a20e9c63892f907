"""Pushes are read within bounds, and the newest figures of each client are kept and shown."""

from __future__ import annotations

import math

import pytest

from coordinator.telemetry import figures as figures_module
from coordinator.telemetry.figures import LAST_POLL, MOST_NAMES_OF_CLIENT, ClientFigures, samples
from coordinator.telemetry.instances import ClientFacts
from coordinator.telemetry.metrics_data import MOST_POINTS, MetricsDataError, decode, encode
from tests.telemetry.otlp import CUMULATIVE, DELTA, MetricsData, metrics_data

CLIENT = ClientFacts("app", "librdkafka", "2.6.0", "127.0.0.1", "50000")
A = "org.apache.kafka.a"
TOTAL = "org.apache.kafka.consumer.coordinator.rebalance.latency.total"


@pytest.fixture
def figures() -> ClientFigures:
    return ClientFigures("id", CLIENT)


def take(figures: ClientFigures, message: MetricsData, now_ms: int = 1000) -> None:
    figures.take(decode(message.SerializeToString()), now_ms)


def test_a_client_names_its_group_and_member_and_its_last_poll(figures: ClientFigures) -> None:
    labels = {"group_id": "g", "group_member_id": "m-1"}
    take(figures, metrics_data(labels=labels, gauges={LAST_POLL: 281.0}), 500_000)
    assert (figures.group_id, figures.member_id) == ("g", "m-1")
    assert figures.last_poll_ms() == 219_000


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 1e12])
def test_a_last_poll_that_makes_no_sense_is_not_known(figures: ClientFigures, value: float) -> None:
    take(figures, metrics_data(gauges={LAST_POLL: value}))
    assert figures.last_poll_ms() is None


def test_deltas_are_added_and_cumulative_sums_are_not(figures: ClientFigures) -> None:
    for count in (3, 4):
        take(figures, metrics_data(sums={TOTAL: count}, temporality=DELTA))
    assert figures.values == {TOTAL: 7.0}
    take(figures, metrics_data(sums={TOTAL: 20}, temporality=CUMULATIVE))
    assert figures.values == {TOTAL: 20.0}


def test_the_name_says_whether_a_figure_is_a_counter(figures: ClientFigures) -> None:
    take(figures, metrics_data(gauges={"org.apache.kafka.a.total": 1.0}, sums={"org.apache.kafka.b": 2}))
    assert [(each.name, each.kind, each.value) for each in samples([figures])] == [
        ("org_apache_kafka_a", "gauge", 1.0),
        ("org_apache_kafka_b_total", "counter", 2.0),
    ]


def test_points_with_attributes_of_their_own_are_not_kept(figures: ClientFigures) -> None:
    message = metrics_data(gauges={"org.apache.kafka.a": 1.0})
    point = message.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0]
    point.attributes.add(key="topic").value.string_value = "t"
    take(figures, message)
    assert figures.values == {}


@pytest.mark.parametrize(
    "name",
    ["", "org.apache.kafka", "coordinator.ready", f"{A}.B", f"{A}..b", f"{A}\n", f"{A}." + "b" * 130, f'{A}{{b="c"}}'],
)
def test_a_name_that_is_none_is_not_kept(figures: ClientFigures, name: str) -> None:
    take(figures, metrics_data(gauges={name: 1.0}))
    assert figures.values == {}


def test_names_are_bounded_for_each_client_and_for_all(figures: ClientFigures, monkeypatch: pytest.MonkeyPatch) -> None:
    take(figures, metrics_data(gauges={f"org.apache.kafka.a{number}": 1.0 for number in range(200)}))
    assert len(figures.values) == MOST_NAMES_OF_CLIENT
    monkeypatch.setattr(figures_module, "MOST_NAMES_SHOWN", 5)
    other = ClientFigures("other", CLIENT)
    take(other, metrics_data(gauges={"org.apache.kafka.a1": 1.0, "org.apache.kafka.b": 1.0}))
    shown = list(samples([figures, other]))
    assert len({each.name for each in shown}) == 5
    assert [each.name for each in shown if each.labels["client_instance_id"] == "other"] == ["org_apache_kafka_a1"]


def test_a_bounded_number_of_points_is_read() -> None:
    metrics = {f"org.apache.kafka.a{number}": 1.0 for number in range(MOST_POINTS + 500)}
    assert len(decode(metrics_data(gauges=metrics).SerializeToString()).points) == MOST_POINTS
    message = metrics_data()
    data = message.resource_metrics[0].scope_metrics[0].metrics.add(name="org.apache.kafka.a").gauge
    for _ in range(MOST_POINTS + 500):
        data.data_points.add()
    assert len(decode(message.SerializeToString()).points) == MOST_POINTS


@pytest.mark.parametrize("data", [b"garbage", b"\x0a\xff", b"\x0a\x05abc"])
def test_bytes_that_are_no_metrics_are_refused(data: bytes) -> None:
    with pytest.raises(MetricsDataError):
        decode(data)


def test_a_message_is_sent_on_with_what_the_server_knows_of_the_client() -> None:
    message = metrics_data(labels={"group_id": "g", "client_id": "own"}, gauges={"org.apache.kafka.a": 1.0})
    sent = MetricsData.FromString(encode(message, {"client_id": "app", "client_source_address": "10.0.0.1"}))
    attributes = {each.key: each.value.string_value for each in sent.resource_metrics[0].resource.attributes}
    assert attributes == {"group_id": "g", "client_id": "own", "client_source_address": "10.0.0.1"}
