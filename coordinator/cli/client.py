"""A small blocking Kafka client for the admin commands: one request at a time, to this coordinator or to any Kafka.

Each connection first asks for ApiVersions, logs in if --command-config says so, and then uses the newest version that
both sides have. A request goes to any node, to the controller, to the coordinator of a group or to the leader of a
partition. After a retriable error (a coordinator that loads, an election) it is sent again until the time limit.

Where a newer version only moves fields (FindCoordinator from 4, OffsetFetch from 8), the older one is used, which every
broker from 1.0 on has. Failures are `CliError`s with one sentence.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from coordinator.cli.errors import CliError
from coordinator.cli.other_servers import kind_of_server
from coordinator.config.values import Address, ConfigError, parse_address
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import ClientConnection, common_versions
from protocol.codec import api_key_of
from protocol.error_codes import ErrorCode
from protocol.errors import EncodeError, ProtocolError, ResponseMismatchError
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.schema import Message

if TYPE_CHECKING:
    import argparse

    from coordinator.cli.command_config import CommandConfig

CLIENT_ID: Final = "coordinator-cli"
MAX_ANSWER: Final = 256 * 1024 * 1024
RETRY_PAUSE_S: Final = 0.1

_ERRORS: Final = {int(code): code for code in ErrorCode}
_RETRIABLE: Final = frozenset(number for number, code in _ERRORS.items() if code.retriable)

R = TypeVar("R")


class UnreachableError(CliError):
    """No server answers at an address, or it is not a Kafka broker."""


class NodeConnection:
    """One connection to one node. `config` has the settings of TLS and SASL; None: neither."""

    def __init__(self, address: Address, timeout_s: float, config: CommandConfig | None) -> None:
        self.address = address
        self._protocol = ClientConnection(CLIENT_ID, MAX_ANSWER)
        self._first_bytes = b""
        try:
            self._socket = socket.create_connection(address, timeout=timeout_s)
        except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host may be written so
            raise UnreachableError(
                f"cannot connect to {address} ({getattr(error, 'strerror', None) or error}); "
                "start it with `coordinator serve`, or name another with --bootstrap-server host:port"
            ) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if config is not None:
            self._socket = config.wrap(self._socket, address)
        try:
            self._versions = self._ask_versions()
            if config is not None:
                config.log_in(self)
        except UnreachableError:
            has_tls = config is not None and config.has_tls
            kind = None if has_tls else kind_of_server(self._socket, address, self._first_bytes)
            self._socket.close()
            if kind is None:
                raise
            raise UnreachableError(f"{address} does not answer as a Kafka broker: {kind}") from None
        except BaseException:
            self._socket.close()
            raise

    def _ask_versions(self) -> dict[int, range]:
        answer = self._exchange(ApiVersionsRequest(), 0, ApiVersionsResponse)  # every broker answers version 0 (KIP-35)
        if answer.error_code:
            raise CliError(f"{self.address} does not tell its versions: {explain(answer.error_code)}", 1)
        return {api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys}

    def call(self, request: Message, response: type[R], max_version: int | None = None) -> R:
        """Send in the newest version that both sides have, at most `max_version`, and return the response."""
        return self._exchange(request, self.version_for(api_key_of(request), max_version), response)

    def call_unlisted(self, request: Message, response: type[R]) -> R:
        """Send a request of this package's own, which ApiVersions does not list. A real Kafka ends the connection."""
        return self._exchange(request, codec.declared_versions(api_key_of(request))[-1], response)

    def offers(self, key: ApiKey) -> bool:
        """Return True if the node has this API in a version that this package has."""
        return bool(self._common_versions(key))

    def version_for(self, key: ApiKey, max_version: int | None = None) -> int:
        versions = [each for each in self._common_versions(key) if max_version is None or each <= max_version]
        if not versions:
            raise CliError(
                f"{self.address} does not offer {key.name} in a version known here; update the older side", 1
            )
        return versions[-1]

    def _common_versions(self, key: ApiKey) -> range:
        return common_versions(key, self._versions.get(key, range(0)))

    def _exchange(self, request: Message, version: int, response: type[R]) -> R:
        try:
            frame = self._protocol.send(request, version)
        except EncodeError as error:
            raise CliError(f"the request does not fit Kafka's protocol: {error}") from None
        try:
            self._socket.sendall(frame)
            answer = self._receive()
        except TimeoutError:
            raise UnreachableError(
                f"{self.address} did not answer in time; try a longer --timeout, or see whether it serves Kafka"
            ) from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or error  # the first: of TLS
            raise UnreachableError(
                f"{self.address} ended the connection ({reason}); see its log, and if it wants TLS, a certificate or a "
                "login (SASL), give the settings in a file by --command-config"
            ) from None
        except ResponseMismatchError:
            raise UnreachableError(
                f"{self.address} answered another request than the one sent; is a proxy between?"
            ) from None
        except ProtocolError as error:
            raise UnreachableError(
                f"{self.address} does not answer as a Kafka broker ({error}); give the address of a Kafka listener"
            ) from None
        assert isinstance(answer, response)
        return answer

    def _receive(self) -> Message:
        while data := self._socket.recv(1 << 16):
            self._first_bytes = self._first_bytes or data[:16]
            if responses := self._protocol.receive(data):
                return responses[0]
        raise ConnectionResetError(0, "closed without an answer")

    def close(self) -> None:
        self._socket.close()


