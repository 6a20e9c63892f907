"""A Kafka-compatible server for tests, in the process of the test, that makes things go wrong on purpose.

The names below are imported when they are first used, because pytest imports this package at each start for its plugin.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coordinator.testing.errors import (
        CoordinatorTestingError,
        FaultNotFiredError,
        GroupLoadingError,
        NotInTimeError,
        ServerEndedError,
        UnknownGroupError,
        UnknownMemberError,
        VerbTokenError,
    )
    from coordinator.testing.process import CoordinatorProcess
    from coordinator.testing.server import AsyncCoordinator, Coordinator

__all__ = [
    "AsyncCoordinator",
    "Coordinator",
    "CoordinatorProcess",
    "CoordinatorTestingError",
    "FaultNotFiredError",
    "GroupLoadingError",
    "NotInTimeError",
    "ServerEndedError",
    "UnknownGroupError",
    "UnknownMemberError",
    "VerbTokenError",
]

_MODULES = {"AsyncCoordinator": "server", "Coordinator": "server", "CoordinatorProcess": "process"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
