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

    def _callSetUp(self) -> None:  # noqa: N802 - unittest takes an error in here as one of this test
        self.coordinator = Coordinator(topics=self.topics, **self.settings).start()
        self.addCleanup(self.coordinator.stop)
        super()._callSetUp()  # type: ignore[misc]

    def _callTestMethod(self, method: Any) -> None:  # noqa: N802
        try:
            super()._callTestMethod(method)  # type: ignore[misc]
        except unittest.SkipTest:
            raise
        except Exception as error:
            for title, text in self.coordinator.report(REQUESTS_SHOWN):
                error.add_note(f"{title}\n{text}")
            raise
        self.coordinator.check_faults()
