"""A second address of each listener of the same server, to which the coordinator of a group can move.

Clients see two nodes in Metadata. A group that was moved is answered NOT_COORDINATOR at the node that it left, and
FindCoordinator names the other one. Both addresses lead to the same groups, so a move keeps members and offsets, as
the loading of the group by another node would. The second address asks for the same TLS and login as the first.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.values import ALL_INTERFACES, Address
from coordinator.security.principal import INTERNAL
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.faults import APIS_WITH_GROUPS, GROUP_APIS, groups_of
from coordinator.server.listening import Listening
from coordinator.server.session_wrapper import SessionWrapper
from coordinator.server.startup import StartupError
from coordinator.testing.errors import CoordinatorTestingError
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataResponseBroker

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

APIS: Final = APIS_WITH_GROUPS | {ApiKey.METADATA, ApiKey.API_VERSIONS}


class SecondNode:
    """The second addresses of a server, and the groups that are there. `config`: with the ports that are bound."""

    def __init__(self, runtime: Runtime, config: Config, on_layer: Callable[[], None]) -> None:
        self._runtime = runtime
        self._config = config
        self._on_layer = on_layer  # called after this has put its layer before those that were there
        self._listening: Listening | None = None
        self._ports: dict[str, int] = {}  # by the name of the listener
        self._moved: set[str] = set()
        self._id = runtime.cluster.node_id + 1

    async def move(self, group: str) -> int:
        """Move the coordinator of a group to the other node. Returns the id of the node."""
        if self._listening is None:
            self._listening = await self._open()
            self._runtime.routes.add_layer(self._intercept, APIS)
            self._on_layer()
            self._runtime.forget_templates()
        if group in self._moved:
            self._moved.remove(group)
            return self._id - 1
        most = self._runtime.config.test_verbs_max_moved_groups
        if len(self._moved) >= most:
            raise CoordinatorTestingError(f"{most} groups are at the other node already; move some of them back first")
        self._moved.add(group)
        return self._id

    async def _open(self) -> Listening:
        try:
            listening = Listening(_with_free_ports(self._config), self._runtime.wall_ms)
            try:
                await listening.serve(self._runtime, self._runtime.users.credentials)
            except BaseException:
                listening.close()
                raise
        except StartupError as error:
            raise CoordinatorTestingError(f"the second address cannot be opened: {error}") from None
        self._ports = {each.listener.name: each.address.port for each in listening.bound}
        return listening

    def close(self) -> None:
        """Close the second addresses."""
        if self._listening is not None:
            self._listening.close()

    def descriptors(self) -> list[int]:
        """Return the descriptors of its listening sockets."""
        return [] if self._listening is None else self._listening.descriptors()

    def _intercept(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        api = ApiKey(ticket.api_key)
        if ticket.session.principal.type == INTERNAL:  # the console, which has an address of its own
            handle(node, request, ticket, now_ms)
            return
        is_second = getattr(ticket.session, "local_port", 0) in self._ports.values()
        if api is ApiKey.API_VERSIONS:
            if is_second:
                request.node_id = self._id_for_handler(request.node_id)
        elif api in GROUP_APIS:
            if any((group in self._moved) is not is_second for group in groups_of(request)):
                node.reply(ticket, ERROR_RESPONSES[api](request, ErrorCode.NOT_COORDINATOR))
                return
        else:
            rewrite = self._add_node if api is ApiKey.METADATA else self._name_coordinator
            ticket.session = _Rewriting(ticket.session, rewrite, self._seen_by(ticket))
        handle(node, request, ticket, now_ms)

    def _id_for_handler(self, node_id: int) -> int:
        """Return the id by which the handler, which knows the first node only, judges a client of the second one."""
        return {self._id: self._id - 1, self._id - 1: self._id}.get(node_id, node_id)

    def _seen_by(self, ticket: Ticket) -> MetadataResponseBroker:
        """Return the second node under its address for the client of a ticket."""
        listener = ticket.session.listener
        host = listener.seen(self._runtime.cluster.me).host
        return MetadataResponseBroker(node_id=self._id, host=host, port=self._ports[listener.name])

    def _add_node(self, response: Any, seen: MetadataResponseBroker) -> None:
        response.brokers.append(seen)

    def _name_coordinator(self, response: Any, seen: MetadataResponseBroker) -> None:
        for found in response.coordinators:
            if found.key in self._moved and not found.error_code:
                found.node_id, found.host, found.port = seen.node_id, seen.host, seen.port


def _with_free_ports(config: Config) -> Config:
    """Return the settings of listeners at free ports, whose clients are told the addresses of the first node for it."""
    found = {each.name: each.address for each in config.client_listeners}
    return replace(
        config,
        listeners=",".join(f"{name}://{address._replace(port=0)}" for name, address in found.items()),
        advertised_listeners=",".join(f"{name}://{_told(config, name, found[name])}" for name in found),
    )


def _told(config: Config, name: str, bound: Address) -> Address:
    """Return the address that clients of a listener are told; the same as in `coordinator.server.listening`."""
    told = config.advertised_addresses.get(name)
    host = told.host if told else socket.gethostname() if bound.host in ALL_INTERFACES else bound.host
    return Address(host, told.port if told and told.port else bound.port)


class _Rewriting(SessionWrapper):
    """The connection of a ticket whose answer is changed on its way."""

    __slots__ = ("_rewrite", "_seen")

    def __init__(
        self, session: Any, rewrite: Callable[[Any, MetadataResponseBroker], None], seen: MetadataResponseBroker
    ) -> None:
        super().__init__(session)
        self._rewrite = rewrite
        self._seen = seen

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Change the answer and send it."""
        self._rewrite(response, self._seen)
        super().answer(ticket, response)
