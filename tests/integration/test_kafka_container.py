"""A daemon with the variables of Kafka's container: addresses that clients are told, and the line that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.config.kafka_container import ready_line
from protocol.messages.metadata import MetadataRequest
from tests.support.daemon import Daemon
from tests.support.nodes import free_ports
from tests.support.wire import call

pytestmark = pytest.mark.integration

VARIABLES = {
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:19092,BROKER://kafka:29092,CONTROLLER://kafka:9094",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_HEAP_OPTS": "-Xmx512M",
}


def test_a_client_is_told_the_address_of_the_listener_by_which_it_came(tmp_path: Path) -> None:
    ports = dict(zip(("PLAINTEXT", "BROKER"), free_ports(2), strict=True))
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    arguments = ("--as-kafka-container", "--listen", listeners)
    with Daemon(tmp_path, arguments=arguments, environment=VARIABLES) as daemon:
        told = {}
        for name, port in ports.items():
            answer = call(port, MetadataRequest(), 9)
            assert answer.cluster_id == "4L6g3nShT-eMCtK--X86sw"
            told[name] = [(broker.host, broker.port) for broker in answer.brokers]
        assert told == {"PLAINTEXT": [("localhost", 19092)], "BROKER": [("kafka", 29092)]}
        daemon.terminate()
        log = daemon.log_text()
    assert log.count(ready_line(1)) == 1
    assert log.count("ignored settings of Kafka's that mean nothing here: controller.listener.names, log.flush.") == 1
    assert log.count("ignored variables in the environment that name no setting: KAFKA_HEAP_OPTS\n") == 1


def test_a_daemon_that_is_no_container_of_kafka_does_not_print_the_line(tmp_path: Path) -> None:
    with Daemon(tmp_path, environment={"KAFKA_HEAP_OPTS": "-Xmx512M"}) as daemon:
        daemon.terminate()
        assert "listening on" in daemon.log_text()
        assert "KafkaServer" not in daemon.log_text()
