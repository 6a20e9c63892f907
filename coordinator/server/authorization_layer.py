"""The layer before the handlers that enforces access rules, by the check of each API.

Heartbeats that are recognised by their bytes do not reach it, and recognised commits are let pass: their first request
was allowed in full. A change of the rules must make connections forget their templates (`Runtime.forget_templates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.server.api.authorization.groups import describable_topics
from coordinator.server.api.authorization.table import CHECKS, RESOLVES_TOPICS, UNGUARDED
from coordinator.server.api.authorization.verdict import Handle, HandleInSteps
from coordinator.server.api.steps import answer_in_steps
from coordinator.server.session_wrapper import SessionWrapper

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.security.acl.access import Access
    from coordinator.security.principal import Principal
    from coordinator.server.api.handler import Handle as Handler
    from coordinator.server.api.node import Node
    from coordinator.server.dispatch import Routes

AccessOf: TypeAlias = "Callable[[Principal, str, int], Access]"  # of a principal, an address and the key of an API


def install(routes: Routes, access_of: AccessOf) -> None:
    """Have every request checked. A layer that is added later comes before this one."""

    def authorize(handle: Handler, node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        key = ticket.api_key
        if key in UNGUARDED or isinstance(request, RepeatedCommit):
            handle(node, request, ticket, now_ms)
            return
        access = access_of(ticket.session.principal, ticket.client_host.removeprefix("/"), key)
        if key in RESOLVES_TOPICS:
            ticket.describable = describable_topics(access)
        verdict = CHECKS[key](request, ticket.version, access, node.topics)
        if verdict is None:
            handle(node, request, ticket, now_ms)
            return
        if isinstance(verdict, HandleInSteps):
            ticket.session = _AmendingSession(ticket.session, node, verdict.amend)
            handle(node, verdict.request, ticket, now_ms)
            return
        if isinstance(verdict, Handle):
            ticket.amend = verdict.amend
            handle(node, verdict.request, ticket, now_ms)
        else:
            ticket.amend = _as_it_is  # so that its bytes are not recognised, and answered as if it had been allowed
            node.reply(ticket, verdict.response)
        if verdict.disconnect:
            node.disconnect(ticket, verdict.disconnect)

    routes.add_layer(authorize)


def _as_it_is(response: Any) -> Any:
    return response


class _AmendingSession(SessionWrapper):
    """A connection whose answer is completed in steps before it is sent."""

    __slots__ = ("_amend", "_node")

    def __init__(self, session: Any, node: Node, amend: Callable[[Any], Iterator[None]]) -> None:
        super().__init__(session)
        self._node = node
        self._amend = amend

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Answer the ticket when the steps are done."""
        ticket.session = self._session
        answer_in_steps(self._node, ticket, response, self._amend(response))
