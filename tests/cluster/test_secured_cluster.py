"""A cluster with TLS, logins and access rules: what one node is told counts on all, and only nodes hear the users."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from coordinator.security.acl.model import AclOperation, PatternType, Permission, ResourceType
from coordinator.security.sasl_client import LoginError
from coordinator.security.scram import SCRAM_SHA_256
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from protocol.messages.follow_catalogue import FollowCatalogueNode, FollowCatalogueRequest, KnownDocument
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.eventually import eventually_answered, eventually_async
from tests.support.nodes import CLUSTER_ID, OFFSETS_PARTITIONS
from tests.support.secured_cluster import ADMIN, ALICE, MECHANISM, NODE, PASSWORDS, SecuredNodes
from tests.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.integration

TOPIC, GROUP = "orders", "workers"
NEW_USER, NEW_PASSWORD = "bob", "of a new client"
GROUP_READ = (ResourceType.GROUP, GROUP, AclOperation.READ)
TOPIC_READ = (ResourceType.TOPIC, TOPIC, AclOperation.READ)
TOPIC_WRITE = (ResourceType.TOPIC, TOPIC, AclOperation.WRITE)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    with SecuredNodes(tmp_path_factory.mktemp("secured-cluster")) as made:
        yield made


async def ask(nodes: SecuredNodes, number: int, request: Any, version: int, user: str = ADMIN) -> Any:
    async with await nodes.wire(nodes[number].port, user) as wire:
        return await wire.send(request, version)


async def allow(nodes: SecuredNodes, number: int, user: str, *rights: tuple[ResourceType, str, AclOperation]) -> None:
    creations = [
        AclCreation(
            resource_type=kind,
            resource_name=name,
            resource_pattern_type=PatternType.LITERAL,
            principal=f"User:{user}",
            host="*",
            operation=operation,
            permission_type=Permission.ALLOW,
        )
        for kind, name, operation in rights
    ]
    answer = await ask(nodes, number, CreateAclsRequest(creations=creations), 3)
    assert [each.error_code for each in answer.results] == [0] * len(rights)


def password_of(name: str, password: str) -> AlterUserScramCredentialsRequest:
    salt, iterations = b"some salt", 4096
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    return AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name, SCRAM_SHA_256.type, iterations, salt, salted)]
    )


async def may_log_in(nodes: SecuredNodes, number: int, user: str, password: str) -> bool:
    try:
        async with await nodes.wire(nodes[number].port, user, password):
            return True
    except LoginError:
        return False


def follow(nodes: SecuredNodes, asking: int, asked: int) -> FollowCatalogueRequest:
    return FollowCatalogueRequest(
        node_id=asking,
        asked_node_id=asked,
        cluster_id=CLUSTER_ID,
        nodes=[FollowCatalogueNode(number, "127.0.0.1", daemon.port) for number, daemon in nodes.daemons.items()],
        offsets_partitions=OFFSETS_PARTITIONS,
        revision=0,
        documents=[KnownDocument("users.json", b"")],
    )


async def test_a_user_that_one_node_adds_can_log_in_at_all(nodes: SecuredNodes) -> None:
    for number in nodes.daemons:
        assert await may_log_in(nodes, number, ALICE, PASSWORDS[ALICE])  # she was written to node 1 before the start
        assert not await may_log_in(nodes, number, NEW_USER, NEW_PASSWORD)
    answer = await ask(nodes, 3, password_of(NEW_USER, NEW_PASSWORD), 0)
    assert [(each.user, each.error_code) for each in answer.results] == [(NEW_USER, 0)]
    for number in nodes.daemons:
        await eventually_answered(
            lambda number=number: may_log_in(nodes, number, NEW_USER, NEW_PASSWORD), f"node {number} knows the user"
        )


async def test_a_group_works_across_nodes_by_rules_that_one_node_was_told(nodes: SecuredNodes) -> None:
    await ask(nodes, 1, CreateTopicsRequest(topics=[CreatableTopic(TOPIC, 6, 1)]), 5)
    await allow(nodes, 2, ALICE, GROUP_READ, TOPIC_READ, TOPIC_WRITE)

    async def is_allowed_everywhere() -> bool:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
        answers = [await ask(nodes, number, request, 9, ALICE) for number in nodes.daemons]
        return all(not topic.error_code for answer in answers for topic in answer.topics)

    await eventually_answered(is_allowed_everywhere, "all nodes have the rules")
    async with AIOKafkaProducer(**nodes.client()) as producer:
        for partition in range(6):
            await producer.send_and_wait(TOPIC, b"some", partition=partition)
    consumer = AIOKafkaConsumer(TOPIC, group_id=GROUP, auto_offset_reset="earliest", **nodes.client())
    async with consumer:
        seen = set()
        async for record in consumer:
            seen.add(record.partition)
            if len(seen) == 6:
                break
        await consumer.commit()
        assert await consumer.committed(TopicPartition(TOPIC, 5)) == 1


async def test_a_quota_that_one_node_is_given_counts_on_all(nodes: SecuredNodes) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name=NEW_USER)], ops=[OpData("request_rate", 50.0, False)]
    )
    answer = await ask(nodes, 2, AlterClientQuotasRequest(entries=[entry]), 1)
    assert [each.error_code for each in answer.entries] == [0]
    asked = DescribeClientQuotasRequest(components=[ComponentData("user", 0, NEW_USER)])

    for number in nodes.daemons:

        async def is_known(number: int = number) -> bool:
            return bool((await ask(nodes, number, asked, 1)).entries)

        await eventually_answered(is_known, f"node {number} has the quota")


async def test_clients_are_told_the_addresses_of_their_own_listener(nodes: SecuredNodes) -> None:
    at_clients = await ask(nodes, 2, MetadataRequest(topics=[]), 9)
    async with await nodes.wire(nodes.links[2], NODE) as wire:
        at_nodes = await wire.send(MetadataRequest(topics=[]), 9)
    assert {each.node_id: each.port for each in at_clients.brokers} == {n: nodes[n].port for n in nodes.daemons}
    assert {each.node_id: each.port for each in at_nodes.brokers} == nodes.links


async def test_a_client_does_not_get_the_users(nodes: SecuredNodes) -> None:
    for port in (nodes[1].port, nodes.links[1]):
        async with await nodes.wire(port, ALICE) as wire:
            answer = await wire.send(follow(nodes, 2, 1), 0)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert answer.documents == []
    async with await nodes.wire(nodes.links[1], NODE) as wire:
        (users,) = (await wire.send(follow(nodes, 2, 1), 0)).documents
    assert ALICE.encode() in users.text


async def test_changes_wait_for_the_controller_and_logins_do_not(nodes: SecuredNodes) -> None:
    nodes[1].kill()
    assert await may_log_in(nodes, 2, ALICE, PASSWORDS[ALICE])
    answer = await ask(nodes, 2, password_of("carol", NEW_PASSWORD), 0)
    (refused,) = answer.results
    assert refused.error_code in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)
    nodes[2].restart()  # it has kept what it was told
    assert await may_log_in(nodes, 2, ALICE, PASSWORDS[ALICE])
    nodes[1].start()

    async def is_added() -> bool:
        answer = await ask(nodes, 2, password_of("carol", NEW_PASSWORD), 0)
        return not answer.results[0].error_code

    await eventually_answered(is_added, "node 2 has found the controller again")
    await eventually_answered(lambda: may_log_in(nodes, 3, "carol", NEW_PASSWORD), "node 3 follows it, too")


async def test_a_frame_without_a_login_gets_nothing(nodes: SecuredNodes) -> None:
    async with await Wire.connect(nodes.links[1], tls=nodes.tls) as wire:
        with pytest.raises(ConnectionEnded):
            await wire.send(follow(nodes, 2, 1), 0)


async def test_nodes_without_rules_show_certificates_and_tell_super_users_only(tmp_path: Path) -> None:
    settings = {
        "authorizer.class.name": "",
        "listener.name.nodes.ssl.client.auth": "required",
        "super.users": "User:CN=node",
    }
    with SecuredNodes(tmp_path, count=2, clients="SASL_PLAINTEXT", links="SSL", settings=settings) as nodes:
        async with await nodes.wire(nodes[2].port, ALICE, has_tls=False):
            pass  # node 2 knows her from node 1
        for name, error in (("node", ErrorCode.NONE), ("client", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)):
            own = nodes.authority.issue(name)
            context = nodes.tls
            context.load_cert_chain(own.certificate_pem, own.key_pem)
            async with await Wire.connect(nodes.links[1], tls=context) as wire:
                answer = await wire.send(follow(nodes, 2, 1), 0)
            assert (answer.error_code, len(answer.documents)) == (error, 0 if error else 1)


async def test_a_node_with_a_wrong_password_serves_without_the_controller_and_says_why(tmp_path: Path) -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{NODE}" password="an0ther";'
    nodes = SecuredNodes(tmp_path, count=2)
    nodes.prepare()
    try:
        nodes[1].start()
        properties = nodes[2].directory / "server.properties"
        own = f"listener.name.nodes.{MECHANISM.lower()}.sasl.jaas.config={jaas}\n"
        properties.write_text(properties.read_text() + own)
        nodes[2].start()
        (line, *_) = [line for line in nodes[2].log_lines() if "controller not reached" in line]
        assert "refuses the login of this node: it refuses the user 'node'" in line
        assert "an0ther" not in nodes[2].log_text()
        assert await refused(nodes, 2, NODE, PASSWORDS[NODE])  # it knows no users yet
    finally:
        for daemon in nodes.daemons.values():
            daemon.stop()


async def refused(nodes: SecuredNodes, number: int, user: str, password: str) -> bool:
    return not await may_log_in(nodes, number, user, password)


async def test_a_node_does_not_start_if_its_own_user_is_no_super_user(tmp_path: Path) -> None:
    nodes = SecuredNodes(tmp_path, count=2, settings={"super.users": f"User:{ADMIN}"})
    nodes.prepare()
    process = nodes[2].spawn()
    await eventually_async(lambda: process.poll() is not None, "it has ended")
    assert process.returncode == 2
    assert "the nodes log in to each other as User:node, which may not do everything; add it to" in nodes[2].log_text()
