"""The pytest plugin: fixtures that are servers, and what these saw in the report of a failure.

Installed with the package (entry point `pytest11`). Settings come from the marker, or from the fixture
`coordinator_settings`, which a test module or a conftest.py may override:

    @pytest.mark.coordinator(topics={"orders": 6}, group_max_size=2)
    def test_...(coordinator): ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.testing.process import CoordinatorProcess
    from coordinator.testing.server import AsyncCoordinator, Coordinator

REQUESTS_SHOWN: Final = 40
_SERVERS: Final = pytest.StashKey[list[Any]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "coordinator(topics={name: partitions}, **settings): settings of the `coordinator` and `coordinator_process` of"
        " this test, by name: group_max_size=3 is group.max.size",
    )


@pytest.fixture
def coordinator_settings() -> dict[str, Any]:
    """Return the settings of the servers of all tests here; override it to change them."""
    return {}


@pytest.fixture
def coordinator(request: pytest.FixtureRequest, coordinator_settings: dict[str, Any]) -> Iterator[Coordinator]:
    """Return a running server in this process, with nothing in it: no group, no topic but those asked for."""
    from coordinator.testing.server import Coordinator

    server = Coordinator(**_settings(request, coordinator_settings)).start()
    request.node.stash.setdefault(_SERVERS, []).append(server)
    try:
        yield server
        if _has_passed(request):
            server.check_faults()
    finally:
        server.stop()


@pytest.fixture
def async_coordinator(coordinator: Coordinator) -> AsyncCoordinator:
    """Return the server `coordinator` with verbs to be awaited, for a test that is a coroutine."""
    from coordinator.testing.server import AsyncCoordinator

    return AsyncCoordinator(coordinator)


@pytest.fixture
def coordinator_process(
    request: pytest.FixtureRequest, coordinator_settings: dict[str, Any], tmp_path: Path
) -> Iterator[CoordinatorProcess]:
    """Return a running server in a process of its own, which can be killed and started again."""
    from coordinator.testing.process import CoordinatorProcess

    settings = _settings(request, coordinator_settings)
    server = CoordinatorProcess(**{"data_dir": tmp_path / "coordinator", **settings}).start()
    request.node.stash.setdefault(_SERVERS, []).append(server)
    try:
        yield server
        if _has_passed(request):
            server.check_faults()
    finally:
        server.stop()


def _settings(request: pytest.FixtureRequest, common: dict[str, Any]) -> dict[str, Any]:
    marker = request.node.get_closest_marker("coordinator")
    return common if marker is None else {**common, **marker.kwargs}


_PASSED: Final = pytest.StashKey[bool]()


def _has_passed(request: pytest.FixtureRequest) -> bool:
    return bool(request.node.stash.get(_PASSED, False))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    if report.failed and call.when == "call":
        for server in item.stash.get(_SERVERS, []):
            for title, text in server.report(REQUESTS_SHOWN):
                report.sections.append((title, text))
    return report
