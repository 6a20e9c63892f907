"""Metrics that a real client pushes (KIP-714), over sockets: to /metrics, and on to a collector."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.prometheus import scrape
from tests.support.wire import call
from tests.telemetry.collector import Collector

pytestmark = pytest.mark.integration

ASSIGNED = "org_apache_kafka_consumer_coordinator_assigned_partitions"
KEYS = {71, 72}


def announced(daemon: Daemon) -> set[int]:
    versions = call(daemon.port, ApiVersionsRequest("test", "1"), 3)
    return {each.api_key for each in versions.api_keys} & KEYS


def test_a_consumer_is_shown_by_metrics_and_by_a_collector(tmp_path: Path) -> None:
    with Collector() as collector:
        overrides = ["telemetry.interval.ms=200", f"telemetry.otlp.endpoint={collector.url}"]
        with Daemon(tmp_path, topics=["orders:3"], overrides=overrides, http="127.0.0.1:0") as daemon:
            assert announced(daemon) == KEYS
            consumer = Consumer({"bootstrap.servers": daemon.address, "group.id": "g", "client.id": "app"})
            consumer.subscribe(["orders"])

            def is_shown() -> bool:
                consumer.poll(0.05)
                found = [line for line in scrape(daemon.http_port).splitlines() if line.startswith(ASSIGNED)]
                return any(
                    line.endswith(" 3.0") and 'group="g"' in line and 'client_id="app"' in line for line in found
                )

            eventually(is_shown, "/metrics shows the three partitions")
            eventually(
                lambda: any(
                    each.get("client_software_name") and each.get("group_id") == "g" for each in collector.resources()
                ),
                "the collector got the metrics, and who they are of",
            )
            consumer.close()


def test_a_subscription_asks_for_metrics_where_the_settings_ask_for_others(tmp_path: Path) -> None:
    overrides = ["telemetry.metrics=org.none", "telemetry.interval.ms=200"]
    with Daemon(tmp_path, overrides=overrides, http="127.0.0.1:0") as daemon:
        configs = [
            AlterableConfig(name="metrics", config_operation=0, value="org.apache.kafka.producer.connection"),
            AlterableConfig(name="match", config_operation=0, value="client_id=admin"),
        ]
        resource = AlterConfigsResource(resource_type=16, resource_name="m", configs=configs)
        [result] = call(daemon.port, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        assert result.error_code == 0
        daemon.kill()
        daemon.start()
        admins = [AdminClient({"bootstrap.servers": daemon.address, "client.id": name}) for name in ("admin", "other")]
        for admin in admins:
            admin.list_topics(timeout=10)

        def shown() -> set[str]:
            lines = scrape(daemon.http_port).splitlines()
            found = [line for line in lines if line.startswith("org_apache_kafka_producer_connection_creation_total")]
            return {name for name in ("admin", "other") if any(f'client_id="{name}"' in line for line in found)}

        eventually(lambda: shown() == {"admin"}, "the client that matches is shown")


def test_without_metrics_to_ask_for_the_requests_are_not_announced(tmp_path: Path) -> None:
    with Daemon(tmp_path, overrides=["telemetry.metrics="]) as daemon:
        assert announced(daemon) == set()
