"""The machine of a process: its clock is that of the system itself."""

from __future__ import annotations

import time

from coordinator.storage.machine import THIS_MACHINE


def test_reading_the_clock_calls_no_function_of_python() -> None:
    """Each request reads it three times."""
    assert THIS_MACHINE.monotonic is time.monotonic
