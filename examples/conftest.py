"""Settings for the tests of this repository; an example that is copied does not need them.

An example whose library is not installed is left out. `make examples` has an environment with all of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARIES = {"test_faststream.py": "faststream", "test_quixstreams.py": "quixstreams"}

collect_ignore = [file for file, library in LIBRARIES.items() if find_spec(library) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("integration")
