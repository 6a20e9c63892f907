"""The tables of the engine, made and brought up to date by the first node that needs them.

Each cluster has a schema of its own. A new version of the tables is one more entry of `_MIGRATIONS`; all of them run in
one transaction, under an advisory lock for nodes that start at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.engine.postgres.settings import PostgresSettings

_NO_NODE: Final = -1  # second key of the advisory lock, where others have a node id
_VERSION_ROW: Final = "schema"

_TABLES: Final = """
CREATE TABLE node (
    id int PRIMARY KEY, host text NOT NULL, port int NOT NULL, incarnation text NOT NULL, state text NOT NULL,
    seen timestamptz NOT NULL, renewals bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE owner (
    p int PRIMARY KEY, epoch bigint NOT NULL, node int NOT NULL, incarnation text NOT NULL, released bool NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE log (
    p int, base bigint, last bigint NOT NULL, epoch bigint NOT NULL, crc bigint NOT NULL, at timestamptz NOT NULL,
    batch bytea NOT NULL, PRIMARY KEY (p, base)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 200000,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 50000,
    toast.autovacuum_vacuum_insert_scale_factor = 0, toast.autovacuum_vacuum_insert_threshold = 500000
);
ALTER TABLE log ALTER COLUMN batch SET STORAGE EXTERNAL;

CREATE TABLE snapshot (p int PRIMARY KEY, next_offset bigint NOT NULL, epoch bigint NOT NULL, pieces int NOT NULL);

CREATE TABLE snapshot_piece (
    p int, next_offset bigint, epoch bigint, piece int, data bytea NOT NULL,
    PRIMARY KEY (p, next_offset, epoch, piece)
);
ALTER TABLE snapshot_piece ALTER COLUMN data SET STORAGE EXTERNAL;
"""
_DOCUMENTS: Final = """
CREATE TABLE document (name text PRIMARY KEY, revision bigint NOT NULL, change text NOT NULL, parts int NOT NULL);

CREATE TABLE document_part (name text, change text, part int, data bytea NOT NULL, PRIMARY KEY (name, change, part));
ALTER TABLE document_part ALTER COLUMN data SET STORAGE EXTERNAL;
"""
_FACT: Final = "CREATE TABLE IF NOT EXISTS fact (name text PRIMARY KEY, revision bigint NOT NULL, value bytea NOT NULL)"
_MIGRATIONS: Final = (_TABLES, _DOCUMENTS)
VERSION: Final = len(_MIGRATIONS)


async def bring_up_to_date(connection: Any, settings: PostgresSettings) -> None:
    """Make the schema, or change that of an earlier version. Raises LogStoreError if it is of a later program."""
    if await _version(connection, settings) == VERSION:
        return
    async with connection.transaction():
        timeout_ms = int(settings.long_timeout_s * 900)
        await connection.execute(f"SET LOCAL lock_timeout = {timeout_ms}; SET LOCAL statement_timeout = {timeout_ms}")
        await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", settings.lock_class, _NO_NODE)
        # CREATE SCHEMA IF NOT EXISTS needs the right to create one even if it exists.
        if not await connection.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = $1", settings.schema):
            await connection.execute(f"CREATE SCHEMA {settings.schema}")
        version = await _version(connection, settings)
        if version < VERSION:
            await connection.execute(_FACT)
            for migration in _MIGRATIONS[version:]:
                await connection.execute(migration)
            await connection.execute(
                "INSERT INTO fact VALUES ($1, $2, '') ON CONFLICT (name) DO UPDATE SET revision = excluded.revision",
                _VERSION_ROW,
                VERSION,
            )


async def _version(connection: Any, settings: PostgresSettings) -> int:
    """Return the version of the tables; 0 if there are none."""
    if await connection.fetchval("SELECT to_regclass($1)::text", f"{settings.schema}.fact") is None:
        return 0
    version = await connection.fetchval("SELECT revision FROM fact WHERE name = $1", _VERSION_ROW) or 0
    if version > VERSION:
        raise LogStoreError(
            f"{settings.name}: schema {settings.schema} has version {version}, and this program knows versions up to "
            f"{VERSION}; install the release that the other nodes run",
            may_pass=False,
        )
    return int(version)
