"""A fetch that found too little: it waits for enough bytes, or for `max_wait_ms`, whichever comes first.

It watches every partition it reads. When one of them gets something, or is gone, `try_complete` asks the fetch whether
that is enough; the answer is then read once, at completion, so a waiting fetch holds no data. It completes exactly
once: by the event, or by the deadline with whatever there is by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.topics.effects import Outbox


class WaitingFetch(Protocol):
    """What waits: see `coordinator.core.topics.fetch`."""

    def is_satisfied(self) -> bool:
        """Whether it can be answered with enough bytes, or must be answered with an error."""

    def finish(self, out: Outbox) -> None:
        """Read what is there and answer."""


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
