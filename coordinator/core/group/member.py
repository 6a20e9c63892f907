"""One member of a group: who it is, what it supports, what it was assigned, and what it waits for.

A member has at most one parked JoinGroup and one parked SyncGroup: the ticket says where the answer goes. Its session
ends at `session_deadline_ms`; every sign of life moves that number and nothing else (the timer looks at it when it
fires, spec 10.5). `client_id` and `client_host` are those of the JoinGroup that created the member, and a static
member's replacement inherits them.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata), in the member's order of preference


class Timer(Protocol):
    """A delayed operation, as its owner sees it (`coordinator.core.purgatory.purgatory.DelayedOperation`)."""

    fires_at_ms: int

    @property
    def is_armed(self) -> bool:
        """Whether it is on the wheel."""

    def cancel(self) -> bool:
        """What it waited for is gone: complete without any action."""


@lru_cache(1024)
def _shared(timeout_ms: int) -> int:
    """One object for equal numbers, as `sys.intern` has for strings: members mostly have the same timeouts."""
    return timeout_ms


class Member:
    """See the module. What members mostly have in common is one object for all, because there may be very many."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_gone",
        "is_new",
        "member_id",
        "parked_join",
        "parked_sync",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_deadline_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
        *,
        is_new: bool = False,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = sys.intern(client_id)
        self.client_host = sys.intern(client_host)
        self.set_timeouts(rebalance_timeout_ms, session_timeout_ms)
        self.protocol_type = sys.intern(protocol_type)
        self.protocols = protocols
        self.assignment = assignment
        self.parked_join: Ticket | None = None
        self.parked_sync: Ticket | None = None
        self.is_new = is_new  # from its first JoinGroup until that is answered: its session cannot have begun
        self.is_gone = False  # no longer in its group
        self.session: Timer | None = None
        self.session_deadline_ms = 0

    def set_timeouts(self, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        self.rebalance_timeout_ms = _shared(rebalance_timeout_ms)
        self.session_timeout_ms = _shared(session_timeout_ms)

    def metadata(self, protocol_name: str | None) -> bytes:
        """What this member said about one protocol (for consumers: its subscription)."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def supports(self, protocol_name: str) -> bool:
        return any(name == protocol_name for name, _ in self.protocols)

    def __repr__(self) -> str:
        instance = f" instance={self.group_instance_id!r}" if self.group_instance_id is not None else ""
        flags = [
            name
            for name, is_set in (
                ("new", self.is_new),
                ("join parked", self.parked_join is not None),
                ("sync parked", self.parked_sync is not None),
                ("gone", self.is_gone),
            )
            if is_set
        ]
        return (
            f"<Member {self.member_id!r}{instance} client={self.client_id!r}@{self.client_host}"
            f" session={self.session_timeout_ms}ms until {self.session_deadline_ms}"
            f"{' ' if flags else ''}{', '.join(flags)}>"
        )
