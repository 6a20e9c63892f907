"""A node that has the newest catalogue of topics: it waits for the next one, or for `max_wait_ms`.

It completes exactly once: by a change of the catalogue, by a newer request of the same node (the connection of the
older one is gone), or by the deadline with the news that there is nothing new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.topics.effects import Outbox


class DelayedFollow(DelayedOperation["Outbox"]):
    """The long poll of one FollowCatalogue request; `answer` says what there is by then."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Callable[[Outbox], None], deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._answer = answer

    def on_complete(self, context: Outbox) -> None:
        self._answer(context)
