"""Shared by all tests: profiles of the property tests, the order of the files, and the build that is tested."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.spark import spark as spark  # a fixture: one session for all tests that need one

settings.register_profile("quick", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time: what CI says of a commit depends on the commit alone. New ones are found by the others.
settings.register_profile("deep", settings.get_profile("quick"), max_examples=50, derandomize=True)
settings.register_profile("brief", settings.get_profile("quick"), max_examples=15, derandomize=True)
settings.register_profile("hunt", settings.get_profile("quick"), max_examples=3_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Files that take a minute or more (which `make test ARGS=--durations=20` shows), longest first: begun last, one of them
# would run alone in the end.
LONGEST_FIRST = (
    "conformance/test_transaction_answers.py",
    "compaction/test_live_spark.py",
    "compaction/test_live_compaction.py",
    "compaction/test_spark_cluster.py",
    "cluster/test_scenario.py",
    "spark/test_exported_logs.py",
    "integration/test_shared_store.py",
    "integration/test_shared_transactions.py",
    "integration/test_more_benches.py",
    "ha/test_run.py",
    "engine/postgres/test_kit.py",
    "console/test_in_browser.py",
    "workers/test_workers.py",
    "compaction/test_swap_power.py",
    "compaction/test_spark_compact.py",
    "history/test_spark_extract.py",
    "history/test_spark_lake.py",
    "integration/test_tables_of_engine.py",
    "storage/log/test_durability.py",
    "compaction/test_spark_elsewhere.py",
    "storage/log/test_swap_world.py",
    "observe/test_observer.py",
    "torture/test_torture.py",
    "torture/test_exactly_once.py",
    "rehearse/test_rehearse.py",
    "spark/test_spark_source.py",
    "cluster/test_away.py",
    "docs/test_readme.py",
    "docs/test_tutorial.py",
    "integration/test_bench.py",
    "cluster/test_secured_cluster.py",
    "testing/test_secured.py",
    "docs/test_secure_page.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run with REQUIRE_COMPILED=1 (make test-compiled) unless the installed, compiled package is tested."""
    if os.environ.get("REQUIRE_COMPILED") != "1":
        return
    import coordinator
    from coordinator.version import is_compiled

    found = Path(coordinator.__file__).resolve()
    if not found.is_relative_to(Path(sys.prefix).resolve()) or not is_compiled():
        raise pytest.UsageError(f"REQUIRE_COMPILED=1, and the tests would run {found.parent}, which is not compiled")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files. Leave out tests that do what compiled classes refuse."""
    from coordinator.version import is_compiled

    place = {Path(__file__).parent / name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    if is_compiled():
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("plain")])
        items[:] = [item for item in items if not item.get_closest_marker("plain")]
