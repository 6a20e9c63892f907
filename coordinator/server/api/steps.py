"""Answers that take long to compute: in steps, with other requests between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def answer_in_steps(node: Node, ticket: Ticket, response: Any, steps: Iterator[None]) -> None:
    """Answer with `response` when `steps` has filled it in; at once, if the first step completes it."""
    for _ in steps:
        node.take_turns(ticket, _answer(node, ticket, response, steps))
        return
    node.reply(ticket, response)


def _answer(node: Node, ticket: Ticket, response: Any, steps: Iterator[None]) -> Iterator[None]:
    yield from steps
    node.reply(ticket, response)
