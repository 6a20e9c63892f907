"""OTLP out: what clients push is sent on to a collector, as `POST {telemetry.otlp.endpoint}` (OTLP over HTTP).

A thread sends. What waits is joined into one request: serialized messages with repeated fields may be concatenated.
While the collector does not answer, at most `MOST_BYTES` wait, and the oldest are dropped and counted.
"""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections import deque
from typing import Final

LOG: Final = logging.getLogger("coordinator.telemetry")

MOST_BYTES: Final = 4 << 20
BYTES_PER_REQUEST: Final = 1 << 20
TIMEOUT_S: Final = 5.0
PAUSE_S: Final = 1.0  # after a failure
_WARN_EVERY: Final = 60  # failures


class OtlpExporter:
    """Sends messages to a collector in the order in which they come."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._is_closed = False
        self._failures = 0
        self.sent = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="otlp-exporter", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> None:
        """Have a serialized MetricsData sent. Does not wait."""
        with self._changed:
            self._waiting.append(message)
            self._bytes += len(message)
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._waiting.popleft())
                self.dropped += 1
            self._changed.notify()

    def close(self) -> None:
        """End the thread. What waits is tried once more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(TIMEOUT_S + PAUSE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                batch = self._next_batch()
            if self._posted(b"".join(batch)):
                self.sent += len(batch)
                self._failures = 0
                continue
            with self._changed:
                if self._is_closed:
                    self.dropped += len(batch) + len(self._waiting)
                    return
                self._waiting.extendleft(reversed(batch))
                self._bytes += sum(map(len, batch))
                self._changed.wait_for(lambda: self._is_closed, PAUSE_S)

    def _next_batch(self) -> list[bytes]:
        batch = [self._waiting.popleft()]
        size = len(batch[0])
        while self._waiting and size + len(self._waiting[0]) <= BYTES_PER_REQUEST:
            batch.append(self._waiting.popleft())
            size += len(batch[-1])
        self._bytes -= size
        return batch

    def _posted(self, body: bytes) -> bool:
        headers = {"Content-Type": "application/x-protobuf"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                answer.read(1 << 16)
        except OSError as error:
            if self._failures % _WARN_EVERY == 0:
                LOG.warning("metrics of clients could not be sent to=%s reason=%s; it is tried again", self._url, error)
            self._failures += 1
            return False
        return True
