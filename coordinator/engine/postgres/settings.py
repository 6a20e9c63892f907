"""Settings of the PostgreSQL engine: `log.engine` as the addresses of hosts, the schema, timeouts, user and password.

User and password are read from their files at each connect, so that they can be changed while the daemon runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.config.config import Config

_PORT: Final = 5432
_MOST_NAME_CHARS: Final = 40  # of a cluster id in the name of a schema, which PostgreSQL cuts at 63 bytes
_LONG_WORK: Final = 6  # how many times longer than a request a load, a snapshot or a schema change may wait


class DatabaseHost(NamedTuple):
    """One host of `log.engine`."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """Settings of one node. It holds no password."""

    dsn: str
    hosts: tuple[DatabaseHost, ...]  # empty: `dsn` names the host in its query
    session_attrs: str | None  # target_session_attrs of `dsn`
    name: str  # of the store, for the log and for errors
    schema: str
    node_id: int
    user_file: str
    password_file: str
    timeout_s: float  # of a request
    lease_ms: int
    require_sync: bool

    @property
    def long_timeout_s(self) -> float:
        """Timeout of one statement of a load, a snapshot, a trim or a schema change."""
        return self.timeout_s * _LONG_WORK

    @property
    def lease_timeout_s(self) -> float:
        """Timeout of a renewal: a second try must fit into the lease."""
        return min(self.timeout_s, self.lease_ms / 2000)

    @property
    def lock_class(self) -> int:
        """First key of the advisory locks of this cluster; the second is a node id."""
        return int.from_bytes(blake2b(self.schema.encode(), digest_size=4).digest(), "big", signed=True)

    def credentials(self) -> dict[str, str]:
        """Return user and password, where files are named for them. Raises LogStoreError."""
        files = {"user": self.user_file, "password": self.password_file}
        return {what: _read_secret(what, file) for what, file in files.items() if file}


def _read_secret(what: str, file: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise LogStoreError(
            f"log.engine.{what}.file: {file} cannot be read ({reason}); write the {what} into it",
            may_pass=False,
        ) from None
    if not text:
        raise LogStoreError(f"log.engine.{what}.file: {file} is empty; write the {what} into it", may_pass=False)
    return text


def schema_name(cluster_id: str) -> str:
    """Return the name of the schema of a cluster, which needs no quotes."""
    plain = re.sub(r"[^a-z0-9_]", "_", cluster_id.lower())[:_MOST_NAME_CHARS]
    if not plain:
        return "kgc"
    if plain != cluster_id:  # two cluster ids may look the same now
        plain += "_" + blake2b(cluster_id.encode(), digest_size=4).hexdigest()
    return f"kgc_{plain}"


def read_settings(config: Config, node_id: int) -> PostgresSettings:
    """Read the settings of the engine. Raises LogStoreError if they cannot be understood."""
    if config.log_engine_config_file:
        raise LogStoreError(
            "log.engine.config.file is for a log.engine on Kafka; remove it, and give the parameters of TLS in "
            "log.engine (sslmode, sslrootcert, sslcert, sslkey)",
            may_pass=False,
        )
    try:
        parts = urlsplit(config.log_engine)
        query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        hosts = () if query.keys() & {"host", "port"} else _hosts(parts.netloc.rpartition("@")[2])
    except ValueError as error:
        raise LogStoreError(
            f"log.engine cannot be understood ({error}); write postgresql://host1:port,host2:port/database?sslmode=...",
            may_pass=False,
        ) from None
    shown = ",".join(f"{one.host}:{one.port}" for one in hosts) or parts.netloc.rpartition("@")[2]
    return PostgresSettings(
        dsn=config.log_engine,
        hosts=hosts,
        session_attrs=query.get("target_session_attrs", [None])[-1],
        name=f"postgresql://{shown}{parts.path}",
        schema=schema_name(config.cluster_id),
        node_id=node_id,
        user_file=config.log_engine_user_file,
        password_file=config.log_engine_password_file,
        timeout_s=config.log_engine_timeout_ms / 1000,
        lease_ms=config.cluster_lease_ms,
        require_sync=config.log_engine_require_sync,
    )


def _hosts(text: str) -> tuple[DatabaseHost, ...]:
    found = []
    for one in text.split(","):
        parts = urlsplit(f"//{one}")
        if not parts.hostname:
            raise ValueError("a host has no name")
        found.append(DatabaseHost(parts.hostname, parts.port or _PORT))
    return tuple(found)
