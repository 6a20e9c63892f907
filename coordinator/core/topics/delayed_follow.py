"""Delayed FollowCatalogue: a node with the newest catalogue of topics waits for the next one, or for `max_wait_ms`.

It completes exactly once: by a change of the catalogue, by a newer request of the same node (the connection of the
older one is closed), or at the deadline with the response that nothing changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.topics.effects import Outbox


class DelayedFollow(DelayedOperation["Outbox"]):
    """The long poll of one FollowCatalogue request; `respond` is called at its end."""

    __slots__ = ("_respond",)

    def __init__(self, respond: Callable[[Outbox], None], deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._respond = respond

    def on_complete(self, context: Outbox) -> None:
        self._respond(context)
