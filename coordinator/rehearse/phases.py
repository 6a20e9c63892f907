"""The phases of a rehearsal: which copy is restarted under which protocol, one after the other."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class GroupProtocol(StrEnum):
    """A value of `group.protocol`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class MigrationPhase(NamedTuple):
    """One phase. Each copy of `restarts` is stopped and started again; the next one when the group is quiet."""

    name: str
    restarts: tuple[tuple[int, GroupProtocol], ...]


CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
UPGRADE: Final = "upgrade"  # mixed at its end
DOWNGRADE: Final = "downgrade"  # mixed at its end
BACK: Final = "classic again"


def phases(copies: int) -> tuple[MigrationPhase, ...]:
    """Return the phases for a number of copies, at least 2. All copies run under the classic protocol before them.

    Each phase restarts at least one copy, so that the same thing happens under each protocol.
    """
    half = copies // 2
    first, last = range(1, half + 1), range(half + 1, copies + 1)
    to, back = GroupProtocol.CONSUMER, GroupProtocol.CLASSIC
    return (
        MigrationPhase(CLASSIC, ((1, back),)),
        MigrationPhase(UPGRADE, tuple((number, to) for number in first)),
        MigrationPhase(CONSUMER, (*((number, to) for number in last), (1, to))),
        MigrationPhase(DOWNGRADE, tuple((number, back) for number in last)),
        MigrationPhase(BACK, tuple((number, back) for number in first)),
    )
