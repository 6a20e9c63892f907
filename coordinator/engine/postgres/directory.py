"""The nodes and owners in PostgreSQL. Implements `coordinator.membership.directory.NodeDirectory`.

A renewal updates the row of the node, and an expiry is an update of the same row that a renewal prevents: one of the
two comes first. The silence of a node is measured twice: by the database's clock, and by this node's own, from when it
first saw the last renewal. So neither a step of the database's clock nor a standby with another one ends a lease.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap, LiveNode, NodeState, OwnedPartition
from coordinator.engine.postgres.schema import bring_up_to_date
from coordinator.engine.postgres.session import DatabaseSession
from coordinator.membership.directory import ExpiredError, StoreFacts

if TYPE_CHECKING:
    from coordinator.engine.postgres.claimant import Claimant
    from coordinator.engine.postgres.settings import PostgresSettings

_FACTS: Final = "SELECT name, value FROM fact WHERE name = ANY($1::text[])"
_ADD_FACTS: Final = """
INSERT INTO fact (name, revision, value) SELECT name, 1, value FROM unnest($1::text[], $2::bytea[]) AS t(name, value)
ON CONFLICT (name) DO NOTHING
"""
_ANNOUNCE: Final = """
WITH entered AS (
    INSERT INTO node (id, host, port, incarnation, state, seen, renewals)
    VALUES ($1, $2, $3, $4, 'up', clock_timestamp(), 1)
    ON CONFLICT (id) DO UPDATE SET host = $2, port = $3, incarnation = $4, state = 'up', seen = clock_timestamp(),
                                   renewals = node.renewals + 1
    WHERE CASE WHEN node.incarnation = $4 THEN node.state <> 'expired'
               ELSE node.state = 'expired' OR node.seen < clock_timestamp() - $5 * interval '1 millisecond' END
    RETURNING id
) SELECT pg_notify($6, $1::text) FROM entered
"""
_MAP: Final = """
SELECT (SELECT json_agg(json_build_array(id, host, port, incarnation, state, renewals,
                        seen > clock_timestamp() - $1 * interval '1 millisecond')) FROM node) AS nodes,
       (SELECT json_agg(json_build_array(p, epoch, CASE WHEN released THEN -1 ELSE node END, incarnation))
        FROM owner) AS owners
"""
_RENEW: Final = f"""
WITH me AS (
    UPDATE node SET seen = clock_timestamp(), renewals = renewals + 1
    WHERE id = $2 AND incarnation = $3 AND state <> 'expired' RETURNING id
)
SELECT (SELECT count(*) FROM me) AS renewed, nodes, owners FROM ({_MAP}) AS map
"""
_MARK: Final = """
WITH marked AS (UPDATE node SET state = $2 WHERE id = $1 AND state <> 'expired' RETURNING id)
SELECT pg_notify($3, $4) FROM marked
"""
_DRAIN: Final = """
WITH drained AS (
    UPDATE node SET state = 'draining' WHERE id = $1 AND incarnation = $2 AND state <> 'expired' RETURNING id
) SELECT pg_notify($3, $1::text) FROM drained
"""
_EXPIRE: Final = """
WITH gone AS (
    UPDATE node SET state = 'expired' WHERE id = $1 AND incarnation = $2 AND renewals = $3 RETURNING id
) SELECT pg_notify($4, $5) FROM gone
"""
# The lock is held by the session of a living node.
_EXPIRE_DEAD: Final = """
WITH ended AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($3, $1) AS is_free),
     gone AS (UPDATE node SET state = 'expired' FROM ended
              WHERE id = $1 AND incarnation = $2 AND ended.is_free RETURNING id)
