"""`CoordinatorTestCase`: a server for each test of a `unittest.TestCase`."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from coordinator.testing.server import Coordinator

REQUESTS_SHOWN = 40


class CoordinatorTestCase(unittest.TestCase):
    """A test case whose tests have a server of their own in `self.coordinator`, with nothing in it.

    `topics` and `settings` are what `Coordinator` takes. When a test fails, the story of each group and the last
    requests are a note of its error.
    """

    topics: ClassVar[Mapping[str, int]] = {}
    settings: ClassVar[Mapping[str, Any]] = {}
    coordinator: Coordinator

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run one test, with a server around its setUp, its method and its tearDown."""
        self.coordinator = Coordinator(topics=self.topics, **self.settings).start()
        try:
            return super().run(result)
        finally:
            self.coordinator.stop()

    def _callTestMethod(self, method: Any) -> None:  # noqa: N802
        try:
            method()
        except Exception as error:
            for title, text in self.coordinator.report(REQUESTS_SHOWN):
                error.add_note(f"{title}\n{text}")
            raise
        self.coordinator.check_faults()
