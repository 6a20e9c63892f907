"""The node as an API handler sees it: its parts, its identity, and the ways to cause an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from coordinator.core.effects import ClientSoftware, Effects, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
    from coordinator.core.coordinator import GroupCoordinator
    from coordinator.core.topics.effects import TopicEffects
    from coordinator.core.topics.topics import Topics
    from coordinator.core.transactions.coordinator import TransactionCoordinator
    from coordinator.storage.documents.acls import AclStore
    from coordinator.storage.documents.quotas import QuotaStore
    from coordinator.storage.documents.users import UserStore
    from coordinator.telemetry.telemetry import Telemetry
    from protocol.error_codes import ErrorCode
    from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTransaction


class TransactionsOfNode(Protocol):
    """The transaction coordinator of a node. `coordinator.server.transactions.Transactions` implements it."""

    core: TransactionCoordinator

    def handle(self, request: Any, ticket: Ticket) -> None:
        """Have the coordinator handle a request or a command."""

    def coordinator_of(self, transactional_id: str) -> ClusterNode | None:
        """Return the node that coordinates a transactional id."""

    def listing(self, steps: Callable[[int], Iterator[None]], ticket: Ticket) -> None:
        """Take the steps that read all transactional ids; `steps` gets the time."""

    def verify_offsets(
        self, transaction: AddPartitionsToTxnTransaction, group_id: str, then: Callable[[ErrorCode], None]
    ) -> None:
        """Verify that the partition of a group in the offsets log is part of a transaction, or add it."""


class Node(Protocol):
    """One node of the coordinator. `coordinator.server.runtime.Runtime` implements it."""

    config: Config
    core: GroupCoordinator
    topics: Topics
    cluster: Cluster
    cluster_id: str
    users: UserStore
    acls: AclStore | None  # None: no authorizer.class.name
    quota_store: QuotaStore
    telemetry: Telemetry

    @property
    def transactions(self) -> TransactionsOfNode | None:
        """The transaction coordinator; None: transactions are not served."""

    @property
    def identity(self) -> ClusterIdentity:
        """The facts on which all nodes of the cluster must agree."""

    def execute(self, effects: Effects, ticket: Ticket | None = None) -> None:
        """Send the replies and hand the appends to the offsets log. `ticket`: that of the request that caused them."""

    def execute_topics(self, effects: TopicEffects, ticket: Ticket | None = None) -> None:
        """Execute the effects of the embedded topics. `ticket`: that of the request that caused them."""

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Answer one ticket now. None answers nothing (Produce with acks=0) and lets the connection go on."""

    def answer_later(self, ticket: Ticket, response: Any) -> None:
        """Answer one ticket when its handler has returned, as an event of its own."""

    def identified(self, ticket: Ticket, software: ClientSoftware) -> None:
        """Remember the software of the client at the other end of this connection."""

    def now_ms(self) -> int:
        """Return the time on the clock of the node's events."""

    def wall_ms(self) -> int:
        """Return the time of day, in ms since the epoch."""

    def inner_ticket(self, then: Callable[[Any], None]) -> Ticket:
        """Return a ticket whose answer is given to `then`."""

    def seen_by(self, ticket: Ticket) -> Callable[[ClusterNode], ClusterNode]:
        """Return the function from a node to its address for the client of `ticket`, which depends on its listener."""

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        """Take steps of a millisecond between other events; the last step replies.

        They end early when the connection of the ticket is closed.
        """

    def ask_controller(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer a request that changes topics, users, access rules or quotas.

        It is refused if the controller cannot be reached.
        """

    def is_node(self, ticket: Ticket) -> bool:
        """Return whether the client of `ticket` may be another node, which gets users and access rules."""

    def node_checked(self, node_id: int, problem: str | None) -> None:
        """Record that another node asked; `problem` is the disagreement between the two nodes."""

    def take_token(self, ticket: Ticket, token: bytes) -> None:
        """Give a token to the exchange (SASL) of the connection of `ticket`, and answer."""

    def refuse_login(self, ticket: Ticket, response: Any, reason: str) -> None:
        """Answer, unless `response` is None, and close the connection; both after the delay of a failed login."""

    def refused_sasl(self, ticket: Ticket) -> None:
        """Record that the client of `ticket` asked for SASL, which is not on."""

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        """Close the connection of `ticket`. A failed Produce with acks=0 has no other signal."""
