"""Users, access rules and quotas of daemons that share a real PostgreSQL: each may change them, and all have them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from coordinator.security.acl.model import AclOperation, PatternType, Permission, ResourceType
from coordinator.security.sasl_client import LoginError
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialDeletion
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.ha.engines import Postgres
from tests.ha.nodes import EngineNodes
from tests.ha.proxy import Way
from tests.support.eventually import eventually_answered, eventually_async
from tests.support.prometheus import scrape
from tests.support.secured_cluster import ADMIN, ALICE, MECHANISM, NODE, PASSWORDS, write_users
from tests.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.integration

GROUP: Final = "workers"
SETTINGS: Final = (
    "listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT",
    f"sasl.enabled.mechanisms={MECHANISM}",
    f"sasl.mechanism.inter.broker.protocol={MECHANISM}",
    "authorizer.class.name=acl",
    f"super.users=User:{ADMIN};User:{NODE}",
)
ENVIRONMENT: Final = {
    "COORDINATOR_SASL_JAAS_CONFIG": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{NODE}" password="{PASSWORDS[NODE]}";'
    )
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    running = Postgres(tmp_path_factory.mktemp("engine"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
async def nodes(engine: Postgres, tmp_path: Path) -> AsyncIterator[EngineNodes]:
    engine.new_database()
    write_users(tmp_path / "node-1" / "data")  # the node that starts first
    async with EngineNodes(
        tmp_path, engine, 2, overrides=SETTINGS, environment=ENVIRONMENT, one_by_one=True, http="127.0.0.1:0"
    ) as running:
        yield running


async def ask(nodes: EngineNodes, number: int, request: Any, version: int, user: str = ADMIN) -> Any:
    login = MECHANISM, user, PASSWORDS[user]
    async with await Wire.connect(nodes.nodes[number].daemon.port, login=login) as wire:
        return await wire.send(request, version)


async def test_what_one_node_is_told_counts_on_all_and_for_a_node_that_comes_later(nodes: EngineNodes) -> None:
    find = FindCoordinatorRequest(coordinator_keys=[GROUP])

    async def finds(number: int) -> ErrorCode:
        answer = await ask(nodes, number, find, 4, ALICE)
        return ErrorCode(answer.coordinators[0].error_code)

    for number in (1, 2):
        assert await finds(number) == ErrorCode.GROUP_AUTHORIZATION_FAILED
    rule = AclCreation(
        resource_type=ResourceType.GROUP,
        resource_name=GROUP,
        resource_pattern_type=PatternType.LITERAL,
        principal=f"User:{ALICE}",
        host="*",
        operation=AclOperation.DESCRIBE,
        permission_type=Permission.ALLOW,
    )
    answer = await ask(nodes, 2, CreateAclsRequest(creations=[rule]), 3)
    assert [each.error_code for each in answer.results] == [0]
    assert await finds(2) == ErrorCode.NONE

    async def is_allowed() -> bool:
        return await finds(1) == ErrorCode.NONE

    await eventually_answered(is_allowed, "node 1 has the rule")
    await nodes.nodes[3].start()
    assert await finds(3) == ErrorCode.NONE

    removal = AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(ALICE, 1)])
    assert [each.error_code for each in (await ask(nodes, 1, removal, 0)).results] == [0]
    for number in (1, 2, 3):

        async def is_gone(number: int = number) -> bool:
            try:
                await finds(number)
            except (LoginError, ConnectionEnded):
                return True
            return False

        await eventually_answered(is_gone, f"node {number} knows that the user is gone")


async def test_the_nodes_watch_each_other_with_their_logins(nodes: EngineNodes) -> None:
    """A node whose process has ended is declared dead at once, and not after its lease."""

    def logins() -> int:
        found = re.search(r"http listen=127.0.0.1:(\d+)", nodes.nodes[2].daemon.log_text())
        assert found
        counted = re.search(r"^coordinator_successful_authentication_total (\d+)", scrape(int(found[1])), re.MULTILINE)
        assert counted
        return int(counted[1])

    await eventually_async(logins, "node 1 has logged in at node 2")
    await ask(nodes, 1, FindCoordinatorRequest(coordinator_keys=[GROUP]), 4)  # it has the answer to its login by then
    nodes.nodes[2].kill()
    lines = nodes.nodes[1].daemon.log_text
    await eventually_async(lambda: "its process has ended" in lines(), "node 1 has seen that its connection is refused")
    assert not nodes.complaints()


async def test_a_store_that_is_away_refuses_changes_and_lets_users_in(nodes: EngineNodes) -> None:
    for proxy in nodes.nodes[1].proxies:
        proxy.break_off(Way.REFUSING)
    removal = AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(ALICE, 1)])
    async with asyncio.timeout(60):
        (refused,) = (await ask(nodes, 1, removal, 0)).results
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "could not be kept in the shared store" in refused.error_message
