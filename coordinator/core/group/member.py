"""One member of a group: its identity, its protocols, its assignment and its parked requests.

A member has at most one parked JoinGroup and one parked SyncGroup, as tickets. In a Stable group its Heartbeat may wait
(parked_heartbeat.py). Its session ends at `session_deadline_ms`; a heartbeat moves that number only, and the timer
reads it when it fires. `client_id` and `client_host` are those of the JoinGroup that created the member; the
replacement of a static member inherits them.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.group.parked_heartbeat import ParkedRequest

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata), in the member's order of preference


class Timer(Protocol):
    """The part of a `DelayedOperation` that its owner uses."""

    fires_at_ms: int

    @property
    def is_armed(self) -> bool:
        """True while the operation is on the timing wheel."""

    def cancel(self) -> bool:
        """Complete without any action. Returns False if it was complete."""


@lru_cache(1024)
def _shared(timeout_ms: int) -> int:
    """Return one object for equal numbers, as `sys.intern` does for strings: most members have the same timeouts."""
    return timeout_ms


class Member:
    """A member of one group. Values that members have in common are shared objects, because members may be many."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "client_software",
        "group_instance_id",
        "is_gone",
        "is_new",
        "member_id",
        "parked",
        "parked_join",
        "parked_sync",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "run_by",
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
        client_software: ClientSoftware = UNKNOWN_SOFTWARE,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = sys.intern(client_id)
        self.client_host = sys.intern(client_host)
        self.client_software = client_software  # of its last JoinGroup; the log does not know it
        self.set_timeouts(rebalance_timeout_ms, session_timeout_ms)
        self.protocol_type = sys.intern(protocol_type)
        self.protocols = protocols
        self.assignment = assignment
        self.parked: ParkedRequest | None = None  # a Heartbeat or SyncGroup that waits in a Stable group
        self.parked_join: Ticket | None = None
        self.parked_sync: Ticket | None = None
        self.is_new = is_new  # until its first JoinGroup is answered
        self.is_gone = False  # no longer in its group
        self.session: Timer | None = None
        self.run_by: tuple[str, str] | None = None  # client id and host of the next run of a static member
        self.session_deadline_ms = 0

    def set_timeouts(self, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        self.rebalance_timeout_ms = _shared(rebalance_timeout_ms)
        self.session_timeout_ms = _shared(session_timeout_ms)

    @property
    def run_as(self) -> tuple[str, str]:
        """Client id and host: those of the next run of a static member, if there was one."""
        return self.run_by or (self.client_id, self.client_host)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for one protocol (for consumers, its subscription); empty if it lists none."""
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
                ("waits in Stable", self.parked is not None),
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
