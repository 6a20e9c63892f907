"""The test server loads nothing that only jobs and commands need, and the package itself hardly anything.

pytest imports the package at each start for its plugin, so its names are loaded when they are first used.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "numpy", "pandas", "pyarrow", "prometheus_client", "http.server", "coordinator.explain")
UNUSED = (*HEAVY, "asyncio", "dataclasses", "coordinator.server", "coordinator.core", "protocol")


def loaded_by(code: str) -> set[str]:
    """Return the modules that an interpreter has after this code."""
    script = f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines())


def test_the_package_alone_loads_none_of_the_server() -> None:
    assert not loaded_by("import coordinator.testing") & set(UNUSED)


@pytest.mark.integration
@pytest.mark.parametrize(
    "code",
    [
        "from coordinator.testing import Coordinator\nCoordinator(topics={'orders': 3}).start().stop()",
        "import coordinator.cli.serve, coordinator.testing.daemon",
        "from coordinator.testing import AsyncCoordinator, CoordinatorProcess\n"
        "from coordinator.testing.case import CoordinatorTestCase",
    ],
    ids=["in-process", "a process", "all names"],
)
def test_a_server_for_tests_loads_nothing_of_jobs_and_commands(code: str) -> None:
    assert not loaded_by(code) & set(HEAVY)


def test_a_process_of_its_own_leaves_the_server_to_that_process() -> None:
    loaded = loaded_by("from coordinator.testing import CoordinatorProcess")
    assert not loaded & {"coordinator.server.server", "coordinator.server.runtime", "coordinator.storage", "uvloop"}
