"""Workers with several listeners, TLS, logins and access rules: one daemon, of which each worker has the same users."""

from __future__ import annotations

import os
import re
import signal
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from coordinator.security.sasl_client import LoginError
from coordinator.security.scram import SCRAM_SHA_256
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialDeletion
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.support.certificates import Authority
from tests.support.daemon import Daemon
from tests.support.eventually import eventually, eventually_answered
from tests.support.nodes import free_ports
from tests.support.secured_cluster import ADMIN, ALICE, MECHANISM, PASSWORDS, write_users
from tests.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.integration

WORKERS: Final = 2
TOPIC, PARTITIONS = "orders", 4


class SecuredWorkers(Daemon):
    """A daemon with workers, a listener with TLS and logins, and one in plaintext for administration."""

    def __init__(self, directory: Path, others: Mapping[str, str] | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(directory)
        secure, plain = free_ports(WORKERS), free_ports(WORKERS)
        self.secure, self.plain = dict(enumerate(secure, 1)), dict(enumerate(plain, 1))
        settings = {
            "listener.security.protocol.map": "SECURE:SASL_SSL,LOCAL:SASL_PLAINTEXT",
            "ssl.keystore.location": str(self.authority.issue("node").pem),
            "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "authorizer.class.name": "acl",
            "super.users": f"User:{ADMIN}",
            "workers": str(WORKERS),
            "worker.ports": ",".join(map(str, secure)),
            "listener.name.local.worker.ports": ",".join(map(str, plain)),
            "http.token": "of the console",
            "group.initial.rebalance.delay.ms": "0",
            **(others or {}),
        }
        file = directory / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        super().__init__(directory, arguments=["--config", str(file)], http="127.0.0.1:0")
        write_users(self.data_dir)

    @property
    def listen(self) -> str:
        return f"SECURE://127.0.0.1:{self.secure[1]},LOCAL://127.0.0.1:{self.plain[1]}"

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.pem))

    async def wire(self, number: int, user: str, *, is_plain: bool = False) -> Wire:
        """Connect to a worker. Raises LoginError."""
        login = MECHANISM, user, PASSWORDS[user]
        port = self.plain[number] if is_plain else self.secure[number]
        return await Wire.connect(port, tls=None if is_plain else self.tls, login=login)

    async def ask(self, number: int, request: Any, version: int, user: str = ADMIN, *, is_plain: bool = False) -> Any:
        async with await self.wire(number, user, is_plain=is_plain) as wire:
            return await wire.send(request, version)

    async def lets_in(self, number: int, user: str) -> bool:
        try:
            async with await self.wire(number, user):
                return True
        except (LoginError, ConnectionEnded, OSError):
            return False

    def client(self, user: str) -> dict[str, Any]:
        return {
            "bootstrap_servers": f"127.0.0.1:{self.secure[2]}",
            "security_protocol": "SASL_SSL",
            "ssl_context": self.tls,
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": user,
            "sasl_plain_password": PASSWORDS[user],
        }

    def worker_pids(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def get(self, path: str) -> str:
        (*_, address) = re.findall(r"http listen=(\S+)", self.log_text())
        request = urllib.request.Request(f"http://{address}{path}", headers={"Authorization": "Bearer of the console"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read().decode())


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredWorkers]:
    with SecuredWorkers(tmp_path_factory.mktemp("secured-workers")) as made:
        yield made


async def test_each_listener_tells_its_clients_its_own_addresses(daemon: SecuredWorkers) -> None:
    request = MetadataRequest(topics=[])
    for number in (1, 2):
        secure = await daemon.ask(number, request, 9)
        plain = await daemon.ask(number, request, 9, is_plain=True)
        assert {each.node_id: each.port for each in secure.brokers} == daemon.secure
        assert {each.node_id: each.port for each in plain.brokers} == daemon.plain


async def test_a_group_works_across_workers(daemon: SecuredWorkers) -> None:
    await daemon.ask(1, CreateTopicsRequest(topics=[CreatableTopic(TOPIC, PARTITIONS, 1)]), 5)
    async with AIOKafkaProducer(**daemon.client(ADMIN)) as producer:
        for partition in range(PARTITIONS):
            await producer.send_and_wait(TOPIC, b"some", partition=partition)
    consumer = AIOKafkaConsumer(TOPIC, group_id="g", auto_offset_reset="earliest", **daemon.client(ADMIN))
    async with consumer:
        seen = set()
        async for record in consumer:
            seen.add(record.partition)
            if len(seen) == PARTITIONS:
                break
        await consumer.commit()
    eventually(lambda: '"g"' in daemon.get("/api/groups"), "the console asks all workers")


async def test_a_user_that_one_worker_removes_is_gone_at_all_and_after_a_restart(daemon: SecuredWorkers) -> None:
    for number in (1, 2):
        assert await daemon.lets_in(number, ALICE)
    removed = [ScramCredentialDeletion(ALICE, SCRAM_SHA_256.type)]
    answer = await daemon.ask(2, AlterUserScramCredentialsRequest(deletions=removed), 0)
    assert [each.error_code for each in answer.results] == [ErrorCode.NONE]
    await eventually_answered(lambda: _not(daemon.lets_in(2, ALICE)), "the second worker has heard of it")
    pids = daemon.worker_pids()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for number in (1, 2):
        await eventually_answered(lambda number=number: daemon.lets_in(number, ADMIN), f"worker {number} is back")
        assert not await daemon.lets_in(number, ALICE)
    assert not set(pids) & set(daemon.worker_pids())


async def _not(asked: Any) -> bool:
    return not await asked


async def test_the_internal_listeners_need_the_secret_of_the_daemon(daemon: SecuredWorkers) -> None:
    following = re.findall(r"following node=1 address=127\.0\.0\.1:(\d+)", daemon.log_text())
    assert following, daemon.log_tail()
    port = int(following[-1])
    assert port not in (*daemon.secure.values(), *daemon.plain.values())
    with pytest.raises(LoginError):
        await Wire.connect(port, login=("PLAIN", "daemon", "guessed"))
    async with await Wire.connect(port) as wire:
        with pytest.raises(ConnectionEnded):
            await wire.send(MetadataRequest(topics=[]), 9)


async def test_workers_share_users_also_where_the_first_listener_is_open(tmp_path: Path) -> None:
    settings = {"authorizer.class.name": "", "listener.security.protocol.map": "SECURE:PLAINTEXT,LOCAL:SASL_PLAINTEXT"}
    removed = AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(ALICE, SCRAM_SHA_256.type)])
    with SecuredWorkers(tmp_path, settings) as daemon:
        async with await Wire.connect(daemon.secure[2]) as wire:
            answer = await wire.send(removed, 0)
        assert [each.error_code for each in answer.results] == [ErrorCode.NONE]

        async def is_gone() -> bool:
            try:
                async with await daemon.wire(1, ALICE, is_plain=True):
                    return False
            except LoginError:
                return True

        await eventually_answered(is_gone, "the first worker has removed the user")
