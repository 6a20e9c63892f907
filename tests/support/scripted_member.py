"""Scripted client of the cluster, which joins and remembers its member id and generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware
from protocol.error_codes import ErrorCode
from tests.support.call import NEWEST, Call, Offsets

if TYPE_CHECKING:
    from tests.support.cluster import Cluster


class Member:
    """One member. The fields are the parameters of its JoinGroup; `join(name=value)` changes them."""

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        *,
        instance_id: str | None = None,
        client_id: str = "client",
        host: str = "/127.0.0.1",
        protocol_type: str = "consumer",
        protocols: Sequence[tuple[str, bytes]] = (("range", b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"),),
        session_timeout: str | int = "10s",
        rebalance_timeout: str | int = "60s",
        version: int = NEWEST["join"],
        software: ClientSoftware = UNKNOWN_SOFTWARE,
    ) -> None:
        self.cluster = cluster
        self.group_id = group_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.host = host
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.session_timeout = session_timeout
        self.rebalance_timeout = rebalance_timeout
        self.version = version
        self.software = software
        self.member_id = ""
        self.last_join = Call("join", version)
        self.last_sync = Call("sync", 0)

    def join(self, **changes: Any) -> Call:
        """Send JoinGroup, twice if an id is required first. Returns the last call, answered or parked."""
        for name, value in changes.items():
            setattr(self, name, value)
        call = self._join_once()
        if not call.is_parked and call.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = call.answer.member_id
            call = self._join_once()
        return call

    def _join_once(self) -> Call:
        self.last_join = self.cluster.join(
            self.group_id,
            self.member_id,
            instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            session_timeout=self.session_timeout,
            rebalance_timeout=self.rebalance_timeout,
            version=self.version,
            **self.sender,
        )
        return self.last_join

    @property
    def sender(self) -> dict[str, Any]:
        """The facts about this client that its connection gives to each request."""
        return {"client_id": self.client_id, "host": self.host, "software": self.software}

    @property
    def is_waiting(self) -> bool:
        """True while its JoinGroup has no answer."""
        return self.last_join in self.cluster.calls and self.last_join.is_parked

    @property
    def generation(self) -> int:
        return self.last_join.answer.generation_id if not self.last_join.is_parked else -1

    @property
    def is_leader(self) -> bool:
        answer = self.last_join.answer
        return answer is not None and answer.leader == answer.member_id != ""

    def take_id(self) -> None:
        """Take the member id from the answer to the last JoinGroup."""
        if not self.last_join.is_parked and self.last_join.answer.member_id:
            self.member_id = self.last_join.answer.member_id

    def sync(self, assignments: dict[str, bytes] | None = None, **other: Any) -> Call:
        """Send SyncGroup. A leader without `assignments` assigns `for <member id>` to each member."""
        self.take_id()
        if assignments is None and self.is_leader:
            assignments = {
                member.member_id: f"for {member.member_id}".encode() for member in self.last_join.answer.members
            }
        self.last_sync = self.cluster.sync(
            self.group_id,
            self.member_id,
            other.pop("generation", self.generation),
            assignments,
            instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocol_name=other.pop("protocol_name", self.last_join.answer.protocol_name),
            **other,
        )
        return self.last_sync

    def heartbeat(self, generation: int | None = None) -> Call:
        self.take_id()
        return self.cluster.heartbeat(
            self.group_id,
            self.member_id,
            self.generation if generation is None else generation,
            instance_id=self.instance_id,
            **self.sender,
        )

    def park(self, generation: int | None = None) -> Call:
        """Send a Heartbeat whose answer may come later."""
        self.take_id()
        return self.cluster.park(
            self.group_id,
            self.member_id,
            self.generation if generation is None else generation,
            instance_id=self.instance_id,
            software=self.software,
        )

    def leave(self, reason: str | None = None) -> Call:
        self.take_id()
        return self.cluster.leave(self.group_id, (self.member_id, self.instance_id), reason=reason)

    def commit(self, offsets: Offsets, *, generation: int | None = None, **other: Any) -> Call:
        self.take_id()
        return self.cluster.commit(
            self.group_id,
            offsets,
            member_id=self.member_id,
            generation=self.generation if generation is None else generation,
            instance_id=self.instance_id,
            **{**self.sender, **other},
        )
