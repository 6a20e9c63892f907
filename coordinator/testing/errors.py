"""Errors of the test server. Each message is a sentence that says the cause and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.server.faults import Fault
    from coordinator.testing.transaction_stages import StageTrigger


class CoordinatorTestingError(Exception):
    """Base of all errors of `coordinator.testing`."""


class UnknownGroupError(CoordinatorTestingError):
    """A verb names a group that does not exist, or that has no member."""


class UnknownMemberError(CoordinatorTestingError):
    """A verb names a member that no group has, or that several have."""


class GroupLoadingError(CoordinatorTestingError):
    """The node loads the group from its log, and answers when that is done."""


class NotInTimeError(CoordinatorTestingError, TimeoutError):
    """A wait is over without what it waited for. The message tells what was seen last."""


class VerbTokenError(CoordinatorTestingError):
    """A server asks for a token before it does a verb, and was given none or another one."""


class FaultNotFiredError(CoordinatorTestingError):
    """A fault was asked for, and no request came that it fits, or no transaction was at its stage."""


class ServerEndedError(CoordinatorTestingError):
    """The server does not run. The message has its last lines, if it was a process."""


def check_fired(faults: Iterable[Fault]) -> None:
    """Raise FaultNotFiredError if a fault was met by no request."""
    unfired = [fault for fault in faults if not fault.fired]
    if unfired:
        raise FaultNotFiredError(
            f"no request came for: {'; '.join(fault.text() for fault in unfired)}. Was the client id or the group "
            "another one, or had the client no reason to send it? remove_fault() takes one back"
        )


def check_reached(triggers: Iterable[StageTrigger]) -> None:
    """Raise FaultNotFiredError if a trigger waits for a stage that no transaction was at."""
    if unmet := [f"{each.stage} of {each.pattern}" for each in triggers]:
        raise FaultNotFiredError(f"no transaction was at: {'; '.join(unmet)}. Was the transactional id another one?")