class Client:
    """The nodes of one cluster, connected on first use. Use it as a context manager."""

    def __init__(self, bootstrap: str, timeout_s: float = 10.0, config: CommandConfig | None = None) -> None:
        try:
            self._bootstrap = [parse_address(entry) for entry in bootstrap.split(",") if entry.strip()]
        except ConfigError as error:
            raise CliError(f"--bootstrap-server: {error}") from None
        if not self._bootstrap:
            raise CliError("--bootstrap-server names no address; write host:port")
        self._timeout_s = timeout_s
        self._config = config
        self._deadline = time.monotonic() + timeout_s
        self._connections: dict[Address, NodeConnection] = {}
        self._nodes: dict[int, Address] = {}
        self._controller_id = -1

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections.values():
            connection.close()

    def any_node(self) -> NodeConnection:
        """Return a connection to the first bootstrap address that answers."""
        failure: CliError | None = None
        for address in self._bootstrap:
            try:
                return self._connect(address)
            except UnreachableError as error:
                failure = failure or error
        raise failure or CliError("no address to connect to")

    def metadata(self, topics: list[str] | None, connection: NodeConnection | None = None) -> MetadataResponse:
        """Return the nodes and these topics (None: all), as one node knows them. Creates no topic."""
        # An empty list means all topics in version 0 only; null exists from version 1 on, and the flag from 4.
        request = MetadataRequest(
            topics=None if topics is None else [MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=False,
        )
        answer = (connection or self.any_node()).call(request, MetadataResponse, max_version=12)
        self._nodes = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
        self._controller_id = answer.controller_id
        return answer

    def node_ids(self) -> list[int]:
        if not self._nodes:
            self.metadata([])
        return sorted(self._nodes)

    def node(self, node_id: int) -> NodeConnection:
        """Return a connection to one node, at the address that it advertises."""
        if node_id not in self._nodes:
            self.metadata([])
        address = self._nodes.get(node_id)
        if address is None:
            raise CliError(f"node {node_id} is not in the cluster at the moment; try again", 1)
        if len(self._nodes) == 1:
            return self.any_node()  # it is the one that answered, and may advertise an address for other clients
        try:
            return self._connect(address)
        except UnreachableError as error:
            raise UnreachableError(
                f"node {node_id} is down, or advertises an address that does not serve this machine: {error}"
            ) from None

    def controller(self) -> NodeConnection:
        self.metadata([])
        return self.node(self._controller_id)

    def coordinator(self, group: str) -> tuple[int, NodeConnection]:
        """Return the node id of the coordinator of a group, and a connection to it."""

        def ask() -> tuple[int, FindCoordinatorResponse]:
            answer = self.any_node().call(FindCoordinatorRequest(key=group), FindCoordinatorResponse, max_version=3)
            return answer.error_code, answer

        answer = self.patiently(f"who coordinates group {group!r}", ask)
        return answer.node_id, self.node(answer.node_id)

    def patiently(self, what: str, ask: Callable[[], tuple[int, R]]) -> R:
        """Repeat `ask` until its error code is 0; retriable errors are repeated until the deadline."""
        while True:
            code, answer = ask()
            if not code:
                return answer
            if code not in _RETRIABLE or time.monotonic() >= self._deadline:
                raise CliError(f"{what}: {explain(code)}", 1)
            time.sleep(RETRY_PAUSE_S)

    def _connect(self, address: Address) -> NodeConnection:
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = NodeConnection(address, self._timeout_s, self._config)
        return connection


def client_of(arguments: argparse.Namespace) -> Client:
    """Return the client that the arguments of `add_server` ask for."""
    return Client(arguments.bootstrap_server, arguments.timeout, read_command_config(arguments.command_config))


def read_command_config(path: Path | None) -> CommandConfig | None:
    if path is None:
        return None
    from coordinator.cli.command_config import CommandConfig  # late: TLS takes longer to import than all the rest

    return CommandConfig(path)


def explain(code: int, message: str | None = None) -> str:
    """Describe an error code: its name, and the message of the server if it sent one."""
    known = _ERRORS.get(code)
    if known is None:
        return message or f"error {code}, which is not known here"
    return f"{known.name}: {message or known.message}"
