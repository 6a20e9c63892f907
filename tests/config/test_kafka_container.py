"""The rules by which Kafka's images make settings of variables: images, listeners, numbers, what is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from coordinator.config.config import Config
from coordinator.config.kafka_container import ready_line, translated, with_address_of_a_published_port
from coordinator.config.sources import load
from coordinator.config.values import Address, ConfigError
from tests.containers.images import IMAGES

OF_THE_IMAGE = {"KAFKA_LISTENERS": "0.0.0.0:9092", "KAFKA_LOG_DIRS": "/var/lib/coordinator", "HOSTNAME": "4a6a48572e12"}


def settings(variables: Mapping[str, str]) -> tuple[Config, list[str]]:
    """Return the settings of a container that was given these variables, and the sentences that it logs."""
    said: list[str] = []
    config = load(environ=translated({**OF_THE_IMAGE, **variables}, said.append), warn=said.append)
    return with_address_of_a_published_port(config, said.append), said


def test_without_variables_clients_are_told_to_connect_to_a_port_of_their_machine() -> None:
    config, said = settings({})
    assert config.listen_address == Address("0.0.0.0", 9092)
    assert config.advertised_address == Address("localhost", 9092)
    (sentence,) = said
    assert sentence.endswith("for clients elsewhere set KAFKA_ADVERTISED_LISTENERS, as PLAINTEXT://host:port")


@pytest.mark.parametrize("name", [name for name in IMAGES if name != "none"])
def test_the_variables_of_a_compose_file_are_enough(name: str) -> None:
    config, said = settings(IMAGES[name])
    bound = {each.name: each.address for each in config.client_listeners}
    assert bound == {"PLAINTEXT": Address("0.0.0.0", 29092), "PLAINTEXT_HOST": Address("0.0.0.0", 9092)}
    inside = Address("4a6a48572e12" if name == "bitnami/kafka" else "kafka", 29092)
    assert config.advertised_addresses == {"PLAINTEXT": inside, "PLAINTEXT_HOST": Address("localhost", 9092)}
    assert config.inter_broker_listener.name == "PLAINTEXT" or name == "confluentinc/cp-kafka"
    assert config.cluster_id == ("" if name == "confluentinc/cp-kafka" else "4L6g3nShT-eMCtK--X86sw")
    assert config.log_dirs == IMAGES[name].get("KAFKA_LOG_DIRS", "/var/lib/coordinator")
    assert (config.group_initial_rebalance_delay_ms, config.node_id) == (0, 1)
    starts = ["ignored settings of Kafka's that mean nothing here: ", "ignored variables in the environment that name "]
    if name != "confluentinc/cp-kafka":
        starts.insert(0, "ignored CONTROLLER://kafka:29093, because there is no controller here")
    assert [sentence.startswith(start) for sentence, start in zip(said, starts, strict=False)] == [True] * len(said)


def test_the_listener_of_a_controller_is_left_out_by_its_name() -> None:
    config, said = settings(
        {
            "KAFKA_CONTROLLER_LISTENER_NAMES": "quorum",
            "KAFKA_LISTENERS": "BROKER://:9092, QUORUM://:9093",
            "KAFKA_ADVERTISED_LISTENERS": "BROKER://h:9092,QUORUM://h:9093",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,QUORUM:SASL_SSL",
            "KAFKA_LISTENER_NAME_QUORUM_SASL_ENABLED_MECHANISMS": "PLAIN",
        }
    )
    assert [each.name for each in config.client_listeners] == ["BROKER"]
    assert config.advertised_addresses == {"BROKER": Address("h", 9092)}
    assert said == [
        "ignored QUORUM://:9093, KAFKA_LISTENER_NAME_QUORUM_SASL_ENABLED_MECHANISMS, because there is no controller "
        "here",
        "ignored settings of Kafka's that mean nothing here: controller.listener.names",
    ]


def test_a_listener_whose_name_begins_with_that_of_a_controller_keeps_its_settings() -> None:
    variables = translated(
        {
            "KAFKA_CONTROLLER_LISTENER_NAMES": "SASL",
            "KAFKA_LISTENERS": "SASL://:9093,SASL_PLAIN://:9092",
            "KAFKA_LISTENER_NAME_SASL_PLAIN_SASL_ENABLED_MECHANISMS": "PLAIN",
            "KAFKA_LISTENER_NAME_SASL_SASL_ENABLED_MECHANISMS": "PLAIN",
        },
        lambda _: None,
    )
    assert "KAFKA_LISTENER_NAME_SASL_PLAIN_SASL_ENABLED_MECHANISMS" in variables
    assert "KAFKA_LISTENER_NAME_SASL_SASL_ENABLED_MECHANISMS" not in variables


def test_a_controller_alone_leaves_the_listener_of_the_image() -> None:
    assert "KAFKA_LISTENERS" not in translated({"KAFKA_LISTENERS": "CONTROLLER://:9093"}, lambda _: None)


def test_a_variable_of_this_program_is_stronger_than_those_of_kafka() -> None:
    config, _ = settings(
        {"COORDINATOR_LISTENERS": ":7", "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://h:8", "COORDINATOR_CLUSTER_ID": "a"}
        | {"CLUSTER_ID": "b"}
    )
    assert (config.listen_address.port, config.advertised_address, config.cluster_id) == (7, Address("h", 8), "a")


@pytest.mark.parametrize(
    "variables",
    [
        {"COORDINATOR_CLUSTER_NODES": "1@a:9092,2@b:9092"},
        {"COORDINATOR_WORKERS": "2"},
        {"COORDINATOR_LOG_ENGINE": "postgresql://h/d", "COORDINATOR_CLUSTER_ID": "c"},
        {"KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9092"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_a_node_with_settings_of_its_own_address_is_not_told_to_be_localhost(variables: Mapping[str, str]) -> None:
    config, said = settings(variables)
    assert (config.advertised_listeners, said) == ("", [])


def test_numbers_and_directories_that_only_kafka_understands_do_not_end_the_start() -> None:
    config, said = settings({"KAFKA_BROKER_ID": "-1", "KAFKA_LOG_DIRS": "/a,/b"})
    assert (config.node_id, config.log_dirs) == (1, "/a")
    assert said[:2] == [
        "ignored KAFKA_BROKER_ID=-1, which lets Kafka choose a number",
        "KAFKA_LOG_DIRS has several directories; all data is in the first one, /a",
    ]


def test_a_container_that_is_only_a_controller_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"KAFKA_PROCESS_ROLES is controller, .*; remove this container, and keep one"
    ):
        settings({"KAFKA_PROCESS_ROLES": "controller"})


@pytest.mark.parametrize(
    "awaited",
    [
        r".*\[KafkaServer id=\d+\] started.*",  # Java's old class, Python, .NET
        r".*Transitioning from RECOVERY to RUNNING.*",  # Java, Go
        r".*Kafka Server started.*",  # Python with KRaft
    ],
)
def test_the_line_of_a_ready_container_is_what_programs_await(awaited: str) -> None:
    assert re.fullmatch(awaited, ready_line(3))
    assert "\n" not in ready_line(3)
