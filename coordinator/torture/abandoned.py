"""Members that an application leaves behind: it joins as a new member, and the group waits for the old one in vain.

A `AbandonedMembers` is a layer of the table of routes (`Routes.add_layer`). It notes; it changes nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime
    from coordinator.torture.schedule import Schedule

SEEN: Final = frozenset(
    {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT}
)
STILL_ON_ITS_WAY_S: Final = 0.3  # a request that was sent before the JoinGroup may come this long after it


class AbandonedMembers:
    """The notes on the members of one group of one server."""

    def __init__(self, runtime: Runtime, group: str) -> None:
        self._runtime = runtime
        self._group = group
        self._left: dict[str, tuple[float, str]] = {}  # by member id: when its client joined as a new one; the client
        self._heard_s: dict[str, float] = {}  # by member id: its last request
        runtime.routes.add_layer(self.see, SEEN)

    def attach(self, runtime: Runtime) -> None:
        """Go on with this run of the server, if it is another one."""
        if runtime is not self._runtime:
            self._runtime = runtime
            runtime.routes.add_layer(self.see, SEEN)

    def see(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Note whose request it is, and have it handled."""
        now_s = time.monotonic()
        if request.group_id == self._group:
            if ticket.api_key == ApiKey.JOIN_GROUP and not request.member_id and not request.group_instance_id:
                group = self._runtime.core.groups.get(self._group)
                for member in group.members.values() if group is not None else ():
                    if member.client_id == ticket.client_id:
                        self._left.setdefault(member.member_id, (now_s, ticket.client_id))
            else:
                self._heard_s[_member_id(request)] = now_s
        handle(node, request, ticket, now_ms)

    def found(self) -> list[str]:
        """Return the clients that left a member behind, which was not heard of any more."""
        return [
            client
            for member_id, (joined_s, client) in self._left.items()
            if self._heard_s.get(member_id, 0.0) < joined_s + STILL_ON_ITS_WAY_S
        ]


def are_unavoidable(schedule: Schedule) -> bool:
    """Return True if a step of the schedule has a right application leave a member behind.

    It is told that its member is unknown although it is not, or it never learned the id of its member, or it is a
    new process that cannot know of it.
    """
    return any(
        step.error == "UNKNOWN_MEMBER_ID"
        or (step.do, step.api) == ("lose_reply", "JoinGroup")
        or step.do in {"kill_copy", "start_copy", "kill_copy_at"}
        for step in schedule.steps
    )


def _member_id(request: Any) -> str:
    """Return the member id of a request; that of the first member if a LeaveGroup names several."""
    members = getattr(request, "members", None)
    return str(members[0].member_id if members else getattr(request, "member_id", ""))
