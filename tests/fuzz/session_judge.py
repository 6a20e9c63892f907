"""The rules that hold after each session of `sessions`, whatever it sent."""

from __future__ import annotations

import socket
import time
from collections import Counter
from typing import Any, Final

from coordinator.server.line_limit import BURST
from protocol import codec
from protocol.client import decode_response, encode_frame
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.fuzz.recorded_session import RecordedSession
from tests.fuzz.session import Session, commit_request
from tests.support.daemon import Daemon
from tests.support.wire import receive_frame

CONTROL: Final = "the-control-group"
CONTROL_TOPIC: Final = "the-control-topic"  # sessions may delete any other
CONTROL_S: Final = 20.0
MOST_GROWTH_KB: Final = 300_000
FORBIDDEN: Final = ("Traceback", "please report this", "Task exception", "never awaited")


class Control:
    """A healthy client on one connection, which commits and reads what it committed."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=CONTROL_S)
        self.port = self._connection.getsockname()[1]
        self._sent = 0
        self.offset = 0

    def check(self) -> float:
        """Commit another offset and read it back; returns the seconds that this took."""
        begun = time.monotonic()
        before = self.committed()
        assert before == {0: self.offset, 1: self.offset} or not self.offset, f"{before} instead of {self.offset}"
        self.offset += 1
        answered = self._ask(commit_request(CONTROL, self.offset, topic=CONTROL_TOPIC), 8)
        assert [each.error_code for topic in answered.topics for each in topic.partitions] == [0, 0], answered
        after = self.committed()
        assert after == {0: self.offset, 1: self.offset}, f"{after} instead of {self.offset}"
        return time.monotonic() - begun

    def committed(self) -> dict[int, int]:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=CONTROL, topics=None)])
        (group,) = self._ask(request, 8).groups
        assert not group.error_code, group
        return {each.partition_index: each.committed_offset for topic in group.topics for each in topic.partitions}

    def _ask(self, message: Any, version: int) -> Any:
        self._sent += 1
        self._connection.sendall(encode_frame(message, version, self._sent, "control"))
        frame = receive_frame(self._connection)
        assert frame, "the daemon closed the connection of a healthy client"
        correlation_id, answer = decode_response(codec.api_key_of(message), version, frame)
        assert correlation_id == self._sent, "an answer to another request"
        return answer

    def close(self) -> None:
        self._connection.close()


class Judge:
    """Checks what must hold after each session."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._control = Control(daemon.port)
        self._control.check()
        self._memory_kb = daemon.memory_kb()
        self._read = len(daemon.log_text())
        self.slowest_s = 0.0
        self.closed = 0
        self.answers: Counter[tuple[str, int]] = Counter()
        self.lines = 0

    def after(self, session: Session | RecordedSession) -> None:
        assert self._daemon.is_running, f"the daemon ended: {self._daemon.log_tail()}"
        self.slowest_s = max(self.slowest_s, self._control.check())
        text = self._daemon.log_text()[self._read :]
        self._read += len(text)
        for words in FORBIDDEN:
            assert words not in text, f"{words!r} is in the log: {text[-4000:]}"
        lines = [line for line in text.splitlines() if "connection c" in line]
        self.lines += len(lines)
        self.answers += session.answers
        self.closed += sum(session.lines.closed.values())
        for port in session.lines.opened:
            named = [line for line in lines if f"peer=127.0.0.1:{port} " in line]
            assert len(named) <= 1, f"more than one line for a connection: {named}"
            is_due = session.lines.closed[port] and session.is_served and self.lines < BURST
            assert named or not is_due, f"it closed a connection without a line; the log: {text[-2000:]}"
        assert not any(f"peer=127.0.0.1:{self._control.port} " in line for line in lines), lines
        grown = self._daemon.memory_kb() - self._memory_kb
        assert grown < MOST_GROWTH_KB, f"it has grown by {grown} kB"

    def at_end(self) -> None:
        """Kill the daemon: what the control group committed must be there after the next start."""
        self._control.close()
        self._daemon.restart()
        control = Control(self._daemon.port)
        assert control.committed() == {0: self._control.offset, 1: self._control.offset}
        control.close()
