"""Recognise a Heartbeat that is the same as the last one of its connection, byte for byte but for the correlation id.

Nothing of it is decoded, and its answer is the same for everybody, put together from what the route has ready. What the
heartbeat does to the group is the core's (`HeartbeatTemplate`), which also says when it may no longer be taken for
granted. Decision 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.core.group.heartbeat import HeartbeatTemplate
    from coordinator.server.dispatch import Route

# The correlation id is bytes 4 to 8 of a frame, and 8 to 12 of a read, where the length stands first. They are written
# out where they are used: a slice object as an index of bytes is a TypeError in a compiled module.


class HeartbeatFrame:
    """The frame of a heartbeat that succeeded. All that the next one needs lies together, for the processor's sake."""

    __slots__ = ("_body", "_head", "_memo", "_read_head", "_size", "_tail", "read_size", "size")

    def __init__(self, frame: bytes, memo: HeartbeatTemplate, route: Route) -> None:
        self.size = len(frame)
        self.read_size = 4 + len(frame)
        self._head = frame[:4]
        self._tail = frame[8:]
        self._read_head = len(frame).to_bytes(4, "big") + self._head
        self._memo = memo
        self._size = route.success_size
        self._body = route.success_body

    def answer(self, frame: bytes, now_ms: int) -> bytes | None:
        """The answer to a frame of the same size, after the session was renewed; None: take the long way."""
        if frame.endswith(self._tail) and frame.startswith(self._head) and self._memo.renew(now_ms):
            return self._size + frame[4:8] + self._body
        return None

    def answer_to_read(self, data: bytes, now_ms: int) -> bytes | None:
        """The same for a read of `read_size`: a frame behind its length."""
        if data.endswith(self._tail) and data.startswith(self._read_head) and self._memo.renew(now_ms):
            return self._size + data[8:12] + self._body
        return None
