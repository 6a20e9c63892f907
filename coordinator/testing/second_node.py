"""A second address of the same server, to which the coordinator of a group can move.

Clients see two nodes in Metadata. A group that was moved is answered NOT_COORDINATOR at the node that it left, and
FindCoordinator names the other one. Both addresses lead to the same groups, so a move keeps members and offsets, as
the loading of the group by another node would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.connection import Connection
from coordinator.server.faults import APIS_WITH_GROUPS, GROUP_APIS, groups_of
from coordinator.server.session_wrapper import SessionWrapper
from coordinator.testing.errors import CoordinatorTestingError
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataResponseBroker

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

APIS: Final = APIS_WITH_GROUPS | {ApiKey.METADATA}


class SecondNode:
    """The second address of a server, and the groups that are there."""

    def __init__(self, runtime: Runtime, on_layer: Callable[[], None]) -> None:
        self._runtime = runtime
        self._on_layer = on_layer  # called after this has put its layer before those that were there
        self._server: asyncio.Server | None = None
        self._moved: set[str] = set()
        me = runtime.cluster.me
        self._node = MetadataResponseBroker(node_id=me.id + 1, host=me.host, port=0)

    async def move(self, group: str) -> int:
        """Move the coordinator of a group to the other node. Returns the id of the node."""
        if self._server is None:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: Connection(self._runtime), self._node.host, 0
            )
            self._node.port = self._server.sockets[0].getsockname()[1]
            self._runtime.routes.add_layer(self._intercept, APIS)
            self._on_layer()
            self._runtime.forget_templates()
        if group in self._moved:
            self._moved.remove(group)
            return self._runtime.cluster.me.id
        most = self._runtime.config.test_verbs_max_moved_groups
        if len(self._moved) >= most:
            raise CoordinatorTestingError(f"{most} groups are at the other node already; move some of them back first")
        self._moved.add(group)
        return self._node.node_id

    def close(self) -> None:
        """Close the second address."""
        if self._server is not None:
            self._server.close()

    def descriptors(self) -> list[int]:
        """Return the descriptors of its listening sockets."""
        return [] if self._server is None else [each.fileno() for each in self._server.sockets]

    def _intercept(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        api = ApiKey(ticket.api_key)
        if api in GROUP_APIS:
            is_second = getattr(ticket.session, "local_port", 0) == self._node.port
            if any((group in self._moved) is not is_second for group in groups_of(request)):
                node.reply(ticket, ERROR_RESPONSES[api](request, ErrorCode.NOT_COORDINATOR))
                return
        else:
            rewrite = self._add_node if api is ApiKey.METADATA else self._name_coordinator
            ticket.session = _Rewriting(ticket.session, rewrite)
        handle(node, request, ticket, now_ms)

    def _add_node(self, response: Any) -> None:
        response.brokers.append(self._node)

    def _name_coordinator(self, response: Any) -> None:
        for found in response.coordinators:
            if found.key in self._moved and not found.error_code:
                found.node_id, found.host, found.port = self._node.node_id, self._node.host, self._node.port


class _Rewriting(SessionWrapper):
    """The connection of a ticket whose answer is changed on its way."""

    __slots__ = ("_rewrite",)

    def __init__(self, session: Any, rewrite: Callable[[Any], None]) -> None:
        super().__init__(session)
        self._rewrite = rewrite

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Change the answer and send it."""
        self._rewrite(response)
        super().answer(ticket, response)
