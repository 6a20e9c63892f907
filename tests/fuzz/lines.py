"""The connections of one session of the fuzzer, and what the daemon did with each."""

from __future__ import annotations

import socket
from collections import Counter
from random import Random
from typing import Final

from protocol.errors import ProtocolError
from protocol.frames import FrameReader

ANSWER_S: Final = 0.05  # how long a session waits for an answer: many are never answered, or late
CONNECT_S: Final = 20.0
MOST_BYTES: Final = 1 << 27  # of an answer


class _Line:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(ANSWER_S)
        self.local_port: int = self.socket.getsockname()[1]
        self.reader = FrameReader(MOST_BYTES)


class Lines:
    """Connections by number. Each is opened when it is first used, and again after it was closed."""

    def __init__(self, port: int, chance: Random) -> None:
        self._port = port
        self._chance = chance
        self._open: dict[int, _Line] = {}
        self.closed: Counter[int] = Counter()  # by local port: how often the daemon closed that connection
        self.opened: list[int] = []

    def send(self, number: int, data: bytes) -> None:
        """Send bytes, in one piece or in some."""
        line = self._open.get(number) or self._connect(number)
        size = max(len(data) // self._chance.choice((1, 1, 1, 2, 5)), 1)
        try:
            for start in range(0, len(data), size):
                line.socket.sendall(data[start : start + size])
        except TimeoutError:
            self.hang_up(number)
        except OSError:
            self._was_closed(number)

    def answers(self, number: int) -> list[bytes]:
        """Return the frames that came, after a wait for the first one; none if there is none soon."""
        frames: list[bytes] = []
        while number in self._open and not frames:
            line = self._open[number]
            try:
                data = line.socket.recv(1 << 16)
                frames = line.reader.feed(data)
            except TimeoutError:
                break
            except (OSError, ProtocolError):
                data = b""
            if not data:
                self._was_closed(number)
        return frames

    def hang_up(self, number: int) -> None:
        line = self._open.pop(number, None)
        if line is not None:
            line.socket.close()

    def hang_up_all(self) -> None:
        for number in list(self._open):
            self.hang_up(number)

    def _connect(self, number: int) -> _Line:
        line = self._open[number] = _Line(self._port)
        self.opened.append(line.local_port)
        return line

    def _was_closed(self, number: int) -> None:
        self.closed[self._open[number].local_port] += 1
        self.hang_up(number)
