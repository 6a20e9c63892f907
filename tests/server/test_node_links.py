"""Connections between nodes: a login that ends is repeated on the way, and TLS names its peer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.config.sources import load
from coordinator.core.cluster import ClusterNode
from coordinator.server.node_links import NodeLinks, Way, links_of
from coordinator.server.peer_connection import LinkError, Login
from coordinator.server.startup import StartupError
from protocol.messages.metadata import MetadataRequest
from tests.support.certificates import Authority
from tests.support.secured import PASSWORD, USER, Secured

LOGIN = Login("SCRAM-SHA-256", USER, PASSWORD)
LOGINS = 3
NODES = (
    "cluster.nodes=1@a:9092,2@b:9092\nlisteners=SASL_PLAINTEXT://:9092\nsasl.enabled.mechanisms=PLAIN\n"
    "super.users=User:node\n"
)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with Secured(tmp_path_factory.mktemp("secured")) as daemon:
        yield daemon


def node(secured: Secured, listener: str, host: str = "127.0.0.1") -> ClusterNode:
    return ClusterNode(1, host, secured.ports[listener])


async def test_a_login_that_ends_is_repeated_and_no_request_is_lost(secured: Secured) -> None:
    links = NodeLinks(Way(None, LOGIN))
    async with await links.connect(node(secured, "SHORT"), "test") as peer:
        assert 0 < peer.longest_wait_ms(5000) < 1500
        logins = {peer.next_login_s}
        while len(logins) < LOGINS:
            answer = await peer.call(MetadataRequest(topics=[]), 9, within_s=10.0)
            assert answer.brokers
            logins.add(peer.next_login_s)


async def test_a_wrong_password_is_a_sentence_without_it(secured: Secured) -> None:
    links = NodeLinks(Way(None, LOGIN._replace(secret="s3cret")))
    with pytest.raises(LinkError, match="refuses the login of this node: it refuses the user 'alice'") as raised:
        await links.connect(node(secured, "SASL"), "test")
    assert "s3cret" not in str(raised.value)


async def test_tls_checks_the_authority_and_the_name(
    secured: Secured, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = f"listeners=SSL://:1\nssl.keystore.location={secured.server.pem}\nssl.truststore.location="
    async with await NodeLinks(Way(tls=load(f"{settings}{secured.authority.pem}"))).connect(
        node(secured, "SSL"), "test"
    ) as peer:
        assert (await peer.call(MetadataRequest(topics=[]), 9, within_s=10.0)).brokers
    other = Authority(tmp_path_factory.mktemp("other"))
    with pytest.raises(LinkError, match=r"is not trusted here .*; set ssl\.truststore\.location of the listener"):
        await NodeLinks(Way(tls=load(f"{settings}{other.pem}"))).connect(node(secured, "SSL"), "test")
    with pytest.raises(LinkError, match="does not speak TLS as expected"):
        await NodeLinks(Way(tls=load(f"{settings}{other.pem}"))).connect(node(secured, "PLAIN"), "test")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (NODES, "there is no user for that; set listener.name.sasl_plaintext.plain.sasl.jaas.config to one JAAS"),
        (
            NODES + 'sasl.jaas.config=X required username="other" password="p";\n',
            "as User:other, which may not do every",
        ),
    ],
)
def test_a_login_that_is_incomplete_refuses_the_start(text: str, sentence: str) -> None:
    with pytest.raises(StartupError, match=sentence):
        links_of(load(text))


def test_the_options_of_plain_may_be_those_of_its_server_as_in_kafka() -> None:
    entry = 'X required username="node" password="p" user_node="p";'
    links = links_of(load(NODES + f"listener.name.sasl_plaintext.plain.sasl.jaas.config={entry}\n"))
    assert links.way_to(2) == Way(None, Login("PLAIN", "node", "p"))
