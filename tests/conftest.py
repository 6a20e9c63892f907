"""What every test shares: the hypothesis profiles, quick for `make check` and deep for CI; and which build it tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("quick", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_configure(config: pytest.Config) -> None:
    """With REQUIRE_COMPILED=1 (make test-compiled) nothing may be tested but the installed, compiled package."""
    if os.environ.get("REQUIRE_COMPILED") != "1":
        return
    import coordinator
    from coordinator.about import is_compiled

    found = Path(coordinator.__file__).resolve()
    if not found.is_relative_to(Path(sys.prefix).resolve()) or not is_compiled():
        raise pytest.UsageError(f"REQUIRE_COMPILED=1, and the tests would run {found.parent}, which is not compiled")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes liberties with the code that the compiled build does not allow."""
    from coordinator.about import is_compiled

    if is_compiled():
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("plain")])
        items[:] = [item for item in items if not item.get_closest_marker("plain")]
