"""One HTTP connection without blocking calls: reads the head of a request and writes the response.

The selector of the server reports when the socket can be read or written. A head is complete at its empty line; a
connection whose head is longer than http.max.head.bytes is closed.
"""

from __future__ import annotations

import socket
from typing import Final

READ_BYTES: Final = 4096
ENDS_OF_HEAD: Final = (b"\r\n\r\n", b"\n\n")


class HttpConnection:
    """A connection that must be closed by `deadline`, in seconds of the monotonic clock."""

    __slots__ = ("_most_head", "_unsent", "address", "deadline", "head", "is_asked", "socket")

    def __init__(self, accepted: socket.socket, address: str, deadline: float, most_head: int) -> None:
        accepted.setblocking(False)
        self.socket = accepted
        self.address = address
        self.deadline = deadline
        self._most_head = most_head  # bytes
        self.head = b""
        self.is_asked = False  # the head is complete
        self._unsent = memoryview(b"")

    def read(self) -> bool:
        """Read what has arrived. False: the connection is to be closed without a response."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self.head += data
        self.is_asked = any(end in self.head for end in ENDS_OF_HEAD)
        return self.is_asked or len(self.head) <= self._most_head

    def answer(self, data: bytes) -> bool:
        """Send as much of the response as the socket takes. False: the connection is to be closed."""
        self._unsent = memoryview(data)
        return self.write()

    def write(self) -> bool:
        """Continue to send. False: the connection is to be closed, because all was sent or sending failed."""
        try:
            sent = self.socket.send(self._unsent)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._unsent = self._unsent[sent:]
        return len(self._unsent) > 0

    def close(self) -> None:
        self.socket.close()
