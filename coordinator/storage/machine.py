"""The machine of a node: its clocks, random numbers, writer threads and garbage collector.

A node takes these from its `Machine`, its files from a `FileSystem`, its sockets and deadlines from the event loop.
`Machine` itself is that of the operating system; a simulation hands in one of its own, as Kafka's tests do with `Time`.
"""

from __future__ import annotations

import gc
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from coordinator.processes import wall_clock
from coordinator.storage.log.writer import WriterThread

if TYPE_CHECKING:
    from coordinator.storage.log.writer import WriterQueue


class Machine:
    """The machine of this process. Without state: one instance serves all nodes."""

    collector: Any = gc  # the interface of the module gc

    # Seconds since an arbitrary moment, to measure how long work takes. Without a function of Python around it, because
    # each request reads it three times.
    monotonic = staticmethod(time.monotonic)
    # The same for leases: these seconds also pass while the machine is suspended, as those of the monotonic clock do on
    # macOS, which has no other.
    boot_time = staticmethod(partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))

    def thread_time(self) -> float:
        """Return the processor time of this thread in seconds."""
        return time.thread_time()

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return wall_clock.wall_ms()

    def random_bytes(self, count: int) -> bytes:
        """Return bytes that cannot be guessed."""
        return os.urandom(count)

    def new_uuid(self) -> UUID:
        """Return a random uuid."""
        return UUID(bytes=self.random_bytes(16), version=4)

    def writer(self, name: str) -> WriterQueue:
        """Return a new thread that writes logs."""
        return WriterThread(name)


THIS_MACHINE: Final = Machine()
