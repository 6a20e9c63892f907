"""What a handler may use: this node's parts and identity, and the three ways to make something happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from coordinator.core.effects import Effects, Ticket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster, ClusterIdentity
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.topics.effects import TopicEffects
    from coordinator.core.topics.topics import Topics


class Node(Protocol):
    """One node of the coordinator, as the API handlers see it. `coordinator.server.runtime.Runtime` is the real one."""

    config: Config
    core: GroupCoordinator
    topics: Topics
    cluster: Cluster
    cluster_id: str

    @property
    def facts(self) -> ClusterIdentity:
        """What the other nodes must know alike."""

    def execute(self, effects: Effects) -> None:
        """Send the replies and hand the appends to the offsets log."""

    def execute_topics(self, effects: TopicEffects) -> None:
        """The same for what the embedded topics ask for."""

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Answer one ticket now. None answers nothing (Produce with acks=0) and lets the connection go on."""

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        """Take steps of a millisecond, of which the last one replies, between other events.

        They end early when the connection of the ticket is closed.
        """

    def ask_controller(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer a request that changes topics; where it cannot be reached, refuse it."""

    def node_checked(self, node_id: int, problem: str | None) -> None:
        """Another node has asked; `problem` is what the two do not agree on."""

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        """Close the connection of `ticket`: the only signal that a failed Produce with acks=0 has left."""
