"""The settings by which nodes connect to each other: what is complete, and each contradiction as one sentence."""

from __future__ import annotations

import pytest

from coordinator.config.sources import load
from coordinator.config.values import Address, ConfigError

TWO = "cluster.nodes=1@a:9092,2@b:9092\n"
LISTENERS = (
    "listeners=OUT://:9092,IN://:9093\nlistener.security.protocol.map=OUT:SASL_SSL,IN:SASL_SSL\n"
    "ssl.keystore.location=k\nsasl.enabled.mechanisms=SCRAM-SHA-512\n"
)
MECHANISM = "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512\n"
INSIDE = "listener.name.in.cluster.nodes=1@a:9093,2@b:9093\n"
COMPLETE = TWO + LISTENERS + MECHANISM + INSIDE + "inter.broker.listener.name=in\n"
ENGINE = "log.engine=kafka://h:1/t\ncluster.id=c\n"
MUTUAL = (
    TWO + "listeners=SSL://:9092\nssl.keystore.location=k\nssl.truststore.location=t\nauthorizer.class.name=acl\n"
    "ssl.client.auth=required\n"
)


def test_each_listener_has_its_own_addresses_of_all_nodes() -> None:
    config = load(COMPLETE)
    assert config.node_addresses == {1: Address("a", 9092), 2: Address("b", 9092)}
    assert config.node_addresses_of("IN") == {1: Address("a", 9093), 2: Address("b", 9093)}
    assert config.inter_broker_listener.name == "IN"
    assert config.has_node_logins


def test_a_node_alone_may_name_anything_as_kafka_does() -> None:
    config = load("inter.broker.listener.name=CONTROLLER\nsasl.mechanism.inter.broker.protocol=GSSAPI\n")
    assert config.inter_broker_listener.name == "PLAINTEXT"
    assert not config.has_node_logins


def test_nodes_may_show_certificates() -> None:
    assert load(MUTUAL + "super.users=User:CN=node\n").has_node_logins


def test_nodes_with_a_shared_store_exchange_no_users_and_need_no_logins() -> None:
    assert not load(ENGINE + "authorizer.class.name=acl\n").has_node_logins


def test_an_open_cluster_needs_no_logins() -> None:
    assert not load(TWO).has_node_logins


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TWO + LISTENERS + MECHANISM, "the clients of the listener IN need the addresses of all nodes on it; set"),
        (
            COMPLETE + "listener.name.in.cluster.nodes=1@a:9093,3@b:9093\n",
            "listener.name.in.cluster.nodes has the nodes 1, 3, and cluster.nodes has 1, 2; give both the same",
        ),
        (COMPLETE + "inter.broker.listener.name=BETWEEN\n", "inter.broker.listener.name is BETWEEN, which listeners"),
        (COMPLETE + "sasl.mechanism.inter.broker.protocol=GSSAPI\n", "sasl.mechanism.inter.broker.protocol is GSSAPI"),
        (
            COMPLETE + "sasl.mechanism.inter.broker.protocol=PLAIN\n",
            "the nodes log in to each other by PLAIN, which the",
        ),
        (
            COMPLETE + "listener.security.protocol.map=OUT:SASL_SSL,IN:PLAINTEXT\n",
            "the nodes connect to each other over the listener IN, which asks for no proof of who they are, so that",
        ),
        (MUTUAL, "the nodes show certificates to each other on the listener SSL, but super.users is empty; put the"),
        (MUTUAL + "ssl.client.auth=requested\n", "the nodes connect to each other over the listener SSL, which asks"),
        (
            "log.engine=kafka://h:1/t\ncluster.id=c\n"
            + LISTENERS
            + MECHANISM
            + "listener.name.in.cluster.nodes=2@b:1\n",
            "listener.name.in.cluster.nodes does not have this node, 1; add it",
        ),
    ],
)
def test_a_contradiction_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert str(raised.value).startswith(sentence)
    assert "; " in str(raised.value)
