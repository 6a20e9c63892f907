"""OTLP out: over HTTP, to a collector that may be away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.telemetry import exporter as exporter_module
from coordinator.telemetry.exporter import OtlpExporter
from tests.support.eventually import eventually
from tests.telemetry.collector import Collector
from tests.telemetry.otlp import metrics_data

pytestmark = pytest.mark.integration


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


def message(name: str) -> bytes:
    return metrics_data(labels={"name": name}, gauges={"org.a": 1.0}).SerializeToString()


def test_messages_are_sent_in_their_order(collector: Collector) -> None:
    exporter = OtlpExporter(collector.url)
    for number in range(20):
        exporter.send(message(str(number)))
    exporter.close()
    assert [each["name"] for each in collector.resources()] == [str(number) for number in range(20)]
    assert (exporter.sent, exporter.dropped) == (20, 0)


def test_what_could_not_be_sent_is_tried_again(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module, "PAUSE_S", 0.01)
    collector.refuses = True
    exporter = OtlpExporter(collector.url)
    exporter.send(message("a"))
    eventually(lambda: collector.refused > 1, "it was tried twice")
    exporter.send(message("b"))
    collector.refuses = False
    eventually(lambda: exporter.sent == 2, "both were sent")
    assert [each["name"] for each in collector.resources()] == ["a", "b"]
    exporter.close()


def test_the_oldest_are_dropped_while_the_collector_is_away(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(message("0"))
    monkeypatch.setattr(exporter_module, "PAUSE_S", 0.01)
    monkeypatch.setattr(exporter_module, "MOST_BYTES", 3 * size)
    collector.refuses = True
    exporter = OtlpExporter(collector.url)
    exporter.send(message("0"))
    eventually(lambda: collector.refused > 0, "it was tried")
    for number in range(1, 9):
        exporter.send(message(str(number)))
    collector.refuses = False
    eventually(lambda: exporter.sent + exporter.dropped == 9, "each was sent or dropped")
    exporter.close()
    assert [each["name"] for each in collector.resources()][-3:] == ["6", "7", "8"]
    assert exporter.dropped >= 5
