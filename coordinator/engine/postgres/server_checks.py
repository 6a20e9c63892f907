"""Checks of a server that was just connected to: it is a primary, and a commit waits until it is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.engine.postgres.settings import PostgresSettings

OLDEST: Final = (13, 0)
_SAFE: Final = ("on", "remote_apply")

# A server that is already set to `remote_apply` waits even longer; that is left alone.
_STATE: Final = """
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS is_read_only,
       CASE WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply'
            ELSE set_config('synchronous_commit', 'on', false) END AS synchronous_commit
"""
# Without pg_read_all_stats, the states of standbys are NULL.
_SYNC: Final = """
SELECT current_setting('synchronous_standby_names') AS names, current_user AS me,
       (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS waited_for,
       (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL) AS hidden
"""


async def check_server(connection: Any, settings: PostgresSettings) -> None:
    """Set and check `synchronous_commit`. Raises LogStoreError if the server cannot be used for writing."""
    version = connection.get_server_version()
    if version[:2] < OLDEST:
        raise LogStoreError(
            f"{settings.name} is PostgreSQL {version.major}; this program needs {OLDEST[0]} or later, upgrade it",
            may_pass=False,
        )
    state = await connection.fetchrow(_STATE)
    if state["is_read_only"]:
        raise LogStoreError(
            f"{settings.name} is a standby, or read-only; give the address of the primary, or all addresses with "
            "target_session_attrs=read-write"
        )
    if state["synchronous_commit"] not in _SAFE:
        raise LogStoreError(
            f"{settings.name}: synchronous_commit stays {state['synchronous_commit']}; let the database allow `on`",
            may_pass=False,
        )


async def check_sync(connection: Any, settings: PostgresSettings) -> None:
    """Check that a commit waits for a second machine. Raises LogStoreError."""
    if not settings.require_sync:
        return
    state = await connection.fetchrow(_SYNC)
    otherwise = "or set log.engine.require.sync=false if the database is safe in another way"
    if not state["names"]:
        raise LogStoreError(
            f"{settings.name} has no synchronous standby; set synchronous_standby_names there, {otherwise}",
            may_pass=False,
        )
    if state["waited_for"]:
        return
    if state["hidden"]:
        raise LogStoreError(
            f"{settings.name}: user {state['me']} cannot see the state of the standbys; GRANT pg_read_all_stats to it, "
            f"{otherwise}",
            may_pass=False,
        )
    raise LogStoreError(f"{settings.name}: no synchronous standby is connected; start it, {otherwise}")
