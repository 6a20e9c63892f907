"""Three nodes whose clients and links have TLS and logins, with access rules; and their administrator.

Each node has two listeners: CLIENTS, and NODES for the other nodes. The users are in the file of the controller, which
is node 1, and at first nowhere else.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coordinator.security.credentials import document_of
from coordinator.security.scram import BY_NAME, SCRAM_SHA_256, credential_of
from coordinator.storage.file_names import USERS_NAME
from tests.support.certificates import Authority
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.nodes import ATTEMPTS, CLUSTER_ID, OFFSETS_PARTITIONS, free_ports
from tests.support.wire import Wire

ADMIN, NODE, ALICE = "admin", "node", "alice"
PASSWORDS: Final = {ADMIN: "of the administrator", NODE: "of the nodes", ALICE: "of a client"}
MECHANISM: Final = SCRAM_SHA_256.name
ITERATIONS: Final = 4096
FOLLOWS: Final = f"{USERS_NAME} follows the controller"
_JAAS: Final = (
    f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{NODE}" password="{PASSWORDS[NODE]}";'
)


def write_users(data_dir: Path) -> None:
    """Write the users, as `coordinator users add --data-dir` does."""
    users = {
        name: {row: credential_of(row, password, name.encode(), ITERATIONS) for row in BY_NAME.values()}
        for name, password in PASSWORDS.items()
    }
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / USERS_NAME).write_text(document_of(users))


class SecuredNodes:
    """Daemons by node id. `clients` and `links`: the security protocols of the two listeners."""

    def __init__(
        self,
        directory: Path,
        *,
        count: int = 3,
        clients: str = "SASL_SSL",
        links: str = "SASL_SSL",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.authority = Authority(directory)
        self.certificate = self.authority.issue("node")
        self.daemons: dict[int, Daemon] = {}
        self.links: dict[int, int] = {}  # ports of the listener for nodes
        self._count = count
        self._clients = clients
        self._settings = {
            "listener.security.protocol.map": f"CLIENTS:{clients},NODES:{links}",
            "inter.broker.listener.name": "NODES",
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            f"listener.name.nodes.{MECHANISM.lower()}.sasl.jaas.config": _JAAS,
            "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "ssl.keystore.location": str(self.certificate.pem),
            "ssl.truststore.location": str(self.authority.pem),
            "authorizer.class.name": "acl",
            "super.users": f"User:{ADMIN};User:{NODE}",
            "cluster.id": CLUSTER_ID,
            "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
            "group.initial.rebalance.delay.ms": "0",
            **(settings or {}),
        }

    def __enter__(self) -> SecuredNodes:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            for daemon in self.daemons.values() if kind is None else ():
                daemon.stop()
        finally:
            for daemon in self.daemons.values():
                daemon.kill()

    def __getitem__(self, number: int) -> Daemon:
        return self.daemons[number]

    @property
    def bootstrap(self) -> str:
        return ",".join(daemon.address for daemon in self.daemons.values())

    def prepare(self) -> None:
        """Make the daemons, with ports of their own, and start none."""
        ports, links = free_ports(self._count), free_ports(self._count)
        numbers = range(1, self._count + 1)
        self.links = dict(zip(numbers, links, strict=True))
        for number, port in zip(numbers, ports, strict=True):
            directory = self.directory / f"node-{number}"
            directory.mkdir(exist_ok=True)
            settings = {
                **self._settings,
                "node.id": str(number),
                "cluster.nodes": _listed(ports),
                "listener.name.nodes.cluster.nodes": _listed(links),
            }
            file = directory / "server.properties"
            file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
            daemon = self.daemons[number] = _Node(directory, links[number - 1], file)
            daemon.port = port
        write_users(self.daemons[1].data_dir)

    def start(self) -> SecuredNodes:
        """Start all of them at once, and return when all are ready and have the users of the controller."""
        for _ in range(ATTEMPTS):
            self.prepare()
            for daemon in self.daemons.values():
                daemon.spawn()
            try:
                for daemon in self.daemons.values():
                    daemon.await_ready()
            except AssertionError:
                for daemon in self.daemons.values():
                    daemon.kill()
                if not any("is in use" in daemon.log_text() for daemon in self.daemons.values()):
                    raise
                continue
            for daemon in list(self.daemons.values())[1:]:
                eventually(lambda daemon=daemon: FOLLOWS in daemon.log_text(), "the node has the users")  # type: ignore[misc]
            return self
        raise AssertionError("no free ports found")

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.pem))

    async def wire(self, port: int, user: str, password: str = "", *, has_tls: bool = True) -> Wire:
        """Connect to a port and log in as a user. Raises LoginError."""
        login = MECHANISM, user, password or PASSWORDS[user]
        return await Wire.connect(port, tls=self.tls if has_tls else None, login=login)

    def client(self, user: str = ALICE) -> dict[str, Any]:
        """Return the settings of a client of aiokafka."""
        return {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": self._clients,
            "ssl_context": self.tls,
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": user,
            "sasl_plain_password": PASSWORDS[user],
        }


class _Node(Daemon):
    """A node with its two listeners."""

    def __init__(self, directory: Path, link: int, settings: Path) -> None:
        super().__init__(directory, arguments=["--config", str(settings)])
        self._link = link

    @property
    def listen(self) -> str:
        return f"CLIENTS://{self.address},NODES://127.0.0.1:{self._link}"


def _listed(ports: list[int]) -> str:
    return ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1))
