"""Delayed fetch: waits for enough bytes, or for `max_wait_ms`, whichever comes first.

It watches every partition it reads. When one of them grows or is deleted, `try_complete` asks the fetch whether there
is enough. Data is read once, at completion, so a waiting fetch holds none. It completes exactly once: by such an event,
or with the data there is: at the deadline, or when its connection has another request behind it, whose answer would
wait for the deadline, too. Source: Kafka's DelayedFetch, whose connection is not read meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.topics.effects import Outbox


class WaitingFetch(Protocol):
    """A fetch that can wait (`coordinator.core.topics.fetch`)."""

    def is_satisfied(self) -> bool:
        """Return True if there are enough bytes, or an error must be returned."""

    def finish(self, out: Outbox) -> None:
        """Read the data there is and respond."""


class DelayedFetch(DelayedOperation["Outbox"]):
    """The long poll of one Fetch request."""

    __slots__ = ("fetch",)

    def __init__(self, fetch: WaitingFetch, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.fetch = fetch

    def try_complete(self, context: Outbox) -> bool:
        return self.fetch.is_satisfied() and self.force_complete(context)

    def on_complete(self, context: Outbox) -> None:
        self.fetch.finish(context)

    def __repr__(self) -> str:
        return f"<DelayedFetch until {self.fires_at_ms} ms: {self.fetch!r}>"
