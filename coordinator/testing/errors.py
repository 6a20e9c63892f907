"""Errors of the test server. Each message is a sentence that says the cause and what to do."""

from __future__ import annotations


class CoordinatorTestingError(Exception):
    """Base of all errors of `coordinator.testing`."""


class UnknownGroupError(CoordinatorTestingError):
    """A verb names a group that does not exist, or that has no member."""


class UnknownMemberError(CoordinatorTestingError):
    """A verb names a member that no group has, or that several have."""


class NotInTimeError(CoordinatorTestingError, TimeoutError):
    """A wait is over without what it waited for. The message tells what was seen last."""


class FaultNotFiredError(CoordinatorTestingError):
    """A fault was asked for, and no request came that it fits."""


class ServerEndedError(CoordinatorTestingError):
    """The server does not run. The message has its last lines, if it was a process."""