SELECT pg_notify($4, $5) FROM gone
"""
_LEAVE: Final = """
WITH gone AS (DELETE FROM node WHERE id = $1 AND incarnation = $2 RETURNING id) SELECT pg_notify($3, $1::text) FROM gone
"""


BY_A_COMMAND: Final = ""  # as the sender of a notification, which nodes ignore if it is their own
DOCUMENT_BY: Final = "document by "  # before the sender, in a notification of a document that has changed


class _Heard(NamedTuple):
    """The last renewal of a node, and when this node first saw it."""

    incarnation: str
    renewals: int
    at_s: float


class PostgresDirectory:
    """Nodes and owners, on a session of its own that also holds the advisory lock of this node."""

    def __init__(self, settings: PostgresSettings, claimant: Claimant, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._claimant = claimant
        self._clock = clock
        self._session = DatabaseSession(settings, "renewals", settings.lease_timeout_s, self._prepare)
        self._heard: dict[int, _Heard] = {}
        self._has_lock = False
        self._changed: Callable[[], None] | None = None
        self.documents_changed: Callable[[], None] = lambda: None  # called when a document has or may have changed

    async def open(self) -> None:
        """Connect, and bring the schema up to date. Raises LogStoreError."""
        await self._session.run(
            lambda connection: bring_up_to_date(connection, self._settings), self._settings.long_timeout_s
        )

    async def _prepare(self, connection: Any) -> None:
        await connection.add_listener(self._settings.schema, self._notified)
        self.documents_changed()  # while there was no connection, nothing was heard
        self._has_lock = False
        if self._claimant.incarnation:
            await self._lock(connection)

    async def _lock(self, connection: Any) -> None:
        """Take the advisory lock, unless the session that was lost still has it."""
        if not self._has_lock:
            self._has_lock = await connection.fetchval(
                "SELECT pg_try_advisory_lock($1, $2)", self._settings.lock_class, self._claimant.node_id
            )

    async def facts(self, wanted: StoreFacts) -> StoreFacts:
        """Return the facts of the store, and write those that it does not have."""
        values = {name: str(value).encode() for name, value in wanted._asdict().items()}
        await self._session.fetch(_ADD_FACTS, list(values), list(values.values()))
        facts = await self.known_facts()
        assert facts is not None
        return facts

    async def known_facts(self) -> StoreFacts | None:
        """Return the facts of the store; None if it has none."""
        rows = await self._session.fetch(_FACTS, list(StoreFacts._fields))
        found = {name: value.decode() for name, value in rows}
        if not found:
            return None
        cluster_id = found.pop("cluster_id")
        return StoreFacts(cluster_id, **{name: int(value) for name, value in found.items()})

    async def announce(self, node: ClusterNode, incarnation: str) -> None:
        """Enter this node as up, and take its lock."""

        async def enter(connection: Any) -> bool:
            args = node.id, node.host, node.port, incarnation, float(self._settings.lease_ms), self._settings.schema
            if not await connection.fetch(_ANNOUNCE, *args):
                return False
            await self._lock(connection)
            return True

        if not await self._session.run(enter):
            raise ExpiredError(
                f"another run of node {node.id} was heard of in the last {self._settings.lease_ms} ms, or this run was "
                "declared dead; stop the other one, give this one another node.id, or wait"
            )
        self._claimant.incarnation = incarnation

    async def renew(self) -> ClusterMap:
        """Renew the lease, and read nodes and owners in the same round trip."""

        async def renew(connection: Any) -> Any:
            await self._lock(connection)
            return await connection.fetchrow(_RENEW, float(self._settings.lease_ms), *self._me())

        row = await self._session.run(renew)
        view = self._read(row["nodes"], row["owners"])
        if not row["renewed"]:
            raise self._expired()
        return view

    async def view(self) -> ClusterMap:
        """Read nodes and owners."""
        ((nodes, owners),) = await self._session.fetch(_MAP, float(self._settings.lease_ms))
        return self._read(nodes, owners)

    def _read(self, nodes: str | None, owners: str | None) -> ClusterMap:
        claims = {p: OwnedPartition(epoch, node, run) for p, epoch, node, run in json.loads(owners or "[]")}
        return ClusterMap(self._read_nodes(json.loads(nodes or "[]")), claims)

    def _read_nodes(self, rows: list[list[Any]]) -> dict[int, LiveNode]:
        now_s = self._clock()
        nodes = {}
        heard = {}
        for node_id, host, port, incarnation, state, renewals, is_fresh in rows:
            before = self._heard.get(node_id)
            if before is None or (before.incarnation, before.renewals) != (incarnation, renewals):
                before = _Heard(incarnation, renewals, now_s)
            heard[node_id] = before
            is_me = (node_id, incarnation) == (self._claimant.node_id, self._claimant.incarnation)
            is_heard = is_me or (is_fresh and not self._is_silent(before, now_s))
            nodes[node_id] = LiveNode(ClusterNode(node_id, host, port), incarnation, NodeState(state), is_heard)
        self._heard = heard
        return nodes

    def _is_silent(self, heard: _Heard, now_s: float) -> bool:
        return now_s - heard.at_s >= self._settings.lease_ms / 1000

    async def drain(self) -> None:
        """Mark this node as draining."""
        if not await self._session.fetch(_DRAIN, *self._me(), self._settings.schema):
            raise self._expired()

    async def mark(self, node_id: int, state: NodeState) -> bool:
        """Mark a node as draining or up."""
        return bool(await self._session.fetch(_MARK, node_id, state.value, self._settings.schema, BY_A_COMMAND))

    async def expire(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead whose last renewal this node has seen for longer than the lease."""
        heard = self._heard.get(node_id)
        if heard is None or heard.incarnation != incarnation or not self._is_silent(heard, self._clock()):
            return False
        args = node_id, incarnation, heard.renewals, self._settings.schema, str(self._claimant.node_id)
        return bool(await self._session.fetch(_EXPIRE, *args))

    async def expire_dead(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead whose session has ended."""
        args = node_id, incarnation, self._settings.lock_class, self._settings.schema, str(self._claimant.node_id)
        return bool(await self._session.fetch(_EXPIRE_DEAD, *args))

    async def leave(self) -> None:
        """Remove this node."""
        await self._session.fetch(_LEAVE, *self._me(), self._settings.schema)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` at each notification of another node."""
        self._changed = changed

    def _notified(self, connection: Any, process: int, channel: str, payload: str) -> None:
        sender = payload.removeprefix(DOCUMENT_BY)
        if sender == str(self._claimant.node_id):
            return
        if sender != payload:
            self.documents_changed()
        elif self._changed is not None:
            self._changed()

    def _me(self) -> tuple[int, str]:
        return self._claimant.node_id, self._claimant.incarnation

    def _expired(self) -> ExpiredError:
        return ExpiredError(f"node {self._claimant.node_id} was declared dead; announce it again as a new run")

    async def close(self) -> None:
        """Close the connection, and so release the lock."""
        await self._session.close()
