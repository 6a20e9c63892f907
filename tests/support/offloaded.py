"""Calls of assignors that would run in threads: run at once, or when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from coordinator.core.consumer_group.assignors.interface import TargetAssignments

Call = Callable[[], TargetAssignments]
Asked = Future[TargetAssignments]


def at_once(work: Call) -> Asked:
    """Run a call before this returns."""
    calls = Offloaded()
    asked = calls.submit(work)
    calls.run()
    return asked


class Offloaded:
    """Keeps calls until `run`."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Asked, Call]] = []

    def submit(self, work: Call) -> Asked:
        asked: Asked = Future()
        self.waiting.append((asked, work))
        return asked

    def run(self) -> None:
        """Run all that were not cancelled."""
        waiting, self.waiting = self.waiting, []
        for asked, work in waiting:
            if asked.set_running_or_notify_cancel():
                try:
                    asked.set_result(work())
                except Exception as error:
                    asked.set_exception(error)
